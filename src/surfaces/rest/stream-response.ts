import { HEARTBEAT } from "./event-frames.ts";

export interface StreamOptions {
  /** How long the stream is silent at the most. */
  readonly heartbeatMs: number;
  /** How long the reader may take nothing. */
  readonly stallMs: number;
  /** Called once, when the last frame was taken or nobody takes the next. */
  readonly onEnd: () => void;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Frames as a response that goes as fast as its reader: the next frame is asked
 * for when there is room for it.
 */
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
      // Set here, so that the Node adapter does not wait for a first chunk before the headers go out.
      "transfer-encoding": "chunked",
      "x-accel-buffering": "no",
    },
  });
}

/** Asks for the next one; says nothing when it takes longer than that, and goes on waiting for it. */
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
      // Streams tell of their failures themselves; past that there is only the end.
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
