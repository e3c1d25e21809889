import { createSessionService } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";

/** A server for a fuzzer: everything is on, any model answers, nothing is kept. Prints its address, and ends on SIGTERM. */
const stores = sqliteStores({ path: ":memory:" });
const service = createSessionService({
  stores,
  model: scriptedModel(() => "ok"),
  models: async (name) => scriptedModel(() => "ok", { id: name }),
  compaction: {},
});
const server = await serveRest({ service, port: 0 });
process.stdout.write(`${server.url}\n`);
process.once("SIGTERM", async () => {
  await server.close({ graceMs: 0 });
  await service.close();
  await stores.close();
});
