import { type EventEnvelope, envelope, isTransient, type StoredEvent } from "../core/event.ts";
import type { LiveSession } from "./live-session.ts";

/** How often the log is looked at for what other processes appended. */
const POLL_MS = 500;

/** Live events that wait for a slow reader; past that it reads the log, and misses deltas only. */
const WAITING_MAX = 10_000;

/**
 * The events of a session after `afterSeq`: first those in the log, then new
 * ones as they happen, from whichever process. Durable events come exactly
 * once and in order, however slow the reader is; deltas only while it keeps up.
 */
export async function* subscription(
  session: LiveSession,
  afterSeq: number,
  read: (afterSeq: number) => AsyncIterable<StoredEvent>,
  signal: AbortSignal,
): AsyncIterable<EventEnvelope> {
  let last = afterSeq;
  let waiting: EventEnvelope[] = [];
  let wake = () => {};
  // Whether the log may have what did not come by: at first, after a gap, and every now and then.
  let behind = true;
  const stop = session.listen((event) => {
    if (waiting.length >= WAITING_MAX) {
      waiting = [];
      behind = true;
    }
    waiting.push(event);
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    while (!signal.aborted) {
      if (behind) {
        behind = false;
        for await (const stored of read(last)) {
          if (signal.aborted) return;
          last = stored.seq;
          yield envelope(session.state.id, stored);
        }
      }
      for (const event of waiting.splice(0)) {
        if (isTransient(event.payload)) {
          if (event.seq === last) yield event;
        } else if (event.seq === last + 1) {
          last = event.seq;
          yield event;
        } else if (event.seq > last) {
          behind = true;
          break;
        }
      }
      if (behind || waiting.length > 0 || signal.aborted) continue;
      behind = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), POLL_MS);
        wake = () => {
          clearTimeout(timer);
          resolve(false);
        };
      });
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop();
  }
}
