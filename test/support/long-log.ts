import type { DurableEvent, NewEvent } from "../../src/core/event.ts";
import { newId } from "../../src/core/ids.ts";
import { SessionState } from "../../src/core/session-state.ts";
import { createSessionService } from "../../src/index.ts";
import type { Stores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";

/** Turns between two compactions, and those that each one keeps. */
const [TURNS_APART, KEPT] = [200, 3];

/** A session of `turns` turns of two messages, in a store, with compactions and records of memory; and the session's log. */
export async function longSession(stores: Stores, turns: number) {
  const service = createSessionService({ model: scriptedModel(() => "Noted."), stores });
  const { sessionId } = await service.createSession({ memory: false });
  await service.close();
  const events: NewEvent[] = [];
  const state = await SessionState.fold(sessionId, (after, to) =>
    stores.events.read(sessionId, after, to),
  );
  const { seq } = state;
  for (const [index, stored] of longLog(turns).entries()) {
    const { event } = stored;
    const isCompaction = event.type === "compaction_completed" && state.before;
    const said = isCompaction ? { ...stored, event: { ...event, before: state.before } } : stored;
    events.push(said);
    state.apply({ ...said, seq: seq + 1 + index, schema_version: 1 });
  }
  const batch = { sessionId, lastSeq: seq, events, snapshot: state.snapshot(), ids: [] };
  await stores.imports?.commit([batch]);
  return { sessionId, lastSeq: seq + events.length };
}

function longLog(turns: number): readonly NewEvent[] {
  const all: NewEvent[] = [];
  const add = (event: DurableEvent) =>
    all.push({ event_id: newId(), timestamp_ms: 1_700_000_000_000 + all.length, event });
  // The first event has number 2.
  const next = () => all.length + 2;
  const begins: number[] = [];
  let from = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    begins.push(next());
    add({ type: "run_started", session_id: "s", prompt: `Ship ${turn}?` });
    add({ type: "turn_started", turn_number: 1 });
    add({ type: "text_complete", content: `Ship ${turn} is in the harbour.` });
    add({
      type: "turn_completed",
      stop_reason: "end_turn",
      usage: usage(1000 + turn),
      model: "openai/gpt-5",
    });
    if (turn % 100 === 50) {
      const record = { id: "other:3", turn: 0, said_by: "user", text: "Ships.", score: 1 };
      add({ type: "memory_recalled", records: [record], tokens: 20 });
    }
    if (turn % TURNS_APART !== TURNS_APART - 1) continue;
    const kept = begins[turn + 1 - KEPT] ?? 0;
    const discarded = [{ from: begins[from] ?? 0, to: kept - 1, turns_before: from }];
    const messages = 2 * (turn + 1 - KEPT - from);
    from = turn + 1 - KEPT;
    add(
      compacted({
        discarded,
        discarded_messages: messages,
        summary: `They spoke of ${turn} ships.`,
      }),
    );
  }
  return all;
}

function usage(input: number) {
  return {
    input_tokens: input,
    output_tokens: 5,
    cache_read_tokens: input % 7 === 0 ? null : input - 900,
    cache_creation_tokens: null,
  };
}

type Compacted = Extract<DurableEvent, { type: "compaction_completed" }>;

function compacted(
  what: Pick<Compacted, "discarded" | "discarded_messages" | "summary">,
): Compacted {
  return {
    type: "compaction_completed",
    summary_tokens: 10,
    messages_before: 400,
    messages_after: 7,
    tokens_before: 5000,
    tokens_after: 200,
    pruned: [],
    summarised_by: "model",
    usage: usage(4000),
    model: "openai/gpt-5-mini",
    rewritten_tokens: 100,
    ...what,
  };
}
