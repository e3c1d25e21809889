import assert from "node:assert/strict";
import type { DurableEvent, NewEvent } from "../core/event.ts";
import { type EventStore, endingsOf, type PositionedEvent } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import { FORGOTTEN } from "../core/message.ts";
import { historySearchLaws } from "./history-search-laws.ts";
import { durable, expects, type Law, lawsOf } from "./law.ts";

/** The promises of every event store. */
export const eventStoreLaws: readonly Law<EventStore>[] = [
  ...lawsOf<EventStore>({
    "an unknown session reads as empty": async (store) => {
      assert.deepEqual(await seqs(store), []);
      assert.equal(await store.lastSeq("s"), 0);
      assert.deepEqual(await store.readAll(0, 10), []);
    },
    "sequence numbers start at 1 and have no gaps": async (store) => {
      assert.equal(await store.append("s", 0, [turn(0), turn(1)]), 2);
      assert.equal(await store.append("s", 2, [turn(2)]), 3);
      assert.equal(await store.lastSeq("s"), 3);
      assert.deepEqual(await seqs(store), [1, 2, 3]);
    },
    "an event is read as it was appended": async (store) => {
      const args = { text: 'quo"te\n\0 \ud800 🙂', deep: [null, { "": [1.5, true] }], none: {} };
      const events = [
        added({ type: "tool_call_requested", id: "c", name: "shell", args }),
        added({ type: "text_complete", content: "x".repeat(100_000) }),
      ];
      await store.append("s", 0, events);
      assert.deepEqual(
        await Array.fromAsync(store.read("s", 0)),
        events.map((event, index) => ({ ...event, seq: index + 1, schema_version: 1 })),
      );
    },
    "an event that could not be read back is refused, and nothing of its batch is stored": async (
      store,
    ) => {
      const circle: { self?: unknown } = {};
      circle.self = circle;
      const usage = { input_tokens: Number.NaN, output_tokens: 1 };
      const wrong: unknown[] = [
        { type: "turn_completed", stop_reason: "end_turn", usage },
        { type: "turn_completed", stop_reason: "end_turn", usage: { ...usage, input_tokens: "5" } },
        { type: "tool_execution_completed", id: "a", name: "shell", duration_ms: 1 },
        { type: "tool_approval_resolved", approval_id: "a", id: "a", name: "b", by: "user" },
        { type: "message_added", message: { role: "user", content: 5 } },
        { type: "text_complete", content: { toJSON: () => 5 } },
        { type: "tool_call_requested", id: "a", name: "shell", args: circle },
        { type: "tool_call_requested", id: "a", name: "shell", args: 5n },
        { type: 5 },
        null,
      ];
      for (const event of wrong) {
        const batch = [turn(0), { ...turn(1), event: event as DurableEvent }];
        await assert.rejects(store.append("s", 0, batch), { code: "INVALID_PARAMS" });
      }
      for (const broken of [{ event_id: 5 as never }, { timestamp_ms: Number.NaN }]) {
        const batch = [{ ...turn(0), ...broken }];
        await assert.rejects(store.append("s", 0, batch), { code: "INVALID_PARAMS" });
      }
      assert.equal(await store.lastSeq("s"), 0);
      assert.deepEqual(await store.readAll(0, 10), []);
      await store.append("s", 0, [turn(0)]);
    },
    "a read begins after one place and ends at another": async (store) => {
      await store.append("s", 0, [0, 1, 2, 3].map(turn));
      assert.deepEqual(await seqs(store, 1), [2, 3, 4]);
      assert.deepEqual(await seqs(store, 1, 3), [2, 3]);
      assert.deepEqual(await seqs(store, 4), []);
      assert.deepEqual(await seqs(store, 2, 2), []);
    },
    "events of some kinds are read without those between them, and are the same that a read of all gives":
      async (store) => {
        if (!store.readKinds) return;
        const events = Array.from(
          { length: 40 },
          (_, at) => KINDS[at % KINDS.length]?.(at) ?? turn(at),
        );
        await store.append("s", 0, events);
        await store.append("other", 0, events.slice(0, 10));
        const all = await Array.fromAsync(store.read("s", 0));
        const kinds = ["compaction_undone", "memory_recalled"] as const;
        const wanted = all.filter(({ event }) => kinds.some((kind) => kind === event.type));
        expects(wanted.length > 12, "events of two kinds", wanted.length);
        const range = { afterSeq: 0, toSeq: 40, limit: 100 };
        assert.deepEqual(await store.readKinds("s", kinds, range), wanted);
        assert.deepEqual(
          await store.readKinds("s", kinds, { ...range, limit: 5 }),
          wanted.slice(-5),
        );
        const [, second, third] = wanted;
        const within = { ...range, afterSeq: second?.seq ?? 0, toSeq: third?.seq ?? 0 };
        assert.deepEqual(await store.readKinds("s", kinds, within), [third]);
        assert.deepEqual(await store.readKinds("s", [], range), []);
        assert.deepEqual(await store.readKinds("unknown", kinds, range), []);
        const seq = wanted.at(-1)?.seq ?? 0;
        const gone = { type: "memory_recalled", records: [], tokens: 0 } as const;
        const kind = wanted.at(-1)?.event.type;
        expects(kind === "memory_recalled", "a record that came back last", kind);
        await store.redact("s", 40, [{ seq, event: gone }], forgotten([seq]));
        const [last] = await store.readKinds("s", kinds, { ...range, limit: 1 });
        assert.deepEqual(last?.event, gone);
        await store.delete("s");
        assert.deepEqual(await store.readKinds("s", kinds, range), []);
      },
    "turns are counted up to any event": async (store) => {
      if (!store.turnsAt) return;
      await store.append("s", 0, [turn(0), prompt("one"), turn(1), prompt("two"), turn(2)]);
      await store.append("other", 0, [prompt("elsewhere")]);
      const counted = await Promise.all(
        [0, 1, 2, 3, 4, 5, 6].map((seq) => store.turnsAt?.("s", seq)),
      );
      assert.deepEqual(counted, [0, 0, 1, 1, 2, 2, 0]);
      assert.equal(await store.turnsAt("unknown", 1), 0);
    },
    "the events after a position are counted": async (store) => {
      if (!store.backlog) return;
      assert.deepEqual(await store.backlog(0), { events: 0, oldestMs: undefined });
      await store.append("s", 0, [turn(0), prompt("one")]);
      await store.append("other", 0, [prompt("elsewhere")]);
      const [first, second, third] = await store.readAll(0, 10);
      const behind = (one: PositionedEvent | undefined) => store.backlog?.(one?.position ?? 0);
      const from = (events: number, one: PositionedEvent | undefined) => ({
        events,
        oldestMs: one?.stored.timestamp_ms,
      });
      assert.deepEqual(await store.backlog(0), from(3, first));
      assert.deepEqual(await behind(first), from(2, second));
      assert.deepEqual(await behind(third), from(0, undefined));
    },
    "the ends of several logs, and what removes texts behind a place in each, are those that reads of them give":
      async (store) => {
        await store.append("s", 0, [turn(0), prompt("one"), forgotten([2]), prompt("two")]);
        const named = { type: "text_complete", content: '{"type":"text_forgotten"}' } as const;
        await store.append("s", 4, [added(named), forgotten([4])]);
        await store.append("gone", 0, [
          turn(0),
          added({ type: "session_deleted", session_id: "gone" }),
        ]);
        await store.append("other", 0, [prompt("elsewhere")]);
        const seqs = async (places: readonly (readonly [string, number])[]) =>
          (
            await endingsOf(
              store,
              places.map(([sessionId, seq]) => ({ sessionId, seq })),
            )
          ).map(({ last, removals }) => [last, removals.map(({ seq }) => seq)]);
        assert.deepEqual(await seqs([]), []);
        assert.deepEqual(
          await seqs([
            ["other", 0],
            ["s", 0],
            ["unknown", 0],
            ["s", 3],
            ["gone", 1],
            ["gone", 2],
            ["s", 9],
          ]),
          [
            [1, []],
            [6, [3, 6]],
            [0, []],
            [6, [6]],
            [2, [2]],
            [2, []],
            [6, []],
          ],
        );
        const [ending] = await endingsOf(store, [{ sessionId: "s", seq: 5 }]);
        assert.deepEqual(ending?.removals, await Array.fromAsync(store.read("s", 5)));
      },
    "a log of any length is read whole": async (store) => {
      const large = added({ type: "text_complete", content: "many words ".repeat(30_000) });
      await store.append("s", 0, Array<NewEvent>(12).fill(large));
      await store.append(
        "s",
        12,
        Array.from({ length: 1500 }, (_, number) => turn(number)),
      );
      assert.deepEqual(await seqs(store), upTo(1512));
    },
    "a read that is left early leaves nothing open": async (store) => {
      await store.append("s", 0, [0, 1, 2].map(turn));
      for await (const { seq } of store.read("s", 0)) if (seq === 1) break;
      await store.append("s", 3, [turn(3)]);
      await store.delete("s");
      assert.deepEqual(await seqs(store), []);
    },
    "appending nothing changes nothing": async (store) => {
      assert.equal(await store.append("s", 0, []), 0);
      await store.append("s", 0, [turn(0)]);
      assert.equal(await store.append("s", 1, []), 1);
      assert.deepEqual(await seqs(store), [1]);
    },
    "appending after a stale sequence number is refused and stores nothing": async (store) => {
      await store.append("s", 0, [turn(0), turn(1)]);
      for (const stale of [0, 1, 3]) {
        await assert.rejects(store.append("s", stale, [turn(2), turn(3)]), {
          code: "SESSION_CONFLICT",
        });
      }
      assert.deepEqual(await seqs(store), [1, 2]);
    },
    "of two appends racing from the same sequence number, one wins": async (store) => {
      const race = [store.append("s", 0, [turn(0)]), store.append("s", 0, [turn(1)])];
      const outcomes = (await Promise.allSettled(race)).map((outcome) => outcome.status);
      assert.deepEqual(outcomes.sort(), ["fulfilled", "rejected"]);
      assert.deepEqual(await seqs(store), [1]);
    },
    "a batch is stored whole or not at all": async (store) => {
      const writers = upTo(4).map((writer) => writeBatches(store, writer));
      await Promise.all(writers);
      await assertWholeBatches(store);
    },
    "a batch is whole for readers while others write, in other stores on the same data": durable(
      async (open) => {
        const stores = await Promise.all(upTo(4).map(() => open()));
        const reader = stores[0] as EventStore;
        let writing = true;
        const reading = (async () => {
          while (writing) {
            await assertWholeBatches(reader);
            await pause();
          }
        })();
        try {
          await Promise.all(stores.map((store, index) => writeBatches(store, index)));
        } finally {
          writing = false;
          await reading;
        }
        assert.equal(await reader.lastSeq("s"), 4 * 5 * 3);
        await Promise.all(stores.map((store) => store.close()));
      },
    ),
    "sessions do not see each other": async (store) => {
      await store.append("s", 0, [turn(0)]);
      await store.append("s2", 0, [turn(0), turn(1)]);
      await store.append("S", 0, [turn(0), turn(1), turn(2)]);
      assert.deepEqual(await seqs(store), [1]);
      assert.equal(await store.lastSeq("s2"), 2);
    },
    "positions grow with every event of every session, so that a projection can follow all of them":
      async (store) => {
        await store.append("a", 0, [turn(0), turn(1)]);
        await store.append("b", 0, [turn(0)]);
        await store.append("a", 2, [turn(2)]);
        const all = await store.readAll(0, 10);
        assert.deepEqual(
          all.map(({ sessionId, stored }) => [sessionId, stored.seq]),
          [
            ["a", 1],
            ["a", 2],
            ["b", 1],
            ["a", 3],
          ],
        );
        const positions = all.map(({ position }) => position);
        assert.deepEqual(
          positions,
          positions.toSorted((one, other) => one - other),
        );
        assert.equal(new Set(positions).size, 4);
        const page = await store.readAll(positions[0] ?? 0, 2);
        assert.deepEqual(page, all.slice(1, 3));
        assert.deepEqual(all[2]?.stored, (await Array.fromAsync(store.read("b", 0)))[0]);
      },
    "an event says how many turns of its session had begun by then": async (store) => {
      await store.append("a", 0, [turn(0), prompt("one"), turn(1)]);
      await store.append("b", 0, [prompt("another")]);
      await store.append("a", 3, [prompt("two")]);
      const all = await store.readAll(0, 10);
      assert.deepEqual(
        all.map(({ turns }) => turns),
        [0, 1, 1, 1, 2],
      );
    },
    "a position is never used again": async (store) => {
      await store.append("s", 0, [turn(0), turn(1)]);
      const before = await store.readAll(0, 10);
      await store.delete("s");
      await store.append("t", 0, [turn(0)]);
      const [after] = await store.readAll(0, 10);
      const last = before.at(-1)?.position ?? 0;
      expects((after?.position ?? 0) > last, `a position after ${last}`, after?.position);
    },
    "a checkpoint moves forward, or back to the beginning": async (store) => {
      assert.equal(await store.checkpoint("files"), 0);
      await store.saveCheckpoint("files", 7);
      await store.saveCheckpoint("files", 3);
      assert.equal(await store.checkpoint("files"), 7);
      assert.equal(await store.checkpoint("memory"), 0);
      await store.saveCheckpoint("files", 0);
      assert.equal(await store.checkpoint("files"), 0);
    },
    "a deleted session leaves nothing to read or find, and its id can be used again": async (
      store,
    ) => {
      await store.append("s", 0, [prompt("the heliotrope"), turn(0)]);
      await store.append("other", 0, [prompt("a heliotrope of another")]);
      await store.delete("s");
      await store.delete("never was");
      assert.deepEqual(await seqs(store), []);
      assert.equal(await store.lastSeq("s"), 0);
      assert.deepEqual(
        (await store.readAll(0, 10)).map(({ sessionId }) => sessionId),
        ["other"],
      );
      const found = async () => (await store.search({ query: "heliotrope", limit: 9 })).length;
      assert.equal(await found(), 1);
      assert.equal(await store.append("s", 0, [prompt("another heliotrope")]), 1);
      assert.deepEqual(await seqs(store), [1]);
      assert.equal(await found(), 2);
    },
    "when append resolves, a durable store has the batch on disk": durable(async (open) => {
      const before = await open();
      await before.append("s", 0, [prompt("the heliotrope"), turn(0)]);
      await before.saveCheckpoint("files", 2);
      for (const left of ["open", "closed"]) {
        if (left === "closed") await before.close();
        const after = await open();
        assert.deepEqual(await seqs(after), [1, 2]);
        assert.equal(await after.checkpoint("files"), 2);
        assert.equal((await after.search({ query: "heliotrope", limit: 9 })).length, 1);
        await after.close();
      }
    }),
    "several stores on the same data see an append of one of them at once": durable(
      async (open) => {
        const [one, other] = [await open(), await open()];
        await one.append("s", 0, [turn(0)]);
        assert.deepEqual(await seqs(other), [1]);
        await other.append("s", 1, [turn(1)]);
        assert.deepEqual(await seqs(one), [1, 2]);
        await assert.rejects(one.append("s", 1, [turn(2)]), { code: "SESSION_CONFLICT" });
        await one.close();
        await other.close();
      },
    ),
    "a redacted event keeps its place, its id and its time, and only it changes": async (store) => {
      await store.append("s", 0, [prompt("the periwinkle"), turn(0), prompt("a marigold")]);
      await store.append("t", 0, [prompt("the periwinkle of another")]);
      const before = await store.readAll(0, 10);
      const told = forgotten([1]);
      assert.equal(await store.redact("s", 3, [{ seq: 1, event: prompt("gone").event }], told), 4);
      const after = await store.readAll(0, 10);
      assert.deepEqual(after.slice(1, 4), before.slice(1));
      const [first] = before;
      expects(first, "a first event", after);
      assert.deepEqual(after[0], {
        ...first,
        stored: { ...first.stored, event: prompt("gone").event },
      });
      assert.deepEqual(after[4]?.stored, { ...told, seq: 4, schema_version: 1 });
      assert.deepEqual(await Array.fromAsync(store.read("s", 0, 1)), [after[0]?.stored]);
    },
    "the old text of a redacted event is found no more, and its new text is": async (store) => {
      await store.append("s", 0, [prompt("the periwinkle"), prompt("another periwinkle")]);
      await store.redact("s", 2, [{ seq: 1, event: prompt("a marigold").event }], forgotten([1]));
      const found = async (query: string) =>
        (await store.search({ query, limit: 9 })).map(({ seq }) => seq);
      assert.deepEqual(await found("periwinkle"), [2]);
      assert.deepEqual(await found("marigold"), [1]);
      await store.redact("s", 3, [{ seq: 2, event: prompt(FORGOTTEN).event }], forgotten([2]));
      assert.deepEqual(await found("periwinkle"), []);
      assert.deepEqual(await found("forgotten"), []);
    },
    "a redaction is done whole or not at all": async (store) => {
      await store.append("s", 0, [prompt("the periwinkle"), turn(0)]);
      const before = await store.readAll(0, 10);
      const good = { seq: 1, event: prompt("gone").event };
      const refused = [
        store.redact("s", 1, [good], forgotten([1])),
        store.redact("s", 2, [good, { seq: 2, event: good.event }], forgotten([1, 2])),
        store.redact("s", 2, [good, { seq: 9, event: good.event }], forgotten([1, 9])),
        store.redact("nobody", 0, [good], forgotten([1])),
      ];
      await Promise.all(
        refused.map((redaction) => assert.rejects(redaction, { code: "SESSION_CONFLICT" })),
      );
      assert.deepEqual(await store.readAll(0, 10), before);
      assert.equal(await store.lastSeq("nobody"), 0);
    },
    "several stores on the same data see a redaction of one of them at once": durable(
      async (open) => {
        const [one, other] = [await open(), await open()];
        await one.append("s", 0, [prompt("the periwinkle")]);
        await other.redact("s", 1, [{ seq: 1, event: prompt("gone").event }], forgotten([1]));
        assert.deepEqual(await one.search({ query: "periwinkle", limit: 9 }), []);
        assert.deepEqual(await seqs(one), [1, 2]);
        await assert.rejects(one.append("s", 1, [turn(0)]), { code: "SESSION_CONFLICT" });
        await one.close();
        await other.close();
      },
    ),
  }),
  ...historySearchLaws,
];

function added(event: DurableEvent): NewEvent {
  return { event_id: newId(), timestamp_ms: 1_700_000_000_000, event };
}

function turn(turn_number: number): NewEvent {
  return added({ type: "turn_started", turn_number });
}

/** Events of a log, some of them of kinds that are found without the others. */
const KINDS: readonly ((at: number) => NewEvent)[] = [
  turn,
  (at) => added({ type: "compaction_undone", undone: at }),
  (at) => prompt(`{"type":"memory_recalled" ${at}`),
  (at) => {
    const record = { id: `${at}`, turn: 0, said_by: "user", text: "Ships.", score: 1 };
    return added({ tokens: at, records: [record], type: "memory_recalled" });
  },
];

function forgotten(events: readonly number[]): NewEvent {
  return added({ type: "text_forgotten", messages: events, events });
}

function prompt(text: string): NewEvent {
  return added({ type: "run_started", session_id: "s", prompt: text });
}

async function seqs(store: EventStore, afterSeq = 0, toSeq?: number): Promise<number[]> {
  return (await Array.fromAsync(store.read("s", afterSeq, toSeq))).map((stored) => stored.seq);
}

/** Appends five batches of three to one session, as one of several writers. */
async function writeBatches(store: EventStore, writer: number): Promise<void> {
  for (let batch = 0; batch < 5; ) {
    const name = `${writer}/${batch}`;
    const events = [0, 1, 2].map((part) => prompt(`${name}/${part}`));
    try {
      await store.append("s", await store.lastSeq("s"), events);
      batch += 1;
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, "SESSION_CONFLICT");
    }
  }
}

async function assertWholeBatches(store: EventStore): Promise<void> {
  const texts = (await Array.fromAsync(store.read("s", 0))).map(({ event }) =>
    event.type === "run_started" ? event.prompt : "",
  );
  assert.equal(texts.length % 3, 0);
  for (const [index, text] of texts.entries()) {
    expects(text.endsWith(`/${index % 3}`), `a text that ends in /${index % 3}`, text);
  }
  assert.equal(new Set(texts).size, texts.length);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
