// Uses an installed rkat through its doors and through its command.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compactHistory, createSessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";

const folder = mkdtempSync(join(process.cwd(), "smoke-"));
try {
  for (const thread of ["main", "worker"]) {
    const stores = sqliteStores({ path: join(folder, `${thread}.db`), thread });
    const model = scriptedModel(["hello there"]);
    const service = createSessionService({ model, stores, memory: stores.memory, compaction: {} });
    const { sessionId } = await service.createSession({});
    const { text } = await service.startTurn({ sessionId, prompt: "hi" });
    assert.equal(text, "hello there");
    assert.equal((await service.read({ sessionId })).turns, 1);
    await service.close();
    await stores.memory.finishMerging();
    await stores.close();
  }

  const messages = Array.from({ length: 40 }, (_, turn) => [
    { role: "user", content: `question ${turn} ${"and more ".repeat(40)}` },
    { role: "assistant", content: `answer ${turn} ${"and more ".repeat(40)}` },
  ]).flat();
  const config = { autoCompactThreshold: 4000 };
  const compacted = await compactHistory({
    messages,
    summarize: async () => "In short.",
    ...config,
  });
  assert.equal(compacted.outcome, "compacted");

  const bin = join(process.cwd(), "node_modules", "rkat", "bin", "rkat.js");
  // Nothing of the person who runs this: no store, no settings, no home.
  const env = { PATH: process.env.PATH, HOME: folder };
  const rkat = (...args) =>
    execFileSync(process.execPath, [bin, ...args, "--dir", folder], { encoding: "utf8", env });
  const lines = messages.map((message) => JSON.stringify(message)).join("\n");
  writeFileSync(join(folder, "chat.jsonl"), lines);
  const replay = ["replay", join(folder, "chat.jsonl"), "--compact-threshold", "3000", "--json"];
  const report = JSON.parse(rkat(...replay));
  assert.ok(report.compactions.length > 0);
  const hits = JSON.parse(rkat("memory", "search", "question 3", "--limit", "3", "--json"));
  assert.ok(hits.length > 0 && hits[0].session_id === report.session_id);

  assert.equal(JSON.parse(rkat("memory", "verify", "--json")).problems?.length ?? 0, 0);

  const request = { jsonrpc: "2.0", id: 1, method: "session/list", params: { limit: 5 } };
  const answer = execFileSync(process.execPath, [bin, "rpc", "--dir", folder], {
    encoding: "utf8",
    env,
    input: `${JSON.stringify(request)}\n`,
  });
  assert.equal(JSON.parse(answer).result.sessions.length, 1);
  console.log(`smoke test passed on Node ${process.versions.node}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
