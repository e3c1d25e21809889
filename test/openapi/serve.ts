import { createSessionService } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";

/** A server for a fuzzer: everything is on, any model answers, nothing is kept. Prints its address, and runs until it is killed. */
const stores = sqliteStores({ path: ":memory:" });
const service = createSessionService({
  stores,
  model: scriptedModel(() => "ok"),
  models: async (name) => scriptedModel(() => "ok", { id: name }),
  compaction: {},
});
const { url } = await serveRest({ service, port: 0 });
process.stdout.write(`${url}\n`);
