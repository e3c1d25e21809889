import assert from "node:assert/strict";
import { SessionError } from "../core/errors.ts";
import type { NewEvent } from "../core/event.ts";
import { newId } from "../core/ids.ts";
import type { ImportBatch, ImportedFile } from "../core/import-store.ts";
import { SessionState } from "../core/session-state.ts";
import type { Stores } from "../core/stores.ts";
import { durable, type Law, lawsOf } from "./law.ts";

/** An import store writes to the logs and snapshots beside it. */
export type StoresOfImports = Pick<Stores, "events" | "imports" | "sessions">;

/** The promises of every import store. A law that opens twice expects two stores on the same data. */
export const importStoreLaws: readonly Law<StoresOfImports>[] = lawsOf({
  "a commit is in the log, in the session's snapshot and among the known messages": async (
    stores,
  ) => {
    const [batch, next] = batchesOf("a", 2);
    const before = await lastPosition(stores);
    const position = await stores.imports.commit([batch]);
    const [event] = await Array.fromAsync(stores.events.read("a", 0));
    assert.equal(event?.event_id, batch.events[0]?.event_id);
    assert.deepEqual(await stores.sessions.load("a"), batch.snapshot);
    assert.deepEqual(await stores.imports.known(["a-0", "a-1"]), new Set(["a-0"]));
    if (position !== undefined) {
      const [stored] = await stores.events.readAll(before, 1);
      assert.equal(position, stored?.position);
    }
    await stores.imports.commit([next]);
    assert.equal(await stores.events.lastSeq("a"), 2);
  },
  "a commit is stored whole or not at all, in the log too": async (stores) => {
    const [first, second] = batchesOf("b", 2);
    await stores.imports.commit([first]);
    const [other] = batchesOf("a", 1);
    const stale = { ...second, lastSeq: 0 };
    await refused(stores.imports.commit([other, stale], new Map([["one.jsonl", FILE]])));
    assert.equal(await stores.events.lastSeq("a"), 0);
    assert.equal(await stores.events.lastSeq("b"), 1);
    assert.equal(await stores.sessions.load("a"), undefined);
    assert.deepEqual(await stores.imports.known(["a-0", "b-0", "b-1"]), new Set(["b-0"]));
    assert.deepEqual(await stores.imports.files(), new Map());
  },
  "a message is stored once: a batch with one that is known is refused": async (stores) => {
    const [first, second] = batchesOf("a", 2);
    await stores.imports.commit([first]);
    await refused(stores.imports.commit([{ ...second, ids: ["new", "a-0"] }]));
    const [copy] = batchesOf("b", 1);
    await refused(stores.imports.commit([{ ...copy, ids: ["a-0"] }]));
    assert.deepEqual(await stores.imports.known(["a-0", "new"]), new Set(["a-0"]));
    assert.equal(await stores.events.lastSeq("a"), 1);
    assert.equal(await stores.events.lastSeq("b"), 0);
  },
  "commits are done in the order in which they are asked for, also when none waits for the one before":
    async ({ events, imports }) => {
      const before = await lastPosition({ events });
      const batches = batchesOf("a", 9);
      const positions = await Promise.all(batches.map((batch) => imports.commit([batch])));
      const stored = await events.readAll(before, 100);
      const asked = batches.flatMap((batch) => batch.events.map(({ event_id }) => event_id));
      assert.deepEqual(
        stored.map(({ stored: { event_id } }) => event_id),
        asked,
      );
      for (const [at, position] of positions.entries()) {
        if (position !== undefined) assert.equal(position, stored[at]?.position);
      }
    },
  "what was imported stays known after its session is deleted": async ({
    events,
    imports,
    sessions,
  }) => {
    const [batch] = batchesOf("a", 1);
    await imports.commit([batch]);
    await events.delete("a");
    await sessions.delete("a");
    assert.deepEqual(await imports.known(["a-0"]), new Set(["a-0"]));
    await refused(imports.commit([batch]));
  },
  "the state of a file is read as it was saved, and a later one takes its place": async ({
    imports,
  }) => {
    const grown = { ...FILE, stamp: "2", messages: 4, subagents: true as const };
    await imports.commit([], new Map(Object.entries({ "one.jsonl": FILE, "Zwei ü.jsonl": FILE })));
    await imports.commit([], new Map([["one.jsonl", grown]]));
    const saved = new Map([...(await imports.files())].sort());
    assert.deepEqual(saved, new Map(Object.entries({ "Zwei ü.jsonl": FILE, "one.jsonl": grown })));
  },
  "another process knows what was imported, and is refused to import it again": durable(
    async (open) => {
      const here = await open();
      const there = await open();
      const [batch] = batchesOf("a", 1);
      await here.imports.commit([batch], new Map([["one.jsonl", FILE]]));
      assert.deepEqual(await there.imports.known(["a-0"]), new Set(["a-0"]));
      assert.deepEqual(await there.imports.files(), new Map([["one.jsonl", FILE]]));
      await refused(there.imports.commit([batch]));
    },
  ),
});

const FILE: ImportedFile = {
  agent: "codex",
  stamp: "1",
  sessions: 1,
  messages: 3,
  places: ["/a b/rkat.db"],
  readOn: { offset: 900, line: 7, messages: 3, hash: "c0ffee", state: { nested: [1, null] } },
};

/** Batches of one event each. The messages have the ids `a-0`, `a-1`, … */
function batchesOf(sessionId: string, count: number): [ImportBatch, ImportBatch, ...ImportBatch[]] {
  const state = new SessionState(sessionId);
  const settings = { model: "none", memory: true, labels: {} };
  const all = Array.from({ length: Math.max(count, 2) }, (_, at): ImportBatch => {
    const event: NewEvent = {
      event_id: newId(),
      timestamp_ms: at,
      event:
        at === 0
          ? { type: "session_created", session_id: sessionId, settings }
          : { type: "message_added", message: { role: "user", content: `${at}` } },
    };
    state.apply({ ...event, seq: at + 1, schema_version: 1 });
    const ids = [`${sessionId}-${at}`];
    return { sessionId, lastSeq: at, events: [event], snapshot: state.snapshot(), ids };
  });
  return all as [ImportBatch, ImportBatch, ...ImportBatch[]];
}

/** The end of the log of all sessions: other laws may have left something there. */
async function lastPosition({ events }: Pick<StoresOfImports, "events">): Promise<number> {
  for (let last = 0; ; ) {
    const next = (await events.readAll(last, 1000)).at(-1);
    if (!next) return last;
    last = next.position;
  }
}

async function refused(commit: Promise<unknown>): Promise<void> {
  await assert.rejects(commit, (error) => {
    return SessionError.is(error) && error.code === "SESSION_CONFLICT";
  });
}
