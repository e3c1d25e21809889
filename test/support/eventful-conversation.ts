import { type EventEnvelope, isTransient } from "../../src/core/event.ts";
import type { SessionService } from "../../src/index.ts";
import { BUILDS, type ServiceSetup } from "../../src/testing.ts";

const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);
const call = (id: string, name: string, args: unknown) => ({ id, name, args });

/** A model that reasons, calls tools (one of which there is not), breaks off once, and is compacted. */
export const EVENTFUL: ServiceSetup = {
  capabilities: BUILDS.F ?? [],
  compaction: { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1, maxSummaryTokens: 64 },
  replies: [
    { reasoning: "It wants a fox.", text: "Looking.", toolCalls: [call("a", "nothing", { x: 1 })] },
    {
      toolCalls: [
        call("b", "memory_search", { query: "fox" }),
        call("c", "datetime", { time_zone: "Nowhere/Else" }),
        call("d", "update_task", { new_task: "Find the fox.", notes: { camelCase: "kept" } }),
      ],
    },
    { text: "Half an ans", breaksOff: true },
    { text: `No fox. ${LONG}` },
    { text: LONG },
    "A summary of foxes.",
    "done",
  ],
};

/** Only what a person said is kept at compactions. A client of MCP is a model, and a command reads the prompt from a pipe. */
const NO_PERSON = { author: "file" } as const;

/** Has the conversation, and returns what a listener saw of it and what its log says, without what is new each time. */
export async function converse(service: SessionService): Promise<{
  readonly seen: readonly object[];
  readonly logged: readonly object[];
}> {
  const { sessionId } = await service.createSession({ labels: { camelCase: "kept_asItIs" } });
  const seen: EventEnvelope[] = [];
  const onEvent = (event: EventEnvelope) => void seen.push(event);
  for (const prompt of ["find the fox", "again", "and now?"]) {
    await service.startTurn({ sessionId, prompt, origin: NO_PERSON }, { onEvent });
  }
  const last = seen.at(-1)?.seq ?? 0;
  const logged = await eventsOf(service, sessionId, 0, last);
  const bare = (event: EventEnvelope) => withoutNovelty(event, sessionId);
  return { seen: seen.map(bare), logged: logged.map(bare) };
}

/** The durable events after `afterSeq` up to `last`. */
export async function eventsOf(
  service: Pick<SessionService, "subscribe">,
  sessionId: string,
  afterSeq: number,
  last: number,
): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  if (last <= afterSeq) return events;
  for await (const event of service.subscribe({ sessionId, afterSeq })) {
    if (!isTransient(event.payload)) events.push(event);
    if (event.seq >= last) break;
  }
  return events;
}

/** Ids, times and durations are new each time. The author of a prompt is another on each surface. */
function withoutNovelty({ payload, ...event }: EventEnvelope, sessionId: string): object {
  const same = payload.type === "run_started" ? { ...payload, origin: undefined } : payload;
  // A recalled record says when a prompt was said, and its author.
  const ofRecords = payload.type === "memory_recalled" ? ["time", "said_by"] : [];
  const text = JSON.stringify({ ...event, payload: same }, (key, value) =>
    NEW_EACH_TIME.has(key) || ofRecords.includes(key) ? "…" : value,
  );
  return JSON.parse(text.replaceAll(sessionId, "…"));
}

const NEW_EACH_TIME = new Set(["event_id", "timestamp_ms", "duration_ms", "delay_ms"]);
