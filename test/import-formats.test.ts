import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { recogniseFile } from "../src/import/find-transcripts.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { openhandsFormat } from "../src/transcripts/agents/openhands-format.ts";
import { fileOfBytes } from "../src/transcripts/found-file.ts";
import { IMPORT_FORMATS } from "../src/transcripts/import-formats.ts";
import type { AgentName } from "../src/transcripts/imported.ts";
import { brief, readImport } from "./support/read-import.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "./support/transcript-samples.ts";
import { zipOf } from "./support/zip-of.ts";

/** Imports each of the files, alone, into the same store. Returns the reasons for what was left out, and what is there. */
async function importedFiles(files: Readonly<Record<string, string>>, agent?: AgentName) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  try {
    const reasons: string[] = [];
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      writeFileSync(path, text);
      const report = await importTranscripts({ stores, path, ...(agent ? { agent } : {}) });
      reasons.push(...report.skipped.map(({ reason }) => reason));
    }
    const entries = await stores.memory.list({ limit: 1000 });
    return { reasons, said: entries.map(({ content }) => content).sort() };
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

const jsonLines = (...values: object[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
const THREAD = "0f3c2b1a-1111-4222-8333-444455556666";
const ROLLOUT = `rollout-2026-05-01T10-00-00-${THREAD}.jsonl`;
const rolloutLine = (type: string, payload: object) => ({
  ...{ timestamp: "2026-05-01T10:00:00.000Z", type },
  payload,
});
const rollout = [
  rolloutLine("session_meta", { id: THREAD, cwd: "/home/ada/app" }),
  rolloutLine("response_item", {
    ...{ type: "message", role: "user" },
    content: [{ type: "input_text", text: "Why is it red?" }],
  }),
  rolloutLine("event_msg", { type: "user_message", message: "Why is it red?" }),
  rolloutLine("response_item", {
    ...{ type: "message", role: "assistant" },
    content: [{ type: "output_text", text: "Paint." }],
  }),
];

test("a file whose first line is torn is read without that line, and the line is told", async () => {
  const torn = jsonLines(...rollout).slice(30);
  expect(await importedFiles({ [ROLLOUT]: torn })).toEqual({
    reasons: ["it is not JSON"],
    said: ["Paint.", "Why is it red?"],
  });
  const entry = { type: "message", id: "aaaaaaaa", parentId: null };
  const pi = jsonLines({ ...entry, message: { role: "user", content: "Make it blue" } });
  const name = `2026-05-01T10-00-00-000Z_${THREAD}.jsonl`;
  const goose = jsonLines({
    ...{ role: "user", created: 1_770_000_000 },
    content: [{ type: "text", text: "Make it blue" }],
  });
  for (const [file, message] of [
    [name, pi],
    ["20260501_1.jsonl", goose],
  ] as const) {
    expect(await importedFiles({ [file]: `d":"/home/ada"}\n${message}` })).toEqual({
      reasons: ["it is not JSON"],
      said: ["Make it blue"],
    });
  }
});

test("a file of another agent than the one that was named is not taken for that one's", async () => {
  expect(await importedFiles({ [ROLLOUT]: jsonLines(...rollout) }, "claude-code")).toEqual({
    reasons: ["it is a transcript of codex, not of claude-code"],
    said: [],
  });
});

test("what `codex exec` printed adds nothing to the rollout that was imported before", async () => {
  const stream = jsonLines(
    { type: "thread.started", thread_id: THREAD },
    { type: "item.completed", item: { id: "item_0", type: "agent_message", text: "Paint." } },
  );
  const { reasons, said } = await importedFiles({
    [ROLLOUT]: jsonLines(...rollout),
    "stream.jsonl": stream,
  });
  expect(reasons).toContain("its session is there already, from its own transcript");
  expect(said).toEqual(["Paint.", "Why is it red?"]);
});

test("a rollout adds what was asked to what `codex exec` printed of it before, and no answer again", async () => {
  const printed = (id: string, text: string) => ({
    type: "item.completed",
    item: { id, type: "agent_message", text },
  });
  const stream = jsonLines(
    { type: "thread.started", thread_id: THREAD },
    ...[printed("1", "Paint."), printed("2", "Paint."), printed("3", "It is done.")],
  );
  const answered = (text: string) =>
    rolloutLine("response_item", {
      ...{ type: "message", role: "assistant" },
      content: [{ type: "output_text", text }],
    });
  const head = { id: THREAD, cwd: "/home/ada/app", originator: "codex_exec", source: "exec" };
  const whole = jsonLines(
    rolloutLine("session_meta", head),
    ...rollout.slice(1),
    ...[answered("Paint."), answered("It is done."), answered("One more.")],
  );
  const once = ["It is done.", "One more.", "Paint.", "Paint.", "Why is it red?"];
  for (const files of [
    { "stream.jsonl": stream, [ROLLOUT]: whole },
    { [ROLLOUT]: whole, "stream.jsonl": stream },
  ]) {
    const { said } = await importedFiles(files);
    expect(said.flatMap((text) => text.split("\n")).sort()).toEqual(once);
  }
});

test("a store of cursor-agent is not read, and told by its looks", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const path = join(folder, "store.db");
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)");
  db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)");
  db.close();
  const stores = sqliteStores({ path: ":memory:" });
  try {
    const { skipped } = await importTranscripts({ stores, path });
    expect(skipped.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("It looks like a chat of cursor-agent, whose store is not read."),
    ]);
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
});

test("each instance of an evaluation of OpenHands is a session, with the times of its events", async () => {
  const at = (second: number) => `2026-05-01T10:00:0${second}.123456`;
  const [asked, ran, listed, done] = [
    { id: 0, timestamp: at(1), source: "user", action: "message", args: { content: "Fix it." } },
    { id: 1, timestamp: at(2), source: "agent", action: "run", args: { command: "ls" } },
    { id: 2, timestamp: at(3), source: "agent", cause: 1, observation: "run", content: "a.ts" },
    { id: 3, timestamp: at(4), source: "agent", action: "finish", args: { final_thought: "Ok." } },
  ];
  const text = jsonLines(
    { instance_id: "app-1", instruction: "Fix it.", history: [asked, ran, listed, done] },
    { instance_id: "app-2", history: [[asked, {}], [ran, listed], [done]] },
  );
  const file = fileOfBytes("output.jsonl", Buffer.from(text));
  expect(await recogniseFile(file, IMPORT_FORMATS)).toBe(openhandsFormat);
  const { sessions, skipped, unknown } = await readImport(openhandsFormat, file);
  expect([skipped, unknown]).toEqual([[], []]);
  expect(sessions.map(({ id }) => id)).toEqual(["openhands:app-1", "openhands:app-2"]);
  for (const { messages } of sessions) {
    expect(messages.map((each) => `${each.origin.time?.slice(17, 19)} ${brief(each)}`)).toEqual([
      "01 user: Fix it.",
      '02 call: run {"command":"ls"}',
      "03 result: a.ts",
      "04 text: Ok.",
    ]);
  }
});

test("a folder with transcripts of every format is imported once, also packed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  const write = (path: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  };
  try {
    for (const sample of TRANSCRIPT_SAMPLES) {
      const bytes = transcriptBytes(sample, sample.values);
      const { agent } = sample.format;
      write(join(agent, sample.path), bytes);
      if (agent === "codex") write(join(agent, `${sample.path}.zst`), zstdCompressSync(bytes));
      if (agent === "chatgpt") write("export.zip", zipOf({ [sample.path]: bytes.toString() }));
    }
    const first = await importTranscripts({ stores, path: folder });
    const again = await importTranscripts({ stores, path: folder });
    expect([first.skipped, first.unknownTypes]).toEqual([[], {}]);
    expect([again.added, again.messages]).toEqual([0, first.messages]);

    const entries = await stores.memory.list({ limit: 1000 });
    const times = (text: string) => entries.filter(({ content }) => content === text).length;
    for (const prompt of new Set(TRANSCRIPT_SAMPLES.flatMap(({ typed }) => typed))) {
      const said = TRANSCRIPT_SAMPLES.filter(({ typed }) => typed.includes(prompt)).length;
      expect([prompt, times(prompt)]).toEqual([prompt, said]);
    }
    const all = entries.map(({ content }) => content).join("\n");
    for (const { injected } of TRANSCRIPT_SAMPLES)
      if (injected) expect(all).not.toContain(injected);
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
});
