import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  type EventSourceMessage,
  EventSourceParserStream,
  ParseError,
} from "eventsource-parser/stream";
import { bypassProxy } from "../../core/bypass-proxy.ts";
import { SessionError, shownAddress } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { joinSignals } from "../../core/join-signals.ts";
import type { ImportStream } from "../../core/operations/imports.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { parseRequest } from "../../core/operations/operation.ts";
import type { SubscribeOptions } from "../../core/operations/sessions.ts";
import { subscribe as subscribeRequest } from "../../core/operations/sessions.ts";
import type { TurnOptions } from "../../core/operations/turns.ts";
import { OPERATIONS } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { fromWire } from "../../core/wire.ts";
import { checkSurfaceOptions } from "../check-options.ts";
import { USER_HEADER } from "../http/acting-service.ts";
import {
  type ForUser,
  remoteError,
  type ServiceConnection,
  serviceOver,
} from "../service-client.ts";
import { readQuery, writeQuery } from "./query-params.ts";

export interface ConnectRestOptions {
  /** The server's address, such as `http://127.0.0.1:8080`. It may have a path. */
  readonly url: string;
  readonly token?: string;
  /** Replaces the global `fetch`, for example behind a proxy. */
  readonly fetch?: typeof fetch;
}

/** How a subscription reconnects to a server that it lost. */
const RECONNECT = { firstMs: 100, mostMs: 5000, tries: 12 };

/**
 * The session service of a REST server.
 *
 * A subscription reconnects after a lost connection, without a gap or a repeat. A
 * turn goes on when its connection is lost: follow it with `read` and `subscribe`.
 */
export function connectRest(options: ConnectRestOptions): SessionService {
  checkSurfaceOptions("connectRest", options);
  return serviceOver(new RestConnection(options));
}

const SUBSCRIBE = {
  http: { method: "GET", path: "/sessions/{session_id}/events" },
  request: subscribeRequest,
} as const;

type Params = Record<string, unknown>;

class RestConnection implements ServiceConnection {
  readonly #options: ConnectRestOptions;
  readonly #closed = new AbortController();

  constructor(options: ConnectRestOptions) {
    this.#options = options;
    if (options.fetch === undefined) bypassProxy(options.url);
  }

  async call(
    name: keyof typeof OPERATIONS,
    params: Params,
    { signal, onEvent, user }: TurnOptions & ForUser,
  ): Promise<Params> {
    const operation: Operation = OPERATIONS[name];
    if (signal?.aborted) throw new SessionError("TURN_INTERRUPTED", { cause: signal.reason });
    const accept = operation.streams ? "text/event-stream" : "application/json";
    const response = await this.#send(operation, params, { accept, ...byUser(user) });
    if (!operation.streams) return (await response.json().catch(lost)) as Params;
    // The response shows that the running turn is ours, so an interrupt hits the right one.
    const interrupt = () => {
      const { session_id } = params;
      this.#send(OPERATIONS.interrupt, { session_id }, byUser(user)).catch(() => {});
    };
    if (signal?.aborted) interrupt();
    signal?.addEventListener("abort", interrupt);
    try {
      for await (const { event, data } of readEventStream(response)) {
        const value = JSON.parse(data);
        if (event === "result") return value;
        if (event === "error") throw remoteError(value);
        onEvent?.(value);
      }
      return lost();
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }

  async upload({ bytes, name }: ImportStream, { user }: ForUser): Promise<Params> {
    const { http } = OPERATIONS.importTranscripts;
    const query = name === undefined ? "" : `?${writeQuery({ name })}`;
    const response = await this.#fetch(`${http.path}${query}`, {
      method: http.method,
      headers: { ...byUser(user), "content-type": "application/octet-stream" },
      body: ReadableStream.from(bytes) as NonNullable<RequestInit["body"]>,
      duplex: "half",
    });
    return (await response.json().catch(lost)) as Params;
  }

  async *subscribe(
    params: Params,
    options: SubscribeOptions & ForUser,
  ): AsyncGenerator<EventEnvelope> {
    const { signal, release } = joinSignals([options.signal, this.#closed.signal]);
    try {
      yield* this.#events(params, { ...options, signal });
    } finally {
      release();
    }
  }

  /** The events, over as many connections as it takes. */
  async *#events(
    params: Params,
    { signal, onOpen, user }: SubscribeOptions & ForUser & { readonly signal: AbortSignal },
  ): AsyncGenerator<EventEnvelope> {
    let last: string | undefined;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const headers = { accept: "text/event-stream", "last-event-id": last, ...byUser(user) };
        const response = await this.#send(SUBSCRIBE, params, headers, signal);
        if (last === undefined) {
          last = response.headers.get("last-event-id") ?? "0";
          onOpen?.(Number(last));
        }
        failures = 0;
        for await (const { event, id, data } of readEventStream(response)) {
          if (event === "done" || signal.aborted) return;
          if (event === "error") throw remoteError(JSON.parse(data));
          last = id ?? last;
          yield JSON.parse(data);
        }
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const lost = SessionError.is(error) && error.code === "SERVICE_UNAVAILABLE";
        if (!lost || last === undefined || failures > RECONNECT.tries) throw error;
      }
      const delayMs = Math.min(RECONNECT.firstMs * 2 ** failures, RECONNECT.mostMs);
      await sleep(delayMs, undefined, { signal }).catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
  }

  /** @throws SessionError of the server, or `SERVICE_UNAVAILABLE` when it cannot be reached. */
  async #send(
    { http, request }: Pick<Operation, "http" | "request">,
    params: Params,
    headers: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal = this.#closed.signal,
  ): Promise<Response> {
    const { method } = http;
    // A value that HTTP cannot carry is refused here, as the service would refuse it.
    if (!canCarry(http, request, params)) parseRequest(request, fromWire(request, params));
    const path = http.path.replaceAll(PLACE, (_, name) =>
      encodeURIComponent(String(params[name]).toWellFormed()),
    );
    if (method !== "POST") {
      const query = writeQuery(besidePath(http.path, params));
      return await this.#fetch(`${path}?${query}`, { method, headers, signal });
    }
    return await this.#fetch(path, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(params),
      signal,
    });
  }

  async #fetch(
    address: string,
    { headers, signal = this.#closed.signal, ...rest }: Sent,
  ): Promise<Response> {
    const { url, token, fetch: send = fetch } = this.#options;
    const given = { ...headers, authorization: token && `Bearer ${token}` };
    const response = await send(`${url.replace(/(?<!\/)\/+$/, "")}${address}`, {
      ...rest,
      headers: Object.entries(given).flatMap(([name, value]) => (value ? [[name, value]] : [])),
      signal,
      // The token must not go elsewhere.
      redirect: "error",
    } as RequestInit).catch((error: Error) => {
      throw new SessionError("SERVICE_UNAVAILABLE", {
        message: `${shownAddress(url)} could not be reached: ${reasonOf(error).replaceAll(url, shownAddress(url))}`,
        hint: "Is the server running (`rkat serve`)?",
        cause: error,
      });
    });
    if (response.ok) return response;
    throw await refusal(response);
  }
}

/** A request to the server. */
interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  readonly body?: NonNullable<RequestInit["body"]>;
  /** The body of a stream is sent before the answer comes. */
  readonly duplex?: "half";
}

function byUser(user: string | undefined): Readonly<Record<string, string>> {
  return user === undefined ? {} : { [USER_HEADER]: encodeURIComponent(user.toWellFormed()) };
}

function lost(): never {
  throw new SessionError("SERVICE_UNAVAILABLE", {
    message: "The connection was lost before the answer was whole.",
    hint: "Read the session. The request may have been executed, and a turn goes on.",
  });
}

/** `fetch` gives the reason only in the cause of its error. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message : message;
}

async function refusal(response: Response): Promise<SessionError> {
  const text = await response.text().catch(() => "");
  try {
    return remoteError(JSON.parse(text));
  } catch {
    return new SessionError("SERVICE_UNAVAILABLE", {
      message: `Something answered with ${response.status} that is not an rkat server.`,
    });
  }
}

const PLACE = /\{(\w+)\}/g;

/** Whether a request arrives unchanged: a path needs texts, and a query has no types. */
function canCarry(
  { method, path }: Operation["http"],
  request: Operation["request"],
  params: Params,
): boolean {
  const isText = (value: unknown) => typeof value === "string" && value !== "";
  if (![...path.matchAll(PLACE)].every(([, name]) => isText(params?.[name ?? ""]))) return false;
  if (method === "POST") return true;
  if (typeof params !== "object" || params === null) return false;
  const asked = besidePath(path, params);
  return isDeepStrictEqual(readQuery(request, writeQuery(asked)), asked);
}

function besidePath(path: string, params: Params): Params {
  return Object.fromEntries(
    Object.entries(params).filter(
      ([name, value]) => value !== undefined && !path.includes(`{${name}}`),
    ),
  );
}

/** Characters of one event. A whole prompt or tool output is in one. */
const EVENT_MAX = 64 * 1024 * 1024;

/** The server-sent events of a response, until the connection ends or is lost. */
async function* readEventStream(response: Response): AsyncGenerator<EventSourceMessage> {
  if (!response.body) return;
  const messages = response.body
    .pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: EVENT_MAX, onError: "terminate" }));
  try {
    yield* messages;
  } catch (error) {
    if (error instanceof ParseError) throw error;
    // A lost connection. The reader knows it, because the last event was not the final one.
  }
}
