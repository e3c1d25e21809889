import { z } from "zod";
import { SessionError } from "../../core/errors.ts";
import { type EventEnvelope, isTransient } from "../../core/event.ts";
import { joinSignals } from "../../core/join-signals.ts";
import { parseRequest } from "../../core/operations/operation.ts";
import { sessionRequest } from "../../core/operations/request-fields.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorToWire, fromWire } from "../../core/wire.ts";

const LIMIT_DEFAULT = 100;
/** Bytes of the events of one result, as JSON. */
const BYTES_MAX = 256 * 1024;
/** How long a result waits for more events after the last known one. */
const TOGETHER_MS = 20;

const request = sessionRequest.extend({
  afterSeq: z.int().min(0).optional(),
  limit: z.int().min(1).max(1000).optional(),
  waitMs: z.int().min(0).max(60_000).optional(),
  follow: z.boolean().optional(),
});

const envelope = z.looseObject({
  event_id: z.string(),
  source_id: z.string(),
  seq: z.int(),
  timestamp_ms: z.number(),
  payload: z.looseObject({ type: z.string() }),
});

/** The tool for `SessionService.subscribe`. A tool call has one result, so this one returns pages. */
export const SESSION_EVENTS = {
  description:
    "Read the events of a session's log after a place in it, and optionally wait for new ones. Pass the seq of the result as after_seq of the next call. Then every event comes exactly once, in order. It needs the capability session-store.",
  tool: "session_events",
  request,
  result: z.object({
    events: z.array(envelope),
    /** The `after_seq` of the next call. */
    seq: z.int(),
    /** The log has more events already. */
    more: z.boolean(),
  }),
  effect: "reads",
  needs: "session-store",
} as const;

export interface EventReader {
  readonly signal: AbortSignal;
  /** Called when a subscription is open. Every event after `afterSeq` will come. */
  onOpen(afterSeq: number): void;
  /** Resolves when the reader is ready for more. */
  send(event: EventEnvelope): Promise<void>;
}

/**
 * Returns a page of a session's log, which needs the capability `session-store`. With `follow` it
 * sends events to the reader instead, until the call is cancelled.
 *
 * @throws SessionError, with the wire's names.
 */
export async function sessionEvents(
  service: Pick<SessionService, "subscribe" | "capabilities">,
  params: unknown,
  reader: EventReader,
): Promise<Record<string, unknown>> {
  try {
    const asked = parseRequest(request, fromWire(request, params ?? {}));
    if (asked.follow) return await follow(service, asked, reader);
    const capabilities = await service.capabilities();
    if (!capabilities.includes("session-store")) {
      throw new SessionError("SESSION_PERSISTENCE_DISABLED");
    }
    return await page(service, asked, reader);
  } catch (error) {
    throw errorToWire(request, SessionError.from(error));
  }
}

interface Asked {
  readonly sessionId: string;
  readonly afterSeq?: number;
  readonly limit?: number;
  readonly waitMs?: number;
}

async function follow(
  service: Pick<SessionService, "subscribe">,
  { sessionId, afterSeq }: Asked,
  { signal, onOpen, send }: EventReader,
) {
  let seq = afterSeq ?? 0;
  const asked = { sessionId, ...(afterSeq === undefined ? {} : { afterSeq }) };
  for await (const event of service.subscribe(asked, { signal, onOpen })) {
    await send(event);
    seq = event.seq;
  }
  return { events: [], seq, more: false };
}

async function page(
  service: Pick<SessionService, "subscribe">,
  { sessionId, afterSeq = 0, limit = LIMIT_DEFAULT, waitMs = 0 }: Asked,
  { signal }: EventReader,
) {
  const end = await endOfLog(service, sessionId);
  const stop = new AbortController();
  const stopAfter = (ms: number) => setTimeout(() => stop.abort(), ms);
  // Events that are known to be in the log are awaited without a timeout.
  let timer = end > afterSeq ? undefined : stopAfter(waitMs);
  const events: EventEnvelope[] = [];
  let bytes = 0;
  let more = false;
  const stopped = joinSignals([signal, stop.signal]);
  try {
    for await (const event of service.subscribe(
      { sessionId, afterSeq },
      { signal: stopped.signal },
    )) {
      if (isTransient(event.payload)) continue;
      bytes += JSON.stringify(event).length;
      more = events.length === limit || (events.length > 0 && bytes > BYTES_MAX);
      if (more) break;
      events.push(event);
      if (event.seq < end) continue;
      clearTimeout(timer);
      timer = stopAfter(TOGETHER_MS);
    }
  } finally {
    clearTimeout(timer);
    stopped.release();
  }
  return { events, seq: events.at(-1)?.seq ?? afterSeq, more };
}

/** The last `seq` of the log. */
async function endOfLog(service: Pick<SessionService, "subscribe">, sessionId: string) {
  const stop = new AbortController();
  let end = 0;
  const onOpen = (afterSeq: number) => {
    end = afterSeq;
    stop.abort();
  };
  for await (const _ of service.subscribe({ sessionId }, { signal: stop.signal, onOpen })) break;
  return end;
}
