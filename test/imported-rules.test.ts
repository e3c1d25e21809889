import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { importTranscripts } from "../src/import-transcripts.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { ClaudeLines } from "./support/claude-lines.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";
const RULE = "Always answer in one sentence.";

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nUse pnpm, never npm.";

async function imported(lines: ClaudeLines) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, `${ID}.jsonl`);
  writeFileSync(path, String(lines));
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
  const [hit] = await service.searchMemory({ query: "pnpm never npm", kind: "correction" });
  expect(hit?.content).toContain("The user denied this: Use pnpm, never npm.");
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
