import { HEARTBEAT } from "./event-frames.ts";

export interface StreamOptions {
  /** How long the stream is silent at the most. */
  readonly heartbeatMs: number;
  /** Called once, when the last frame was taken or the reader left. */
  readonly onEnd: () => void;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Frames as a response that is read as fast as its reader takes them: the next
 * one is asked for when there is room for it.
 */
export function streamResponse(frames: AsyncIterator<string>, options: StreamOptions): Response {
  const { heartbeatMs, onEnd, headers } = options;
  const encoder = new TextEncoder();
  let asked = false;
  let ready: IteratorResult<string> | undefined;
  let wake = () => {};
  const ask = () => {
    asked = true;
    const settle = (result: IteratorResult<string>) => {
      ready = result;
      wake();
    };
    // Frames tell of their failures themselves; past that there is only the end.
    frames.next().then(settle, () => settle({ done: true, value: undefined }));
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!asked) ask();
        if (!ready) {
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, heartbeatMs);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
        if (!ready) return controller.enqueue(encoder.encode(HEARTBEAT));
        const { done, value } = ready;
        ready = undefined;
        asked = false;
        if (!done) return controller.enqueue(encoder.encode(value));
        onEnd();
        controller.close();
      },
      cancel() {
        wake();
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
