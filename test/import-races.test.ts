import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { importIntoPlaces } from "../src/app/import-transcripts.ts";
import { SessionError } from "../src/core/errors.ts";
import type { NewEvent } from "../src/core/event.ts";
import { SessionState } from "../src/core/session-state.ts";
import type { ImportStores } from "../src/import/import-stores.ts";
import { postgresStores } from "../src/postgres.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { ephemeralStores } from "../src/stores/ephemeral/ephemeral-stores.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { freshSchema, hasPostgres, postgresUrl } from "./support/postgres.ts";
import { LONG, trials } from "./support/trials.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";
const SESSION = `claude-code:${ID}`;

type Opened = ImportStores & { close(): Promise<void> };

/** Each call of what `place` returns opens the same store once more, as another process does. */
const STORES: readonly {
  readonly name: string;
  readonly isHere: boolean;
  place(folder: string): Promise<() => Opened>;
}[] = [
  {
    name: "in memory",
    isHere: true,
    async place() {
      const stores = ephemeralStores();
      return () => stores;
    },
  },
  {
    name: "SQLite",
    isHere: true,
    place: async (folder) => () => sqliteStores({ path: join(folder, "rkat.db") }),
  },
  {
    name: "SQLite in a thread of its own",
    isHere: true,
    place: async (folder) => () =>
      sqliteStores({ path: join(folder, "rkat.db"), thread: "worker" }),
  },
  {
    name: "PostgreSQL",
    isHere: hasPostgres,
    async place() {
      const address = { connectionString: await postgresUrl(), schema: await freshSchema() };
      return () => postgresStores(address);
    },
  },
];

let folder: string;
let opened: Opened[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
  opened = [];
});

afterEach(async () => {
  for (const stores of new Set(opened)) await stores.close();
  rmSync(folder, { recursive: true });
});

/** Of five batches: of those that users get in the long form, and of a twentieth of them in the short one. */
const [MESSAGES, BATCH] = LONG ? [9000, {}] : [450, { batchParts: 100 }];
const RACES = trials(1, 20);
/** The longest wait before an import begins, in milliseconds: about what a batch takes. */
const DELAY_MAX = LONG ? 40 : 8;
const QUESTIONS = Array.from({ length: MESSAGES }, (_, turn) => `Question ${turn}?`);

function writeTalk(): string {
  const path = join(folder, `${ID}.jsonl`);
  const lines = new ClaudeLines(ID);
  for (const question of QUESTIONS) lines.user(question);
  writeFileSync(path, String(lines));
  return path;
}

function saidIn(events: readonly { readonly event: NewEvent["event"] }[]): readonly unknown[] {
  return events.flatMap(({ event }) =>
    event.type === "message_added" && event.message.role === "user" ? [event.message.content] : [],
  );
}

describe.each(STORES)("imports into a store $name", ({ isHere, place }) => {
  const start = async (processes: number) => {
    const open = await place(mkdtempSync(join(folder, "store-")));
    const stores = Array.from({ length: processes }, open);
    opened.push(...stores);
    return stores;
  };

  // Takes over two seconds: each race imports a long session several times.
  test.skipIf(!isHere)(
    "of imports of one long session at the same time, each message is stored once, in its order",
    { timeout: 60_000 * RACES },
    async () => {
      const path = writeTalk();
      const delays = fc.array(fc.integer({ min: 0, max: DELAY_MAX }), {
        minLength: 2,
        maxLength: 3,
      });
      await fc.assert(
        fc.asyncProperty(delays, async (all) => {
          const importers = await start(all.length);
          const reports = await Promise.all(
            importers.map(async (stores, at) => {
              await sleep(all[at]);
              return (await importIntoPlaces({ stores, path, ...BATCH })).report();
            }),
          );
          const [{ events, sessions, memory }] = importers as [Opened];
          const log = await Array.fromAsync(events.read(SESSION, 0));
          expect(saidIn(log)).toEqual(QUESTIONS);
          expect(reports.reduce((sum, { added }) => sum + added, 0)).toBe(MESSAGES);
          const state = new SessionState(SESSION);
          for (const event of log) state.apply(event);
          const { message_count, turns, seq, history_tokens } = state.snapshot();
          expect(await sessions.load(SESSION)).toMatchObject({
            message_count,
            turns,
            seq,
            history_tokens,
          });
          const { entries } = (await memory?.stats()) ?? {};
          expect(entries).toBe(MESSAGES);
        }),
        { numRuns: RACES },
      );
    },
  );
});

test("a session is stored whole and in its order, whichever of its batches the store refuses at first", async () => {
  const path = writeTalk();
  const refusals = fc.array(fc.nat(7), { minLength: 1, maxLength: 3 });
  const delays = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(refusals, delays, async (refused, waits) => {
      const { events, sessions, imports, close } = sqliteStores({ path: ":memory:" });
      let asked = 0;
      const wait = () => sleep(waits[asked++ % waits.length]);
      let commits = 0;
      let last: Promise<unknown> = Promise.resolve();
      const slow: ImportStores["imports"] = {
        async known(ids) {
          await wait();
          return await imports.known(ids);
        },
        commit(...given) {
          const done = last.then(async () => {
            await wait();
            commits += 1;
            if (refused.includes(commits)) throw new SessionError("SESSION_CONFLICT");
            return await imports.commit(...given);
          });
          last = done.catch(() => {});
          return done;
        },
        files: () => imports.files(),
      };
      try {
        const stores = { events, sessions, imports: slow };
        const report = (await importIntoPlaces({ stores, path, ...BATCH })).report();
        expect([report.added, report.alreadyThere]).toEqual([MESSAGES, 0]);
        const log = await Array.fromAsync(events.read(SESSION, 0));
        expect(saidIn(log)).toEqual(QUESTIONS);
      } finally {
        await close();
      }
    }),
    { numRuns: trials(2, 200) },
  );
});
