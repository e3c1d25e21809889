import { type EventEnvelope, isTransient } from "../../core/event.ts";

const encoder = new TextEncoder();
/** Keeps a quiet connection alive. Readers skip it. */
const HEARTBEAT = encoder.encode(": heartbeat\n\n");
/** The bytes of events. All readers of a session are sent the same event, so they share its bytes. */
const named = new WeakMap<EventEnvelope, Uint8Array>();
const unnamed = new WeakMap<EventEnvelope, Uint8Array>();

/** A server-sent event. Deltas get no id, because a client cannot resume after one. */
export function eventFrame(event: EventEnvelope): Uint8Array {
  return once(named, event, () => idLine(event) + frameText(event.payload.type, event));
}

/** The same without a name, for the `onmessage` of an EventSource. It gets no named events. */
export function unnamedEventFrame(event: EventEnvelope): Uint8Array {
  return once(unnamed, event, () => `${idLine(event)}data: ${JSON.stringify(event)}\n\n`);
}

export function frame(event: string, data: unknown): Uint8Array {
  return encoder.encode(frameText(event, data));
}

function frameText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function idLine(event: EventEnvelope): string {
  return isTransient(event.payload) ? "" : `id: ${event.seq}\n`;
}

function once(
  known: WeakMap<EventEnvelope, Uint8Array>,
  event: EventEnvelope,
  text: () => string,
): Uint8Array {
  let bytes = known.get(event);
  if (!bytes) {
    bytes = encoder.encode(text());
    known.set(event, bytes);
  }
  return bytes;
}

export interface StreamOptions {
  /** A heartbeat is sent after this long without an event. */
  readonly heartbeatMs: number;
  /** The stream ends when the reader takes nothing for this long. */
  readonly stallMs: number;
  /** Called when the stream ends, for whatever reason. */
  readonly onEnd: () => void;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response that streams `frames` with backpressure: each is pulled when the reader has room. */
export function streamResponse(
  frames: AsyncIterator<Uint8Array>,
  options: StreamOptions,
): Response {
  const { heartbeatMs, stallMs, onEnd, headers } = options;
  const next = nextOrNothing(frames, heartbeatMs);
  let stalled: NodeJS.Timeout | undefined;
  let isPulled = false;
  const end = () => {
    clearTimeout(stalled);
    next.end();
    onEnd();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stalled = setTimeout(() => {
          if (isPulled) return;
          end();
          controller.enqueue(encoder.encode(`: dropped, nothing was read for ${stallMs} ms\n\n`));
          controller.close();
        }, stallMs).unref();
      },
      async pull(controller) {
        isPulled = true;
        const result = await next.item();
        isPulled = false;
        if (result?.done) {
          end();
          return controller.close();
        }
        controller.enqueue(result ? result.value : HEARTBEAT);
        stalled?.refresh();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      ...headers,
      "content-type": "text/event-stream; charset=utf-8",
      // Without this the Node adapter sends the headers with the first chunk only.
      "transfer-encoding": "chunked",
      "x-accel-buffering": "no",
    },
  });
}

/** `item` is the next item, or undefined when it takes longer than `withinMs`; the next call waits on. */
function nextOrNothing<Item>(items: AsyncIterator<Item>, withinMs: number) {
  let asked = false;
  let ready: IteratorResult<Item> | undefined;
  let wake = () => {};
  // One timer for all items: a busy server has thousands of streams.
  const timer = setTimeout(() => wake(), withinMs).unref();
  const settle = (result: IteratorResult<Item>) => {
    ready = result;
    wake();
  };
  return {
    async item(): Promise<IteratorResult<Item> | undefined> {
      if (!asked) {
        asked = true;
        // The frames report their own failures.
        items.next().then(settle, () => settle({ done: true, value: undefined }));
      }
      if (!ready) {
        timer.refresh();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const result = ready;
      if (result) asked = false;
      ready = undefined;
      return result;
    },
    end: () => clearTimeout(timer),
  };
}
