import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createSessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";

/** Finds a text of a coding agent's session in its project's memory, as soon as the session was recorded there. */
export async function findAgain(project: string, query: string, text: RegExp): Promise<string> {
  const path = join(project, ".rkat", "rkat.db");
  while (!existsSync(path)) await setTimeout(100);
  const stores = sqliteStores({ path });
  const sessions = createSessionService({ model: "none", stores });
  let found: string | undefined;
  while (!found) {
    await setTimeout(100);
    const hits = await sessions.searchHistory({ query });
    found = text.exec(hits.map(({ content }) => content).join("\n"))?.[0];
  }
  await sessions.close();
  await stores.close();
  return found;
}
