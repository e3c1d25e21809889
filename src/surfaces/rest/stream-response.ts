import type { UnderlyingSource } from "node:stream/web";
import { type EventEnvelope, isTransient } from "../../core/event.ts";
import { shuttingDown } from "../http/error-response.ts";
import { FairShare, type Holder } from "../http/fair-share.ts";

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

interface StreamOptions {
  /** A heartbeat is sent after this long without an event. */
  readonly heartbeatMs: number;
  /** The stream ends when the reader takes nothing for this long. */
  readonly stallMs: number;
  /** Called when the stream ends, for whatever reason. */
  readonly onEnd: () => void;
  /** Sent before the frames. */
  readonly opening?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response that streams `frames` with backpressure: each is asked for when the reader has room. */
export function streamResponse(
  frames: AsyncIterator<Uint8Array>,
  options: StreamOptions,
): Response {
  return new Response(new ReadableStream(new FrameSource(frames, options), { highWaterMark: 0 }), {
    headers: {
      ...options.headers,
      "content-type": "text/event-stream; charset=utf-8",
      // Without this the Node adapter sends the headers with the first chunk only.
      "transfer-encoding": "chunked",
      "x-accel-buffering": "no",
    },
  });
}

/** A server has thousands of streams, and most of them wait. So a stream that waits keeps one promise. */
class FrameSource implements UnderlyingSource<Uint8Array> {
  readonly #frames: AsyncIterator<Uint8Array>;
  readonly #options: StreamOptions;
  /** The reader has room. */
  #isPulled = false;
  /** The next frame is asked for. */
  #isAsked = false;
  /** The next frame, which came when the reader had no room. */
  #ready: IteratorResult<Uint8Array> | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #stalled: NodeJS.Timeout;

  constructor(frames: AsyncIterator<Uint8Array>, options: StreamOptions) {
    this.#frames = frames;
    this.#options = options;
    if (options.opening) this.#ready = { value: options.opening };
    this.#heartbeat = setTimeout(() => this.#send(HEARTBEAT), options.heartbeatMs).unref();
    this.#stalled = setTimeout(() => this.#drop(), options.stallMs).unref();
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  pull(): void {
    this.#isPulled = true;
    if (this.#ready) {
      this.#give(this.#ready);
      return;
    }
    this.#heartbeat.refresh();
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#frames.next().then(this.#give, this.#fail);
  }

  cancel(): void {
    this.#isPulled = false;
    this.#end();
  }

  readonly #give = (next: IteratorResult<Uint8Array>): void => {
    this.#ready = next;
    if (!this.#isPulled) return;
    this.#isAsked = false;
    this.#ready = undefined;
    if (next.done) {
      this.#end();
      this.#controller?.close();
    } else this.#send(next.value);
  };

  /** The frames report their own failures. */
  readonly #fail = (): void => this.#give({ done: true, value: undefined });

  #send(bytes: Uint8Array): void {
    if (!this.#isPulled) return;
    this.#isPulled = false;
    this.#stalled.refresh();
    this.#controller?.enqueue(bytes);
  }

  #drop(): void {
    if (this.#isPulled) return;
    this.#end();
    const { stallMs } = this.#options;
    this.#controller?.enqueue(encoder.encode(`: dropped, nothing was read for ${stallMs} ms\n\n`));
    this.#controller?.close();
  }

  #end(): void {
    clearTimeout(this.#heartbeat);
    clearTimeout(this.#stalled);
    this.#options.onEnd();
  }
}

/** One open event stream. */
export interface OpenStream {
  readonly signal: AbortSignal;
  /** True when the server ended it, not the reader. */
  readonly endedHere: boolean;
  close(): void;
}

/** All open event streams, to limit their number and to end them. */
export class OpenStreams {
  readonly #max: number;
  readonly #share: FairShare;
  readonly #end = new Set<() => void>();
  #ended = false;

  constructor(max: number) {
    this.#max = max;
    this.#share = new FairShare(max);
  }

  get size(): number {
    return this.#end.size;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when too many are open, or the server shuts down. */
  open(user: Holder): OpenStream {
    if (this.#ended) throw shuttingDown();
    this.#share.take(user, {
      free: `Too many event streams: ${this.#max} are open.`,
      share: `Too many event streams of this user: ${this.#share.heldBy(user)} are open.`,
    });
    const controller = new AbortController();
    let endedHere = false;
    const end = () => {
      endedHere = true;
      controller.abort();
    };
    this.#end.add(end);
    return {
      signal: controller.signal,
      get endedHere() {
        return endedHere;
      },
      close: () => {
        if (this.#end.delete(end)) this.#share.add(user, -1);
        controller.abort();
      },
    };
  }

  endAll(): void {
    this.#ended = true;
    for (const end of this.#end) end();
  }
}
