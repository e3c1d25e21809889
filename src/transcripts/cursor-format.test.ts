import { expect, test } from "vitest";
import { brief, linesFile, readImport } from "../../test/support/read-import.ts";
import { cursorFormat } from "./cursor-format.ts";
import { fileOfBytes } from "./found-file.ts";
import { firstObjects } from "./read-objects.ts";

const ID = "5d0c8f9e-0000-4000-8000-000000000000";
const FOLDER = `projects/home-ada-shop/agent-transcripts/${ID}`;
const line = (role: string, content: unknown) => ({ role, message: { content } });

test("the query is the typed text, and other tags were injected", async () => {
  const { sessions, unknown } = await readImport(
    cursorFormat,
    linesFile(`${FOLDER}.jsonl`, [
      line("user", "<system_reminder>\nBe brief.\n</system_reminder>"),
      line("user", [
        {
          type: "text",
          text: "<open_files>a.ts</open_files>\n<user_query>\nFix a.ts\n</user_query>",
        },
      ]),
      line("assistant", [
        { type: "text", text: "I read it." },
        { type: "tool_use", id: "t", name: "read_file", input: { path: "a.ts" } },
      ]),
      line("user", "And b.ts"),
      { role: "oracle", message: {} },
    ]),
  );
  expect(unknown).toEqual(["oracle"]);
  expect(sessions[0]).toMatchObject({ id: `cursor:${ID}`, agent: "cursor", title: "Fix a.ts" });
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: Fix a.ts",
    "text: I read it.",
    'call: read_file {"path":"a.ts"}',
    "user: And b.ts",
  ]);
});

test("a text transcript is read by its marks", async () => {
  const text =
    "user:\n<user_query>\nFix a.ts\n</user_query>\n\nassistant:\nDone:\n\nuser: fixed\n\nuser:\nThanks\n";
  const file = fileOfBytes(`${FOLDER}.txt`, Buffer.from(text));
  const { sessions } = await readImport(cursorFormat, file);
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: Fix a.ts",
    "text: Done:\n\nuser: fixed",
    "user: Thanks",
  ]);
  const head = Buffer.from(text);
  expect(cursorFormat.recognises({ path: file.path, head, ...firstObjects(head) })).toBe(true);
});
