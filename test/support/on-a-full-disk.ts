import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createSessionService, SessionError } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { execFileSync, spawn } from "./start-process.ts";

// Serves a project, and sends the answer to each request. After the first turn no file of this process can grow ("full"),
// or none can be changed ("read-only"); or the files of sessions cannot be written at all.
const [folder = "", disk = "full", sessionFiles = join(folder, "sessions")] = process.argv.slice(2);
const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "worker" });
const service = createSessionService({ model: scriptedModel([]), stores, sessionFiles });
const server = await serveRest({ service, port: 0 });
const { sessionId } = await service.createSession({});
await service.startTurn({ sessionId, prompt: "The otter sleeps. Always use tabs." });
const [found] = await service.searchMemory({ query: "tabs" });

if (disk === "read-only") await mountReadOnly();
else if (sessionFiles.startsWith(folder)) {
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

/** Lets the system refuse what changes files, as it does on a disk that it has mounted again after an error. */
async function mountReadOnly(): Promise<void> {
  const calls = "pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,unlink,rename,mkdir";
  const inject = `inject=${calls}:error=EROFS`;
  const pid = String(process.pid);
  const tracer = spawn("strace", ["-f", "-o", "/dev/null", "-e", inject, "-p", pid], {
    stdio: "ignore",
  });
  tracer.unref();
  const isTraced = (thread: string) =>
    !/^TracerPid:\t0$/m.test(readFileSync(`/proc/self/task/${thread}/status`, "utf8"));
  while (!readdirSync("/proc/self/task").every(isTraced)) {
    if (tracer.exitCode !== null) throw new Error("strace may not trace this process.");
    await setTimeout(5);
  }
}
