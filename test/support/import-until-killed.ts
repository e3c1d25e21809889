import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { importTranscripts } from "../../src/import-transcripts.ts";
import { sqliteStores } from "../../src/sqlite.ts";

/** A program that imports a folder into a store, and says when each batch is stored. */
const { values } = parseArgs({ options: { path: { type: "string" }, folder: { type: "string" } } });
const { path = "", folder = "" } = values;
const stores = sqliteStores({ path });
await importTranscripts({
  stores,
  path: folder,
  onProgress: ({ added }) => writeSync(1, `${added}\n`),
});
await stores.close();
writeSync(1, "done\n");
