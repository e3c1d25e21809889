// How many source files does one piece of work run through?
//
// A compaction, two searches and a turn over REST each run with V8's coverage around them. A file counts when one of its
// functions was called meanwhile. The code that runs when a module is loaded lazily counts, and work in the background too.
// The scripted model does not: it stands for a provider's package.
//
//   node bench/studies/walks.ts [--list]
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createSessionService } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";

const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const SOURCE = new URL("../../src/", import.meta.url).href;
const SCRIPTED_MODEL = `${SOURCE}testing/`;
const SAID = "The deploy script needs Node 24, and its port is 8080. ".repeat(10);

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");

async function walk(name: string, work: () => Promise<unknown>): Promise<void> {
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await inspector.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  await inspector.post("Profiler.stopPreciseCoverage");
  const entered = result.filter(
    ({ url, functions }) =>
      url.startsWith(SOURCE) &&
      !url.startsWith(SCRIPTED_MODEL) &&
      functions.some(({ functionName, ranges: [range] }) => {
        const isModule = functionName === "" && range?.startOffset === 0;
        return !isModule && range !== undefined && range.count > 0;
      }),
  );
  const files = entered.map(({ url }) => url.slice(SOURCE.length)).sort();
  const lines = files.map((file) => readFileSync(fileURLToPath(SOURCE + file), "utf8"));
  console.log(`${name}: ${files.length} files, ${lines.join("").split("\n").length - 1} lines`);
  if (values.list) console.log(files.map((file) => `  ${file}`).join("\n"));
}

const folder = await mkdtemp(join(tmpdir(), "rkat-walks-"));
const stores = sqliteStores({ path: join(folder, "rkat.db") });
const service = createSessionService({
  model: scriptedModel(Array.from({ length: 10 }, (_, at) => `Answer ${at}. ${SAID}`)),
  stores,
  compaction: { recentTurnBudget: 1 },
});
const { sessionId } = await service.createSession({});
for (let at = 0; at < 5; at += 1) {
  await service.startTurn({ sessionId, prompt: `What does the deploy script need, number ${at}?` });
}
await walk("a compaction", () => service.compact({ sessionId }));
await walk("a search", () => service.searchMemory({ query: "deploy script" }));
await walk("the next search, for which nothing has to be caught up", () =>
  service.searchMemory({ query: "deploy port" }),
);
const server = await serveRest({ service, port: 0 });
await walk("a turn over REST", async () => {
  const response = await fetch(`${server.url}/sessions/${sessionId}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "And its port?" }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.text();
});
await server.close({ graceMs: 0 });
await service.close();
await stores.close();
inspector.disconnect();
await rm(folder, { recursive: true });
