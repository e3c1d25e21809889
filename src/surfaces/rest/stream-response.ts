import { type EventEnvelope, isTransient } from "../../core/event.ts";

/** Keeps a quiet connection alive. Readers skip it. */
const HEARTBEAT = ": heartbeat\n\n";

/** A server-sent event. Deltas get no id, because a client cannot resume after one. */
export function eventFrame(event: EventEnvelope): string {
  return idLine(event) + frame(event.payload.type, event);
}

/** The same without a name, for the `onmessage` of an EventSource. It gets no named events. */
export function unnamedEventFrame(event: EventEnvelope): string {
  return `${idLine(event)}data: ${JSON.stringify(event)}\n\n`;
}

function idLine(event: EventEnvelope): string {
  return isTransient(event.payload) ? "" : `id: ${event.seq}\n`;
}

export function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
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
export function streamResponse(frames: AsyncIterator<string>, options: StreamOptions): Response {
  const { heartbeatMs, stallMs, onEnd, headers } = options;
  const encoder = new TextEncoder();
  const next = nextOrNothing(frames, heartbeatMs);
  let stalled: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stalled);
        const result = await next();
        if (result?.done) {
          onEnd();
          return controller.close();
        }
        controller.enqueue(encoder.encode(result ? result.value : HEARTBEAT));
        stalled = setTimeout(() => {
          onEnd();
          controller.enqueue(encoder.encode(`: dropped, nothing was read for ${stallMs} ms\n\n`));
          controller.close();
        }, stallMs).unref();
      },
      cancel() {
        clearTimeout(stalled);
        onEnd();
      },
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

/** Returns the next item, or undefined when it takes longer than `withinMs`; the next call waits on. */
function nextOrNothing<Item>(items: AsyncIterator<Item>, withinMs: number) {
  let asked = false;
  let ready: IteratorResult<Item> | undefined;
  let wake = () => {};
  const settle = (result: IteratorResult<Item>) => {
    ready = result;
    wake();
  };
  return async (): Promise<IteratorResult<Item> | undefined> => {
    if (!asked) {
      asked = true;
      // The frames report their own failures.
      items.next().then(settle, () => settle({ done: true, value: undefined }));
    }
    if (!ready) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs).unref();
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const result = ready;
    if (result) asked = false;
    ready = undefined;
    return result;
  };
}
