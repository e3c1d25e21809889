import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import type { MemoryStore } from "../src/core/memory-store.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { ClaudeLines } from "./support/claude-lines.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";
const GONE = "the password of the harbour gate is heronweirkiln";

/** Imports a session. Before memory gets it, another process of the same store does `meanwhile`. Returns what memory has. */
async function importWhile(
  meanwhile: (others: ReturnType<typeof createSessionService>) => Promise<void>,
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
  const path = join(folder, "rkat.db");
  const stores = sqliteStores({ path });
  const others = createSessionService({
    model: scriptedModel([]),
    stores: sqliteStores({ path }),
    knowledge: false,
  });
  const memory = new Proxy(stores.memory, {
    get(store, name) {
      if (name !== "add") return Reflect.get(store, name).bind(store);
      return async (...given: Parameters<MemoryStore["add"]>) => {
        await meanwhile(others);
        return await store.add(...given);
      };
    },
  });
  try {
    const lines = new ClaudeLines(ID).user(GONE).text("msg_1", "Noted.").user("What is next?");
    writeFileSync(join(folder, `${ID}.jsonl`), String(lines));
    await importTranscripts({ stores: { ...stores, memory }, path: folder });
    return (await others.listMemory({ limit: 100 })).map(({ content }) => content).sort();
  } finally {
    await others.close();
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

test("what another process forgets while an import gives it to memory does not come back", async () => {
  let forgotten = 0;
  const left = await importWhile(async (others) => {
    // The other process reads the log, remembers the text, and is told to forget it.
    const entries = await others.listMemory({ limit: 100 });
    const ids = entries.filter(({ content }) => content === GONE).map(({ id }) => id);
    forgotten += ids.length;
    await others.forgetMemory({ ids });
  });
  expect(forgotten).toBe(1);
  expect(left).toEqual(["Noted.", "What is next?"]);
});

test("nor does a session that another process deletes meanwhile", async () => {
  let deleted = 0;
  const left = await importWhile(async (others) => {
    for (const { sessionId } of await others.list({ includeArchived: true })) {
      await others.delete({ sessionId });
      deleted += 1;
    }
  });
  expect(deleted).toBe(1);
  expect(left).toEqual([]);
});
