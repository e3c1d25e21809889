import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { trials } from "./support/trials.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";
const OTHER = "1f3c2b1a-1111-4222-8333-444455556666";

/** Texts that are long enough to be forgotten wherever they are said. */
const text = fc
  .array(fc.stringMatching(/^[a-zà-ÿ0-9]{4,9}$/), { minLength: 5, maxLength: 12 })
  .map((words) => words.join(" "));

test("what was forgotten is found nowhere after it is imported again, also from a copy with other ids", async () => {
  const talks = fc.tuple(fc.uniqueArray(text, { minLength: 2, maxLength: 5 }), fc.nat());
  await fc.assert(
    fc.asyncProperty(talks, async ([texts, chosen]) => {
      const gone = texts[chosen % texts.length] as string;
      const folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
      const stores = sqliteStores({ path: join(folder, "rkat.db") });
      const service = createSessionService({
        model: scriptedModel([]),
        stores,
        knowledge: false,
      });
      const write = (id: string) => {
        const lines = texts.reduce(
          (sofar, said, index) => sofar.user(said).text(`msg_${id}${index}`, `Answer ${index}.`),
          new ClaudeLines(id),
        );
        const path = join(folder, "transcripts", `${id}.jsonl`);
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(path, String(lines));
      };
      const read = () => importTranscripts({ stores, path: join(folder, "transcripts") });
      try {
        write(ID);
        await read();
        const entries = await service.listMemory({ limit: 1000 });
        const ids = entries.filter(({ content }) => content === gone).map(({ id }) => id);
        expect(ids).toHaveLength(1);
        await service.forgetMemory({ ids });
        write(OTHER);
        await read();
        const left = await service.listMemory({ limit: 1000 });
        expect(left.filter(({ content }) => content.includes(gone))).toEqual([]);
        for (const { sessionId } of await service.list({ includeArchived: true })) {
          const log = JSON.stringify(await Array.fromAsync(stores.events.read(sessionId, 0)));
          expect(log).not.toContain(gone);
        }
        const found = await service.searchHistory({ query: gone });
        expect(found.filter(({ content }) => content.includes(gone))).toEqual([]);
        // The rest is there twice.
        const kept = texts.filter((said) => said !== gone);
        for (const said of kept) {
          expect(left.filter(({ content }) => content === said)).toHaveLength(2);
        }
      } finally {
        await service.close();
        await stores.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: trials(2, 15) },
  );
});
