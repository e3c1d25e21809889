import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { onTestFinished, test } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import type { EventStore } from "../src/core/event-store.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteEventStore } from "../src/stores/sqlite/sqlite-event-store.ts";
import { temporaryFolder } from "./support/obey.ts";

/** The simplest event store there is: everything that was appended, in one array. */
interface Model {
  log: { readonly session: string; readonly seq: number; readonly word: string }[];
  readonly checkpoints: Map<string, number>;
}

/** Does one thing to a store and to the model, and compares what they answer. */
type Step = (store: EventStore, model: Model) => Promise<void>;

const session = fc.constantFrom("a", "b", "c");
const word = fc.constantFrom("apple", "pear", "plum", "fig", "梅干");

const append = fc
  .record({
    session,
    words: fc.array(word, { maxLength: 5 }),
    stale: fc.constantFrom(0, 0, 0, 1, -1),
  })
  .map(
    ({ session, words, stale }): Step =>
      async (store, model) => {
        const last = logOf(model, session).length;
        const appending = store.append(session, last + stale, words.map(said));
        const code = last + stale < 0 ? "INVALID_PARAMS" : "SESSION_CONFLICT";
        if (stale !== 0) return assert.rejects(appending, { code });
        assert.equal(await appending, last + words.length);
        words.forEach((word, index) => {
          model.log.push({ session, seq: last + 1 + index, word });
        });
      },
  );

const read = fc
  .record({ session, after: fc.nat(12), to: fc.option(fc.nat(12), { nil: undefined }) })
  .map(
    ({ session, after, to }): Step =>
      async (store, model) => {
        const expected = logOf(model, session).slice(after, to);
        const events = await Array.fromAsync(store.read(session, after, to));
        assert.deepEqual(
          events.map(({ seq, event }) => [seq, event.type === "run_started" && event.prompt]),
          expected.map(({ seq, word }) => [seq, word]),
        );
        assert.equal(await store.lastSeq(session), logOf(model, session).length);
      },
  );

const readAll = fc.record({ skip: fc.nat(12), limit: fc.nat(12) }).map(
  ({ skip, limit }): Step =>
    async (store, model) => {
      const all = await store.readAll(0, model.log.length + 1);
      const page = skip === 0 ? 0 : (all[skip - 1]?.position ?? Number.MAX_SAFE_INTEGER);
      const events = await store.readAll(page, limit);
      assert.deepEqual(
        events.map(({ sessionId, stored }) => ({ session: sessionId, seq: stored.seq })),
        model.log.slice(skip, skip + limit).map(({ session, seq }) => ({ session, seq })),
      );
    },
);

const search = fc.record({ word, session: fc.option(session, { nil: undefined }) }).map(
  ({ word, session }): Step =>
    async (store, model) => {
      const hits = await store.search({
        query: word,
        limit: 1000,
        ...(session === undefined ? {} : { sessionId: session }),
      });
      assert.deepEqual(
        new Set(hits.map((hit) => `${hit.sessionId}${hit.seq} turn ${hit.turn}`)),
        new Set(
          model.log
            .filter((event) => event.word === word && (session ?? event.session) === event.session)
            .map((event) => `${event.session}${event.seq} turn ${event.seq - 1}`),
        ),
      );
    },
);

const checkpoint = fc.record({ projection: word, position: fc.nat(9) }).map(
  ({ projection, position }): Step =>
    async (store, model) => {
      const reached = model.checkpoints.get(projection) ?? 0;
      model.checkpoints.set(projection, position === 0 ? 0 : Math.max(position, reached));
      await store.saveCheckpoint(projection, position);
      assert.equal(await store.checkpoint(projection), model.checkpoints.get(projection));
    },
);

const redaction = fc.record({ session, at: fc.nat(12), word }).map(
  ({ session, at, word }): Step =>
    async (store, model) => {
      const log = logOf(model, session);
      const old = log[at];
      if (!old) return;
      const told = said("kiwi");
      await store.redact(session, log.length, [{ seq: old.seq, event: said(word).event }], told);
      model.log = model.log.map((event) => (event === old ? { ...old, word } : event));
      model.log.push({ session, seq: log.length + 1, word: "kiwi" });
    },
);

const deletion = session.map(
  (session): Step =>
    async (store, model) => {
      await store.delete(session);
      model.log = model.log.filter((event) => event.session !== session);
    },
);

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: append },
    { weight: 3, arbitrary: read },
    { weight: 2, arbitrary: readAll },
    { weight: 2, arbitrary: search },
    { weight: 1, arbitrary: checkpoint },
    { weight: 1, arbitrary: redaction },
    { weight: 1, arbitrary: deletion },
  ),
  { minLength: 1, maxLength: 40 },
);

test("an ephemeral event store agrees with an array, whatever is done to it", async () => {
  await agree(200, async () => new EphemeralEventStore());
});

test("a SQLite event store agrees with an array, whatever is done to it", async () => {
  const folder = await temporaryFolder();
  const database = openDatabase({ path: join(folder, "rkat.db") });
  onTestFinished(() => database.close());
  let run = 0;
  // A namespace for each run is a store of its own, and proves that nothing crosses it.
  await agree(60, async () => new SqliteEventStore(database, { namespace: `run ${++run}` }));
});

async function agree(numRuns: number, open: () => Promise<EventStore>): Promise<void> {
  const property = fc.asyncProperty(steps, async (steps) => {
    const store = await open();
    const model: Model = { log: [], checkpoints: new Map() };
    for (const step of steps) await step(store, model);
  });
  await fc.assert(property, { numRuns });
}

function logOf(model: Model, session: string) {
  return model.log.filter((event) => event.session === session);
}

function said(word: string): NewEvent {
  const event = { type: "run_started", session_id: "s", prompt: word } as const;
  return { event_id: "e", timestamp_ms: 1, event };
}
