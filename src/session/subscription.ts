import { type EventEnvelope, isTransient, passing } from "../core/event.ts";
import type { ReaderQueues } from "../core/reader-queues.ts";
import type { LiveSession } from "./live-sessions.ts";

/** How often to look in the log for events of other processes. */
const POLL_MS = 500;

/** The readers that wait. They wake together, so that those of one session share what they read. */
class Polls {
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  add(wake: () => void): void {
    this.#waiting.add(wake);
    this.#timer ??= setInterval(() => {
      for (const each of this.#waiting) each();
    }, POLL_MS);
  }

  delete(wake: () => void): void {
    this.#waiting.delete(wake);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const polls = new Polls();

/**
 * The events of a session after `afterSeq`: first those in the log, then new ones of all processes.
 * Each durable event comes exactly once and in order, however slow the reader is. A reader that is
 * too slow misses deltas, and `stream_truncated` says how many. It stops at once when `signal` aborts, and at the end
 * of what there is when `ended` does.
 */
export async function* subscription(
  session: LiveSession,
  afterSeq: number,
  queues: ReaderQueues,
  { signal, ended }: { readonly signal: AbortSignal; readonly ended: AbortSignal },
): AsyncIterable<EventEnvelope> {
  const { id } = session.state;
  let last = afterSeq;
  let dropped = 0;
  let wake = (_polled: boolean) => {};
  const onPoll = () => wake(true);
  // Whether the log may have more: at first, after a gap, and after each poll interval.
  let behind = true;
  const waiting = queues.open((deltas) => {
    dropped += deltas;
    behind = true;
  });
  /** Events from the log. They can be read again. */
  const page = queues.open(() => {
    behind = true;
  });
  const stop = session.listen((event) => {
    waiting.push(event);
    wake(false);
  });
  const unwatch = session.watch(() => {
    behind = true;
    wake(true);
  });
  const onEnd = () => wake(false);
  const leave = () => {
    ended.removeEventListener("abort", onEnd);
    stop();
    unwatch();
    waiting.clear();
    page.clear();
  };
  // The reader may never ask again, so nothing waits for it to do so.
  const onAbort = () => {
    leave();
    wake(false);
  };
  signal.addEventListener("abort", onAbort);
  ended.addEventListener("abort", onEnd);
  try {
    while (!signal.aborted) {
      if (behind) {
        behind = false;
        for (let more = true; more; ) {
          more = false;
          for (const event of await session.page(last, queues)) {
            if (signal.aborted || !page.fits(event)) break;
            page.push(event);
          }
          for (let event = page.shift(); event; event = page.shift()) {
            if (signal.aborted) return;
            // Stop before the waiting events, or their deltas would come too late.
            more = event.seq <= precededBy(waiting.first);
            if (!more) break;
            last = event.seq;
            yield event;
          }
          page.clear();
        }
      }
      while (!behind) {
        const event = waiting.shift();
        if (!event) break;
        const { seq, payload } = event;
        if (isTransient(payload) && seq !== last) {
          dropped += 1;
          continue;
        }
        if (seq > last + 1) behind = true;
        else if (isTransient(payload) || seq === last + 1) {
          if (dropped > 0) {
            yield passing(id, last, { type: "stream_truncated", dropped });
            dropped = 0;
          }
          last = seq;
          yield event;
        }
      }
      if (behind || waiting.length > 0 || signal.aborted) continue;
      if (ended.aborted) return;
      polls.add(onPoll);
      behind = await new Promise<boolean>((resolve) => {
        wake = resolve;
      });
      polls.delete(onPoll);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    leave();
  }
}

/**
 * The items of what `open` returns, which is called for the first item. Unlike a generator with
 * `yield*`, it keeps no item while it waits for the next.
 */
export function openedLazily<Item>(open: () => Promise<AsyncIterable<Item>>): AsyncIterable<Item> {
  return {
    [Symbol.asyncIterator]() {
      let items: AsyncIterator<Item> | undefined;
      let opening: Promise<AsyncIterator<Item>> | undefined;
      let ended = false;
      const opened = async () => {
        opening ??= open().then((opened) => opened[Symbol.asyncIterator]());
        items = await opening;
        return items;
      };
      return {
        next() {
          if (ended) return Promise.resolve({ done: true, value: undefined });
          return items ? items.next() : opened().then((first) => first.next());
        },
        async return() {
          ended = true;
          // A failed opening was an error of `next`.
          await (await opening?.catch(() => undefined))?.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** The last durable event that comes before this one. */
function precededBy(event: EventEnvelope | undefined): number {
  if (!event) return Number.POSITIVE_INFINITY;
  return isTransient(event.payload) ? event.seq : event.seq - 1;
}
