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

test("what a transcript says that the user said makes no rule", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, `${ID}.jsonl`);
  writeFileSync(path, String(new ClaudeLines(ID).user(RULE).text("msg_1", "Noted.")));
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({ model: scriptedModel([]), stores });
  await importTranscripts({ stores, path });
  const { sessionId } = await service.createSession({});
  const add = async (content: string) => {
    const messages = [{ role: "user", content } as const];
    await service.appendMessages({ sessionId, messages, origin: { author: "user" } });
  };
  await add("Never use the network.");
  const learned = async () => (await service.listKnowledge({})).map(({ content }) => content);
  await expect.poll(learned).toContain("Never use the network.");
  expect(await learned()).not.toContain(RULE);
  await service.close();
  await stores.close();
});
