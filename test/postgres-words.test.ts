import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import { newId } from "../src/core/ids.ts";
import { postgresStores } from "../src/postgres.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";

const WORDS = [
  "harbour",
  "pilot",
  "it's",
  "c:\\ship",
  "東京",
  "東大",
  "boats",
  "o'brien",
  "ж",
  "a:1",
];
const EVENTS = 700;

function said(prompt: string): NewEvent {
  const event = { type: "run_started", session_id: "s", prompt } as const;
  return { event_id: newId(), timestamp_ms: 1_800_000_000_000, event };
}

/** Each has some of the words, and one of its own. */
function prompts(from: number, to: number): readonly NewEvent[] {
  return Array.from({ length: to - from }, (_, at) => {
    const number = from + at;
    const words = WORDS.filter((_, word) => number % (word + 2) === 0);
    return said(`${words.join(" ")} own${number}`);
  });
}

async function opened() {
  const connectionString = await postgresUrl();
  const schema = await freshSchema();
  const stores = postgresStores({ connectionString, schema });
  const client = new pg.Client({ connectionString });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await stores.close();
  });
  const blocks = async () => {
    const { rows } = await client.query(
      `select positions, stems::text as stems from "${schema}".event_words order by first`,
    );
    return rows as { readonly positions: readonly string[]; readonly stems: string }[];
  };
  return { stores, blocks, client, schema };
}

describe.skipIf(!hasPostgres)("words of the log on PostgreSQL", NEEDS_POSTGRES, () => {
  test("a search finds in blocks, behind them and without them what the store in memory finds", async () => {
    const { stores, blocks } = await opened();
    const plain = new EphemeralEventStore();
    const queries = [...WORDS, "pilot boats", "東", "own17", "own699", "harbour o'brien", "own"];
    const compare = async () => {
      for (const query of queries) {
        for (const range of [{ limit: 20 }, { limit: 5, fromTurn: 100, toTurn: 300 }]) {
          const [found, expected] = await Promise.all(
            [stores.events, plain].map((store) => store.search({ query, ...range })),
          );
          expect(found, query).toEqual(expected);
        }
      }
    };
    for (let from = 0; from < EVENTS; from += 100) {
      const events = prompts(from, from + 100);
      await stores.events.append("s", from, events);
      await plain.append("s", from, events);
      await compare();
    }
    const packed = (await blocks()).flatMap(({ positions }) => positions);
    expect(packed.length).toBeGreaterThan(EVENTS / 2);
    expect(new Set(packed).size).toBe(packed.length);
  });

  test("a word that was redacted or deleted is in no block, and the others are found", async () => {
    const { stores, blocks } = await opened();
    await stores.events.append("s", 0, prompts(0, 200));
    await stores.events.append("other", 0, prompts(200, 400));
    const finds = async (query: string) =>
      (await stores.events.search({ query, limit: 3 })).map(({ seq }) => seq);
    expect(await finds("own7")).toEqual([8]);
    const stems = async () => (await blocks()).map((block) => block.stems).join();
    expect(await stems()).toContain("'own7'");
    const event = { type: "run_started", session_id: "s", prompt: "Gone." } as const;
    await stores.events.redact("s", 200, [{ seq: 8, event }], said("Told."));
    expect(await stems()).not.toContain("'own7'");
    expect(await finds("own7")).toEqual([]);
    expect(await finds("own8")).toEqual([9]);
    expect(await finds("gone")).toEqual([8]);
    await stores.events.delete("other");
    expect(await stems()).not.toMatch(/'own[23]\d\d'/);
    expect(await finds("own9")).toEqual([10]);
    await stores.events.delete("s");
    expect(await blocks()).toEqual([]);
  });

  test("a search while an event is deleted packs no word of it", async () => {
    const { stores, blocks, client, schema } = await opened();
    await stores.events.append("s", 0, prompts(0, 100));
    await stores.events.append("gone", 0, prompts(100, 220));
    // The deletion waits here, after it has taken the events out.
    await client.query("begin");
    const lock = `hashtextextended('default', '"${schema}".event_words'::regclass::oid::bigint)`;
    await client.query(`select pg_advisory_xact_lock(${lock})`);
    const deleted = stores.events.delete("gone");
    const waits = "select 1 from pg_locks where locktype = 'advisory' and not granted";
    await expect.poll(async () => (await client.query(waits)).rows.length).toBeGreaterThan(0);
    expect(await stores.events.search({ query: "own150", limit: 1 })).toEqual([]);
    await client.query("commit");
    await deleted;
    await stores.events.search({ query: "own1", limit: 1 });
    const stems = (await blocks()).map((block) => block.stems).join();
    expect(stems).not.toContain("'own150'");
  });

  test("a log of the version before is found at once, and packed by searches", async () => {
    const { stores, blocks, client, schema } = await opened();
    await stores.events.append("s", 0, prompts(0, 300));
    await stores.events.append("other", 0, prompts(300, 400));
    await client.query(`
      set search_path = "${schema}";
      drop table event_words;
      alter table event rename column lexemes to stems;
      create index event_by_own_word on event using gin (stems);
      create index snapshot_by_update on snapshot (namespace, updated_at_ms desc);
      delete from migration where version >= 8`);
    const later = postgresStores({ connectionString: await postgresUrl(), schema });
    onTestFinished(() => later.close());
    for (const [own, seq] of [
      ["own0", 1],
      ["own299", 300],
      ["own350", 51],
    ] as const) {
      const hits = await later.events.search({ query: own, limit: 2 });
      expect(hits.map((hit) => hit.seq)).toEqual([seq]);
    }
    await later.events.append("other", 100, [said("A new heron.")]);
    expect(await later.events.search({ query: "heron", limit: 2 })).toHaveLength(1);
    await later.events.delete("s");
    expect(await later.events.search({ query: "own10", limit: 2 })).toEqual([]);
    const stems = (await blocks()).map((block) => block.stems).join();
    expect(stems).toContain("'own300'");
    expect(stems).not.toContain("'own10'");
  });
});
