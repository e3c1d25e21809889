import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { brief, readImport } from "../../../test/support/read-import.ts";
import { diskFile } from "../../import/disk-file.ts";
import { recogniseFile } from "../../import/find-transcripts.ts";
import { IMPORT_FORMATS } from "../import-formats.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "zed-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const UPDATED = "2026-05-01T10:00:05.123456+00:00";

/** What the threads of a database say. Each is a row: its id, its parent, the kind of its data, and the data. */
async function threadsOf(
  ...rows: readonly (readonly [string, string | null, string, Uint8Array])[]
) {
  const path = join(folder, "threads.db");
  const db = new DatabaseSync(path);
  db.exec(`CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL,
    data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT, folder_paths_order TEXT, created_at TEXT)`);
  for (const [id, parent, kind, data] of rows) {
    db.prepare("INSERT INTO threads VALUES (?, 'Red', ?, ?, ?, ?, '/home/ada/app', '0', ?)").run(
      ...([id, UPDATED, kind, data, parent, "2026-05-01T10:00:00+00:00"] as const),
    );
  }
  db.close();
  const file = diskFile(path, () => []);
  const format = file && (await recogniseFile(file, IMPORT_FORMATS));
  if (!file || !format) throw new Error("not recognised");
  const found = await readImport(format, file);
  const said = found.sessions.map(({ messages, ...session }) => [session, messages.map(brief)]);
  return { ...found, said };
}

const packed = (thread: object) => zstdCompressSync(Buffer.from(JSON.stringify(thread)));
const about = (id: string) => ({
  ...{ id: `zed:${id}`, agent: "zed", nativeId: id, title: "Red", project: "/home/ada/app" },
  ...{ startedAt: "2026-05-01T10:00:00.000Z", updatedAt: "2026-05-01T10:00:05.123Z" },
});

test("a thread of Zed has the person's words, without what its mentions stand for, and the answers with their calls", async () => {
  const thread = {
    ...{ version: "0.3.0", title: "Red", model: { provider: "anthropic", model: "claude" } },
    messages: [
      {
        User: {
          id: "u1",
          content: [
            { Text: "Why is " },
            {
              Mention: { uri: { File: { abs_path: "/home/ada/app/paint.ts" } }, content: "secret" },
            },
            { Text: " red?" },
          ],
        },
      },
      {
        Agent: {
          content: [
            { Thinking: { text: "Look.", signature: "x" } },
            { RedactedThinking: "x" },
            { Text: "I look." },
            { ToolUse: { id: "c", name: "read_file", input: { path: "paint.ts" } } },
          ],
          tool_results: {
            c: {
              tool_use_id: "c",
              tool_name: "read_file",
              is_error: false,
              content: [{ Text: "red" }],
            },
          },
        },
      },
      { Agent: { content: [{ Text: "It is paint." }], tool_results: {} } },
      "Resume",
      { Never: {} },
      { User: { id: "u2", content: [{ Image: {} }, { Text: " And this?" }] } },
    ],
  };
  const found = await threadsOf(["t1", null, "zstd", packed(thread)]);
  expect(found.said).toEqual([
    [
      { ...about("t1"), model: "claude" },
      [
        "user: Why is [@paint.ts] red?",
        "-reasoning: Look.",
        "text: I look.",
        'call: read_file {"path":"paint.ts"}',
        "result: red",
        "text: It is paint.",
        "user: [image] And this?",
      ],
    ],
  ]);
  expect([found.skipped, found.unknown]).toEqual([[], ["Never"]]);
  const ids = found.sessions.flatMap(({ messages }) => messages.map(({ sourceId }) => sourceId));
  expect(new Set(ids).size).toBe(ids.length);
});

test("threads of earlier versions of Zed, those of subagents and damaged ones", async () => {
  const use = { id: "c", name: "list", input: {} };
  const done = { tool_use_id: "c", is_error: true, content: "no" };
  const first = {
    version: "0.1.0",
    messages: [
      {
        id: 0,
        role: "user",
        segments: [{ type: "text", text: "Why is it red?" }],
        context: "files",
      },
      { id: 1, role: "assistant", segments: [{ type: "thinking", text: "Hm" }], tool_uses: [use] },
      { id: 2, role: "user", segments: [{ type: "text", text: "here" }], tool_results: [done] },
      { id: 3, role: "user", segments: [{ type: "text", text: "Continue" }], is_hidden: true },
    ],
  };
  const oldest = { messages: [{ id: 0, role: "user", text: "Hello" }] };
  const found = await threadsOf(
    ["t1", null, "json", Buffer.from(JSON.stringify(first))],
    ["t2", "t1", "zstd", packed(oldest)],
    ["t3", null, "zstd", Buffer.from("not packed")],
    ["t4", null, "zstd", packed({ text: "x".repeat(18_000_000), messages: [] })],
  );
  expect(found.said).toEqual([
    [about("t1"), ["user: Why is it red?", "-reasoning: Hm", "call: list {}", "failed: no"]],
    [{ ...about("t2"), parent: { id: "zed:t1", relation: "subagent" } }, ["model: Hello"]],
  ]);
  expect(found.skipped).toEqual(Array(2).fill("-: a thread is damaged, or larger than 64 MB"));
});
