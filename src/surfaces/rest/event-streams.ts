import type { Context } from "hono";
import { SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { subscribe as subscribeRequest } from "../../core/operations/sessions.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorToWire, fromWire } from "../../core/wire.ts";
import { wireError } from "../call-operation.ts";
import type { Acting } from "../http/acting-service.ts";
import { shuttingDown } from "../http/error-response.ts";
import { FairShare, type Holder } from "../http/fair-share.ts";
import type { TurnEvents } from "../turn-events.ts";
import { readQuery } from "./query-params.ts";
import type { RestLimits } from "./rest-options.ts";
import {
  eventFrame,
  frame,
  type OpenStream,
  type OpenStreams,
  streamResponse,
  unnamedEventFrame,
} from "./stream-response.ts";

/** How long a browser waits before it reconnects. */
const RETRY_MS = 1000;

/**
 * Streams a session's events. A reader that reconnects with the last id it received
 * continues after it: no event is missed or repeated.
 */
export async function sessionEvents(
  context: Context<Acting>,
  streams: OpenStreams,
  limits: Pick<RestLimits, "heartbeatMs" | "stallMs">,
): Promise<Response> {
  const query = new URL(context.req.url).searchParams;
  const asFrame = isNamed(query) ? eventFrame : unnamedEventFrame;
  const params = {
    ...readQuery(subscribeRequest, query),
    ...lastEventId(context),
    session_id: context.req.param("session_id"),
  };
  const stream = streams.open(context.get("user"));
  try {
    const opened = Promise.withResolvers<number>();
    const events = context
      .get("service")
      .subscribe(fromWire(subscribeRequest, params) as never, {
        signal: stream.signal,
        onOpen: opened.resolve,
      })
      [Symbol.asyncIterator]();
    const first = events.next();
    // An unknown session is a failed request, not a stream that ends.
    const from = await Promise.race([opened.promise, first.then(() => opened.promise)]);
    const knows = params.after_seq !== undefined;
    return streamResponse(frames(events, first, stream, asFrame), {
      ...limits,
      opening: opening(knows ? undefined : from),
      onEnd: () => stream.close(),
      headers: { "last-event-id": String(from) },
    });
  } catch (error) {
    stream.close();
    throw errorToWire(subscribeRequest, SessionError.from(error));
  }
}

/**
 * The frames of events, and of how they end. It is no generator: for each reader that waits, a server would keep
 * several more promises.
 */
function frames(
  events: AsyncIterator<EventEnvelope>,
  first: Promise<IteratorResult<EventEnvelope>>,
  stream: OpenStream,
  asFrame: typeof eventFrame,
): AsyncIterator<Uint8Array> {
  const asked = [first];
  let isOpen = true;
  const last = (value?: Uint8Array): IteratorResult<Uint8Array> => {
    isOpen = false;
    return value ? { value } : { done: true, value };
  };
  const toFrame = (next: IteratorResult<EventEnvelope>): IteratorResult<Uint8Array> => {
    if (!next.done) return { value: asFrame(next.value) };
    return last(stream.endedHere ? frame("done", {}) : undefined);
  };
  const toError = (error: unknown) => last(frame("error", wireError(SessionError.from(error))));
  return {
    next: () =>
      isOpen ? (asked.pop() ?? events.next()).then(toFrame, toError) : Promise.resolve(last()),
  };
}

/** The id is for a reader that has not received an event yet. */
function opening(id: number | undefined): Uint8Array {
  return Buffer.from(`${id === undefined ? "" : `id: ${id}\n`}retry: ${RETRY_MS}\n\n`);
}

/** Takes `named` out of the query. Events are named unless it is `false`. */
function isNamed(query: URLSearchParams): boolean {
  const named = query.get("named") ?? "true";
  query.delete("named");
  if (named === "true" || named === "false") return named === "true";
  const issues = [{ path: ["named"], message: "expected true or false" }];
  throw new SessionError("INVALID_PARAMS", { issues });
}

/** Overrides `after_seq` of the URL, because a browser reconnects with the same URL. */
function lastEventId({ req }: Context): { readonly after_seq?: unknown } {
  const id = req.header("last-event-id");
  if (id === undefined || id === "") return {};
  return { after_seq: /^\d+$/.test(id) ? Number(id) : id };
}

type Turn = Promise<Record<string, unknown>>;

/**
 * Starts a turn and streams its events and its result. A turn that fails before its
 * first event fails like any other request.
 */
export async function turnStream(
  begin: () => Turn,
  events: TurnEvents,
  stream: OpenStream,
  limits: Pick<RestLimits, "heartbeatMs" | "stallMs">,
): Promise<Response> {
  const onEnd = () => {
    stream.close();
    events.abandon();
  };
  try {
    const turn = begin();
    const end = () => events.end();
    turn.then(end, end);
    await Promise.race([events.begun, turn]);
    return streamResponse(framesOfTurn(events, turn), { ...limits, onEnd });
  } catch (error) {
    onEnd();
    throw error;
  }
}

async function* framesOfTurn(events: TurnEvents, turn: Turn): AsyncGenerator<Uint8Array> {
  try {
    for await (const batch of events.batches()) yield Buffer.concat(batch.map(eventFrame));
    yield frame("result", await turn);
  } catch (error) {
    yield frame("error", wireError(SessionError.from(error)));
  }
}

interface TurnOwner {
  readonly service: Pick<SessionService, "interrupt">;
  readonly user: Holder;
}

/** The running turns and compactions. They outlive the requests that started them. */
export class RunningTurns {
  readonly #max: number;
  readonly #share: FairShare;
  readonly #turns = new Map<Promise<unknown>, () => Promise<void>>();
  #draining = false;

  constructor(max: number) {
    this.#max = max;
    this.#share = new FairShare(max);
  }

  get size(): number {
    return this.#turns.size;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when too many are running, or the server shuts down. */
  run<Result>(
    { service, user }: TurnOwner,
    sessionId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    // The shutdown may have begun while the request's body arrived.
    if (this.#draining) throw shuttingDown();
    this.#share.take(user, {
      free: `Too many turns: ${this.#max} are running.`,
      share: `Too many turns of this user: ${this.#share.heldBy(user)} are running.`,
    });
    const turn = work();
    this.#turns.set(turn, () => service.interrupt({ sessionId }));
    const forget = () => {
      this.#turns.delete(turn);
      this.#share.add(user, -1);
    };
    turn.then(forget, forget);
    return turn;
  }

  /** Starts no more, waits `graceMs` for the running ones, then interrupts them. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const timer = setTimeout(() => {
      for (const interrupt of this.#turns.values()) {
        // It may just have ended.
        interrupt().catch(() => {});
      }
    }, graceMs);
    await Promise.allSettled(this.#turns.keys());
    clearTimeout(timer);
  }
}
