import { join } from "node:path";
import { createSessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

// Runs some sessions of two turns each in a store that other processes use at the same time.
const [folder = "", count = "1"] = process.argv.slice(2);
const stores = sqliteStores({ path: join(folder, "rkat.db") });
const service = createSessionService({
  model: scriptedModel(Array.from({ length: 2 * Number(count) }, (_, turn) => `Answer ${turn}.`)),
  stores,
  sessionFiles: join(folder, "sessions"),
});
for (let session = 0; session < Number(count); session += 1) {
  const { sessionId } = await service.createSession({});
  for (const prompt of ["One.", "Two."]) await service.startTurn({ sessionId, prompt });
}
await service.close();
await stores.close();
