import { join } from "node:path";
import { createSessionService, SessionError } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { execFileSync } from "./start-process.ts";

// Serves a project, and sends the answer to each request. No file of this process can grow after the
// first turn, or the files of sessions cannot be written at all.
const [folder = "", sessionFiles = join(folder, "sessions")] = process.argv.slice(2);
const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "worker" });
const service = createSessionService({ model: scriptedModel([]), stores, sessionFiles });
const server = await serveRest({ service, port: 0 });
const { sessionId } = await service.createSession({});
await service.startTurn({ sessionId, prompt: "The otter sleeps. Always use tabs." });
const [found] = await service.searchMemory({ query: "tabs" });

if (sessionFiles.startsWith(folder)) {
  execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=0"]);
}

const session = `/sessions/${sessionId}`;
const REQUESTS: readonly (readonly [string, string, unknown?])[] = [
  ["GET", "/sessions"],
  ["GET", session],
  ["GET", `${session}/context`],
  ["GET", "/memory?limit=5"],
  ["GET", "/memory/stats"],
  ["GET", "/memory/search?query=tabs"],
  ["GET", "/history/search?query=otter"],
  ["GET", "/knowledge"],
  ["GET", "/approvals"],
  ["POST", `${session}/messages`, { prompt: "More." }],
  ["POST", "/sessions", {}],
  ["POST", `${session}/task`, { goal: "More." }],
  ["POST", `${session}/archive`, {}],
  ["POST", "/memory/forget", { ids: [found?.id] }],
  ["DELETE", session],
  ["GET", "/memory/search?query=tabs"],
  ["GET", "/sessions"],
];
for (const [method, path, body] of REQUESTS) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  process.send?.({ method, path, status: answer.status, text });
}
await server.close({ graceMs: 0 });
await service.close().catch((error) => process.send?.({ failure: SessionError.from(error).code }));
await stores.close();
