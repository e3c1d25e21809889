import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService, SessionError, type SessionService } from "../src/index.ts";
import { MemoryAudit } from "../src/session/memory-audit.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { examineStore } from "../src/stores/sqlite/examine-sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { GIVEN_PATH, GIVEN_SEED } from "./support/given-seed.ts";
import { temporaryFolder } from "./support/obey.ts";
import { trials } from "./support/trials.ts";

// A disk returns other bytes than were written. Whatever it is, what rkat answers is what was stored, or it says that
// it cannot, or `rkat doctor` names what is wrong.

const DAMAGED = trials(6, 1000);
const SECTOR_BYTES = 512;
const ANIMALS = ["otter", "heron", "badger", "pike"];
const QUESTIONS = ["which river", "Port 3012", "locker 4 key", "badger number", "reed 11"];

interface Damage {
  readonly kind: "bit" | "sector" | "end";
  /** Where in the file, from 0 to 1. */
  readonly share: number;
  readonly bit: number;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom("bit", "bit", "bit", "sector", "end"),
  share: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  bit: fc.nat({ max: 7 }),
});

test(
  "a damaged store gives no other answers in silence",
  async () => {
    const folder = await temporaryFolder();
    const whole = await filled(join(folder, "whole.db"));
    const stored = await answers(copy(whole, join(folder, "copy.db")));
    let count = 0;
    const law = fc.asyncProperty(damage, async (damage) => {
      count += 1;
      const bytes = damaged(whole, damage);
      const given = await answers(copy(bytes, join(folder, `${count}.db`)));
      const other = [...stored].filter(([question, answer]) => {
        const now = given.get(question);
        return typeof now === "string" && now !== answer;
      });
      const internal = [...given.values()].filter(
        (told) => typeof told !== "string" && !told.isTold,
      );
      expect(internal).toEqual([]);
      if (other.length === 0) return;
      const named = await problems(copy(bytes, join(folder, `${count}-doctor.db`)));
      expect(named, `other answers: ${other.map(([question]) => question)}`).not.toEqual([]);
    });
    const given = {
      ...(GIVEN_SEED === undefined ? {} : { seed: GIVEN_SEED }),
      ...(GIVEN_PATH === undefined ? {} : { path: GIVEN_PATH }),
    };
    await fc.assert(law, { numRuns: DAMAGED, endOnFailure: true, ...given });
  },
  60_000 + 1000 * DAMAGED,
);

function copy(bytes: Buffer, path: string): string {
  writeFileSync(path, bytes);
  return path;
}

function damaged(whole: Buffer, { kind, share, bit }: Damage): Buffer {
  const at = Math.floor(share * whole.length);
  if (kind === "end") return whole.subarray(0, at);
  const bytes = Buffer.from(whole);
  if (kind === "bit") bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  else bytes.fill(0, at - (at % SECTOR_BYTES), at - (at % SECTOR_BYTES) + SECTOR_BYTES);
  return bytes;
}

function serviceOver(stores: SqliteStores): SessionService {
  return createSessionService({
    model: scriptedModel(({ messages: { length } }) => `${ANIMALS[length % 4]} number ${length}.`),
    stores,
    compaction: { summarizer: "fallback", minTurnsBetweenCompactions: 1 },
    onBackgroundError: () => {},
  });
}

/** The bytes of a store with sessions, one of them compacted, notes and rules. */
async function filled(path: string): Promise<Buffer> {
  const stores = sqliteStores({ path });
  const service = serviceOver(stores);
  for (let session = 0; session < 3; session += 1) {
    const { sessionId } = await service.createSession({});
    for (let turn = 0; turn < 4; turn += 1) {
      const at = 10 * session + turn;
      const prompt = `Ask of river ${turn}. I always prefer reed ${at}. Port ${3000 + at} is for staging.`;
      await service.startTurn({ sessionId, prompt });
    }
    if (session === 0) await service.compact({ sessionId });
  }
  for (let note = 0; note < 6; note += 1) {
    await service.addMemory({ content: `Note ${note}: the key of locker ${note} is at desk 3.` });
  }
  await service.searchMemory({ query: "otter" });
  await service.close();
  await stores.close();
  return readFileSync(path);
}

/** What a store answers to each question, or how it failed. */
type Answers = ReadonlyMap<string, string | { readonly isTold: boolean; readonly text: string }>;

async function answers(path: string): Promise<Answers> {
  const found = new Map<string, string | { readonly isTold: boolean; readonly text: string }>();
  const ask = async <T>(question: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const answer = await work();
      found.set(question, JSON.stringify(answer) ?? "");
      return answer;
    } catch (error) {
      const told = SessionError.from(error);
      const isTold = SessionError.is(error) && told.code !== "INTERNAL_ERROR";
      found.set(question, { isTold, text: `${told.code} ${told.message}` });
      return undefined;
    }
  };
  let stores: SqliteStores | undefined;
  await ask("open", async () => {
    stores = sqliteStores({ path });
    onTestFinished(() => stores?.close());
  });
  if (!stores) return found;
  const { events, memory } = stores;
  const service = serviceOver(stores);
  const listed = await ask("the sessions", () => service.list({}));
  for (const { sessionId } of listed ?? []) {
    await ask(`the log of ${sessionId}`, async () => {
      return await Array.fromAsync(events.read(sessionId, 0));
    });
  }
  for (const query of QUESTIONS) await ask(query, () => service.searchMemory({ query, limit: 5 }));
  await ask("memory", () => memory.list({ limit: 500 }));
  await ask("history", () => service.searchHistory({ query: "river", limit: 20 }));
  await ask("the end", async () => {
    await service.close();
    await stores?.close();
  });
  return found;
}

test("a damaged snapshot is named, and the next change of its session stores it again", async () => {
  const path = copy(
    await filled(join(await temporaryFolder(), "s.db")),
    join(await temporaryFolder(), "d.db"),
  );
  const database = new DatabaseSync(path);
  const { id } = database.prepare("SELECT min(session_id) AS id FROM snapshot").get() as {
    readonly id: string;
  };
  const change = "UPDATE snapshot SET snapshot = replace(snapshot, 'number', 'cumber')";
  database.prepare(`${change} WHERE session_id = ?`).run(id);
  database.close();
  expect(examineStore(path)).toEqual([
    expect.stringMatching(`^The snapshot of session ${id} has changed since it was stored\\.`),
  ]);
  const stores = sqliteStores({ path });
  const service = serviceOver(stores);
  await service.archive({ sessionId: id });
  await service.unarchive({ sessionId: id });
  await service.close();
  await stores.close();
  expect(examineStore(path)).toEqual([]);
});

/** What `rkat doctor` and `rkat memory verify` name. */
async function problems(path: string): Promise<readonly string[]> {
  const found = examineStore(path);
  if (found.length > 0) return found;
  const stores = sqliteStores({ path });
  try {
    const { problems } = await new MemoryAudit(stores).check();
    return [...problems, ...(await stores.memory.verify()).problems];
  } catch (error) {
    return [SessionError.from(error).message];
  } finally {
    await stores.close();
  }
}
