import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { ClaudeLines } from "./support/claude-lines.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";
const RULE = "Always answer in one sentence.";

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nUse pnpm, never npm.";

const imported = (lines: ClaudeLines) => importedFile(`${ID}.jsonl`, String(lines));

async function importedFile(name: string, content: string) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({ model: scriptedModel([]), stores });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  await importTranscripts({ stores, path });
  return { service, stores, path };
}

const denials = () =>
  new ClaudeLines(ID)
    .user("Install the packages.")
    .call("msg_1", "toolu_1", "Bash", { command: "npm install" })
    .call("msg_1", "toolu_2", "Bash", { command: "ls" })
    .result("toolu_1", REFUSED, { is_error: true })
    .result("toolu_2", "package.json")
    .text("msg_2", "Then pnpm.")
    .call("msg_2", "toolu_3", "Bash", { command: "git push" })
    .result("toolu_3", "error: the push was rejected by the server", { is_error: true });

test("what a transcript says that the user denied is a correction, which makes no rule", async () => {
  const { service } = await imported(denials());
  expect(await service.listKnowledge({})).toMatchObject([
    {
      kind: "correction",
      origin: "imported",
      sessionId: `claude-code:${ID}`,
      tool: "Bash",
      args: '{"command":"npm install"}',
      reason: "Use pnpm, never npm.",
      goal: "Install the packages.",
    },
  ]);
  expect((await service.distillKnowledge({})).rules).toEqual([]);
  await service.addMemory({ content: "The office is in Leipzig." });
  // What was learned, and what was added by hand, is of no session.
  expect(await service.memoryStats({})).toMatchObject({ sessions: 1 });
  const [hit] = await service.searchMemory({ query: "pnpm never npm", kind: "correction" });
  expect(hit?.content).toContain("The user denied this: Use pnpm, never npm.");
});

const jsonl = (values: readonly object[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

test("what was denied in Codex is a correction, and what a command only quotes is none", async () => {
  const at = "2026-05-01T10:00:00.000Z";
  const line = (type: string, payload: object) => ({ timestamp: at, type, payload });
  const call = (call_id: string, output: unknown) => [
    line("response_item", {
      ...{ type: "function_call", name: "shell", call_id },
      arguments: JSON.stringify({ command: ["rm", call_id] }),
    }),
    line("response_item", { type: "function_call_output", call_id, output }),
  ];
  const text = jsonl([
    line("session_meta", { id: "019a0c1e-1111-7222-8333-aaaaaaaaaaaa", timestamp: at, cwd: "/a" }),
    line("response_item", { type: "message", role: "user", content: "Clean up." }),
    line("event_msg", { type: "user_message", message: "Clean up." }),
    ...call("one", "exec command rejected by user"),
    ...call(
      "two",
      JSON.stringify({ output: "patch rejected by user", metadata: { exit_code: 1 } }),
    ),
    ...call("three", "log: exec command rejected by user"),
  ]);
  const { service } = await importedFile("rollout-2026-05-01.jsonl", text);
  const found = await service.listKnowledge({});
  expect(found.toReversed().map((one) => one.kind === "correction" && one.args)).toEqual([
    '{"command":["rm","one"]}',
    '{"command":["rm","two"]}',
  ]);
});

test("what the user says after a denial without a reason is the reason, also when it is imported later", async () => {
  const at = "2026-05-01T10:00:00.000Z";
  const line = (type: string, payload: object) => ({ timestamp: at, type, payload });
  const prompt = (message: string) => [
    line("response_item", {
      ...{ type: "message", role: "user" },
      content: [{ type: "input_text", text: message }],
    }),
    line("event_msg", { type: "user_message", message }),
  ];
  const before = jsonl([
    line("session_meta", { id: "019a0c1e-1111-7222-8333-aaaaaaaaaaaa", timestamp: at, cwd: "/a" }),
    ...prompt("Clean up."),
    line("response_item", {
      ...{ type: "function_call", name: "shell", call_id: "one" },
      arguments: JSON.stringify({ command: ["rm", "-r", "build"] }),
    }),
    line("response_item", {
      ...{ type: "function_call_output", call_id: "one" },
      output: "exec command rejected by user",
    }),
  ]);
  const after = jsonl([
    line("event_msg", { type: "turn_aborted", reason: "interrupted" }),
    ...prompt("Keep the build folder, QA tests it."),
    line("response_item", { type: "message", role: "assistant", content: "I keep it." }),
    ...prompt("Thanks."),
  ]);
  const reasons = async ({ service }: Awaited<ReturnType<typeof importedFile>>) =>
    (await service.listKnowledge({})).map(
      (one) => one.kind === "correction" && [one.reason, one.goal, one.count],
    );
  const expected = [["Keep the build folder, QA tests it.", "Clean up.", 1]];
  const atOnce = await importedFile("rollout-2026-05-01.jsonl", before + after);
  expect(await reasons(atOnce)).toEqual(expected);
  const later = await importedFile("rollout-2026-05-01.jsonl", before);
  expect(await reasons(later)).toEqual([[undefined, "Clean up.", 1]]);
  writeFileSync(later.path, before + after);
  await importTranscripts({ stores: later.stores, path: later.path });
  expect(await reasons(later)).toEqual(expected);
  const [correction] = await later.service.listKnowledge({});
  await later.service.forgetKnowledge({ knowledgeId: correction?.id ?? "" });
  expect(await later.service.listKnowledge({})).toEqual([]);
  const sessionId = "codex:019a0c1e-1111-7222-8333-aaaaaaaaaaaa";
  const log = JSON.stringify(await Array.fromAsync(later.stores.events.read(sessionId, 0)));
  expect(log).not.toContain("Keep the build folder");
  expect(log).toContain("Clean up.");
});

test("what was denied in Gemini is a correction, and what was stopped is none", async () => {
  const at = "2026-05-01T10:00:00.000Z";
  const call = (id: string, error: string) => ({
    ...{ id, name: "write_file", args: { path: id }, status: "cancelled" },
    result: [{ functionResponse: { id, name: "write_file", response: { error } } }],
  });
  const toolCalls = [
    call("one", "[Operation Cancelled] Reason: User did not allow tool call"),
    call("two", "[Operation Cancelled] Reason: User cancelled tool execution."),
  ];
  const text = jsonl([
    { sessionId: "s", projectHash: "x", startTime: at },
    { id: "1", timestamp: at, type: "user", content: "Write it down." },
    { id: "2", timestamp: at, type: "gemini", content: "I write.", toolCalls },
  ]);
  const { service } = await importedFile("chats/session-1.jsonl", text);
  expect(await service.listKnowledge({})).toMatchObject([
    { kind: "correction", tool: "write_file", args: '{"path":"one"}', goal: "Write it down." },
  ]);
});

test("what was denied in opencode is a correction with the reason that the user gave", async () => {
  const state = (error: string) => ({ status: "error", input: { filePath: "otter.ts" }, error });
  const rejected = "The user rejected permission to use this specific tool call";
  const parts = [
    {
      callID: "1",
      tool: "edit",
      state: state(`${rejected} with the following feedback: keep otter`),
    },
    { callID: "2", tool: "write", state: state(`${rejected}.`) },
    {
      callID: "3",
      tool: "bash",
      state: state("The user has specified a rule which prevents this."),
    },
  ];
  const { service, stores, path } = await importedFile(
    "storage/session/p/ses_1.json",
    JSON.stringify({ id: "ses_1", directory: "/a", time: { created: 1_777_000_000_000 } }),
  );
  const storage = dirname(dirname(dirname(path)));
  const write = (name: string, value: object) => {
    mkdirSync(dirname(join(storage, name)), { recursive: true });
    writeFileSync(join(storage, name), JSON.stringify(value));
  };
  write("message/ses_1/msg_1.json", { role: "user", time: { created: 1 } });
  write("part/msg_1/prt_0.json", { type: "text", text: "Rename it." });
  write("message/ses_1/msg_2.json", { role: "assistant", time: { created: 2 } });
  for (const part of parts) write(`part/msg_2/prt_${part.callID}.json`, { type: "tool", ...part });
  writeFileSync(path, JSON.stringify({ id: "ses_1", directory: "/a", title: "Otter" }));
  await importTranscripts({ stores, path });
  const found = await service.listKnowledge({});
  expect(found.toReversed()).toMatchObject([
    { kind: "correction", tool: "edit", reason: "keep otter", goal: "Rename it." },
    { kind: "correction", tool: "write" },
  ]);
});

test("a denial of a transcript is forgotten with its correction, also when the file is imported again", async () => {
  const { service, stores, path } = await imported(denials());
  const [correction] = await service.listKnowledge({});
  await service.forgetKnowledge({ knowledgeId: correction?.id ?? "" });
  writeFileSync(path, String(denials().text("msg_9", "Done.")));
  await importTranscripts({ stores, path });
  expect(await service.listKnowledge({})).toEqual([]);
  const log = JSON.stringify(await Array.fromAsync(stores.events.read(`claude-code:${ID}`, 0)));
  expect(log).not.toContain("never npm");
  expect(log).toContain("package.json");
});

test("what a transcript says that the user said makes no rule", async () => {
  const { service } = await imported(new ClaudeLines(ID).user(RULE).text("msg_1", "Noted."));
  const { sessionId } = await service.createSession({});
  const add = async (content: string) => {
    const messages = [{ role: "user", content } as const];
    await service.appendMessages({ sessionId, messages, origin: { author: "user" } });
  };
  await add("Never use the network.");
  const learned = async () => (await service.listKnowledge({})).map(({ content }) => content);
  await expect.poll(learned).toContain("Never use the network.");
  expect(await learned()).not.toContain(RULE);
});
