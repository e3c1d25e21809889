import { parseArgs } from "node:util";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { say } from "./say.ts";

/** A program that imports a folder into a store, and says when each batch is stored. */
const { values } = parseArgs({ options: { path: { type: "string" }, folder: { type: "string" } } });
const { path = "", folder = "" } = values;
const stores = sqliteStores({ path });
await importTranscripts({
  stores,
  path: folder,
  onProgress: ({ added }) => say(`${added}`),
});
await stores.close();
say("done");
