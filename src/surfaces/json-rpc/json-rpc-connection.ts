import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { errorText, SessionError, serviceClosed } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { isObject } from "../../core/fields.ts";
import type { Operation } from "../../core/operations/operation.ts";
import type { SubscribeOptions } from "../../core/operations/sessions.ts";
import type { TurnOptions } from "../../core/operations/turns.ts";
import { OPERATIONS, type OperationName } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { readLines } from "../../text/read-lines.ts";
import type { WireError } from "../call-operation.ts";
import { checkSurfaceOptions } from "../check-options.ts";
import { LineWriter } from "../line-writer.ts";
import {
  type ForUser,
  RemoteSubscription,
  remoteError,
  type ServiceConnection,
  serviceOver,
} from "../service-client.ts";
import { LINE_BYTES_MAX } from "./json-rpc-server.ts";
import { INVALID_REQUEST, notificationLine, type RpcError, requestLine } from "./rpc-message.ts";

/** The two pipes of a connection. */
export interface Pipes {
  /** From the server. */
  readonly input: Readable;
  /** To the server. */
  readonly output: Writable;
  /** Resolves when the server has ended. It ends when `output` ends. */
  ended?(): Promise<void>;
}

/** About the longest string in JavaScript. */
const ANSWER_BYTES_MAX = 512 * 1024 * 1024;
/** How long a server may take to end after all requests were cancelled. */
const CLOSE_MS = 15_000;

type Wire = Record<string, unknown>;

interface RequestOptions {
  /** The server can cancel it. */
  readonly cancellable?: true;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: EventEnvelope) => void;
  /** Called before the next message is read. */
  readonly onResult?: (result: Wire) => void;
}

interface Pending extends RequestOptions {
  readonly resolve: (result: Wire) => void;
  readonly reject: (error: unknown) => void;
}

/** The client's end of a JSON-RPC connection. */
class JsonRpcConnection implements ServiceConnection {
  readonly #pipes: Pipes;
  readonly #writer: LineWriter;
  readonly #pending = new Map<number, Pending>();
  readonly #subscriptions = new Map<string, RemoteSubscription>();
  readonly #allRead: Promise<void>;
  #nextId = 1;
  /** Why the connection is closed. */
  #over: SessionError | undefined;
  #closing: Promise<void> | undefined;

  constructor(pipes: Pipes) {
    this.#pipes = pipes;
    this.#writer = new LineWriter(pipes.output);
    this.#allRead = this.#readAll();
  }

  async call(
    name: OperationName,
    request: Wire,
    { signal, onEvent, user }: TurnOptions & ForUser,
  ): Promise<Wire> {
    const { rpc, streams }: Operation = OPERATIONS[name];
    const params = withUser(request, user);
    if (!streams) return await this.#request(rpc, params);
    if (signal?.aborted) throw new SessionError("TURN_INTERRUPTED", { cause: signal.reason });
    return await this.#request(rpc, params, {
      cancellable: true,
      ...(signal ? { signal } : {}),
      ...(onEvent ? { onEvent } : {}),
    });
  }

  async *subscribe(
    params: Wire,
    { signal, onOpen, user }: SubscribeOptions & ForUser,
  ): AsyncIterable<EventEnvelope> {
    let after: { readonly after_seq?: number } = {};
    let opened = false;
    while (!signal?.aborted) {
      const subscription = await this.#subscribe(withUser({ ...params, ...after }, user));
      const end = () => subscription.end();
      signal?.addEventListener("abort", end);
      // It may have aborted while the server opened the subscription.
      if (signal?.aborted) end();
      if (!opened) onOpen?.(subscription.last);
      opened = true;
      try {
        for await (const event of subscription.events()) {
          if (signal?.aborted) return;
          yield event;
        }
      } finally {
        signal?.removeEventListener("abort", end);
        this.#unsubscribe(subscription);
      }
      if (subscription.error) throw subscription.error;
      if (subscription.state === "ended") return;
      // The queue overflowed. The dropped events are in the log.
      after = { after_seq: subscription.last };
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#over ??= serviceClosed();
    for (const [id, { cancellable }] of this.#pending) if (cancellable) this.#cancel(id);
    for (const subscription of this.#subscriptions.values()) subscription.end();
    const timer = setTimeout(() => this.#pipes.input.destroy(), CLOSE_MS);
    await this.#writer.end(CLOSE_MS);
    await this.#allRead;
    clearTimeout(timer);
    await this.#pipes.ended?.();
  }

  async #request(method: string, params: Wire, options: RequestOptions = {}): Promise<Wire> {
    if (this.#over) throw this.#over;
    const id = this.#nextId++;
    const line = writeRequest(id, method, params);
    const cancel = () => this.#cancel(id);
    options.signal?.addEventListener("abort", cancel);
    try {
      return await new Promise((resolve, reject) => {
        this.#pending.set(id, { ...options, resolve, reject });
        void this.#writer.write(line);
      });
    } finally {
      options.signal?.removeEventListener("abort", cancel);
    }
  }

  async #subscribe(params: Wire): Promise<RemoteSubscription> {
    const { subscription_id } = await this.#request("session/subscribe", params, {
      onResult: ({ subscription_id, after_seq }) => {
        const id = String(subscription_id);
        this.#subscriptions.set(id, new RemoteSubscription(id, Number(after_seq)));
      },
    });
    const subscription = this.#subscriptions.get(String(subscription_id));
    // The connection may have ended between the answer and now.
    if (!subscription) throw this.#over;
    return subscription;
  }

  #unsubscribe({ id }: RemoteSubscription): void {
    if (!this.#subscriptions.delete(id) || this.#over) return;
    void this.#writer.write(notificationLine("session/unsubscribe", { subscription_id: id }));
  }

  #cancel(id: number): void {
    void this.#writer.write(notificationLine("$/cancelRequest", { id }));
  }

  async #readAll(): Promise<void> {
    let cause: unknown;
    try {
      for await (const line of readLines(this.#pipes.input, ANSWER_BYTES_MAX)) {
        if (line.problem) throw new SyntaxError("It sent a line that cannot be read.");
        this.#receive(line.text);
      }
    } catch (error) {
      cause = error;
    }
    const why = cause === undefined ? "" : ` ${errorText(cause)}`;
    this.#fail(
      new SessionError("SERVICE_UNAVAILABLE", {
        message: `The connection to the service ended.${why}`,
        hint: "Connect again; a session that is stored can be resumed.",
        cause,
      }),
    );
  }

  /** @throws SyntaxError when the other side sends something else than JSON-RPC. */
  #receive(text: string): void {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) throw new SyntaxError("It sent something that is not a message.");
    const { id, method, params, result, error } = message;
    if (typeof method === "string")
      this.#notified(method, isObject(params) ? params : {}, text.length);
    else if (typeof id === "number") this.#answered(id, result, error as RpcError | undefined);
    // The server could not read one of our requests, so that one is never answered.
    else throw new SyntaxError(`It sent the error: ${(error as RpcError | undefined)?.message}`);
  }

  #answered(id: number, result: unknown, error: RpcError | undefined): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) {
      pending?.reject(remoteError(error.data ?? protocolError(error)));
    } else {
      pending?.onResult?.(result as Wire);
      pending?.resolve(result as Wire);
    }
  }

  #notified(method: string, params: Readonly<Wire>, size: number): void {
    const { subscription_id, request_id, event, error } = params;
    const subscription = this.#subscriptions.get(String(subscription_id));
    if (method === "session/subscription_ended") {
      subscription?.end(error ? remoteError(error as WireError) : undefined);
    } else if (method === "session/event") {
      if (subscription) subscription.push(event as EventEnvelope, size);
      else this.#pass(request_id as number, event as EventEnvelope);
    }
  }

  /** A callback that throws fails its own turn only. */
  #pass(id: number, event: EventEnvelope): void {
    const pending = this.#pending.get(id);
    try {
      pending?.onEvent?.(event);
    } catch (error) {
      this.#pending.delete(id);
      this.#cancel(id);
      pending?.reject(SessionError.from(error));
    }
  }

  #fail(error: SessionError): void {
    const { input, output } = this.#pipes;
    this.#over ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    for (const subscription of this.#subscriptions.values()) subscription.end(error);
    this.#pending.clear();
    this.#subscriptions.clear();
    input.destroy();
    output.end();
  }
}

/** An error of the protocol: the service never saw the request. */
function protocolError({ code, message }: RpcError): Partial<WireError> {
  return { code: code === INVALID_REQUEST ? "INVALID_PARAMS" : "INTERNAL_ERROR", message };
}

/** @throws SessionError `INVALID_PARAMS` for a request that does not fit a line. */
function writeRequest(id: number, method: string, params: Wire): string {
  let line: string;
  try {
    line = requestLine(id, method, params);
  } catch (error) {
    throw new SessionError("INVALID_PARAMS", {
      message: `The request cannot be written as JSON: ${errorText(error)}`,
      cause: error,
    });
  }
  if (Buffer.byteLength(line) <= LINE_BYTES_MAX) return line;
  throw new SessionError("INVALID_PARAMS", {
    message: `The request is longer than ${LINE_BYTES_MAX} bytes, the maximum for one message.`,
  });
}

function withUser(params: Wire, user: string | undefined): Wire {
  return user === undefined ? params : { ...params, user };
}

/** A program that serves JSON-RPC over its standard input and output. */
export interface ServerProgram {
  /** Default: `rkat`. */
  readonly command?: string;
  /** Default: `["rpc"]`. */
  readonly args?: readonly string[];
  /** The project's folder. Default: the current one. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const KILL_MS = 5000;

/** Starts a server. Its standard error goes to this process's. */
function spawnServer({ command = "rkat", args = ["rpc"], ...where }: ServerProgram): Pipes {
  const child = spawn(command, args, { ...where, stdio: ["pipe", "pipe", "inherit"] });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.on("error", (error) => child.stdout.destroy(error));
  return {
    input: child.stdout,
    output: child.stdin,
    async ended() {
      const timer = setTimeout(() => child.kill("SIGKILL"), KILL_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Two streams to and from a server. */
export interface ServerStreams {
  /** From the server. */
  readonly input: Readable;
  /** To the server. */
  readonly output: Writable;
}

/**
 * The session service of another process. The server is a program that this starts
 * (default: `rkat rpc`) or the other end of two streams. Closing the service ends
 * the connection and the program.
 */
export function connectJsonRpc(server: ServerProgram | ServerStreams = {}): SessionService {
  checkSurfaceOptions("connectJsonRpc", server);
  return serviceOver(new JsonRpcConnection("input" in server ? server : spawnServer(server)));
}
