import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../http/acting-service.ts";
import { FairShare } from "../http/fair-share.ts";

/**
 * One HTTP request with its response. The SDK's transports queue streamed messages
 * without a bound. An exchange adds backpressure: it holds one message that the client has not
 * taken. The events behind it wait in the queues of the readers, which are bounded.
 */
export class HttpExchange {
  static readonly #current = new AsyncLocalStorage<HttpExchange>();
  readonly #caller: Caller;
  readonly #atEnd: (() => void)[] = [];
  #untaken = 0;
  #ended = false;
  #senders: (() => void)[] = [];

  private constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Serves a request of a caller. Code that runs in `work` finds this exchange. */
  static async serve(caller: Caller, work: () => Promise<Response>): Promise<Response> {
    const exchange = new HttpExchange(caller);
    try {
      return exchange.#counted(await HttpExchange.#current.run(exchange, work));
    } catch (error) {
      exchange.#end();
      throw error;
    }
  }

  /** The caller of the current request. */
  static caller(): Caller {
    const exchange = HttpExchange.#current.getStore();
    assert(exchange);
    return exchange.#caller;
  }

  /**
   * Sends a message when the client of the current request has taken the one before it. A message
   * that waits when `signal` aborts is not sent: its client may never take anything again.
   */
  static async send(message: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const exchange = HttpExchange.#current.getStore();
    if (exchange) await exchange.#room(signal);
    if (!signal.aborted) await message();
  }

  /** Calls `work` once, when the response was read or the client is gone. */
  static atEnd(work: () => void): void {
    const exchange = HttpExchange.#current.getStore();
    if (exchange) exchange.#atEnd.push(work);
  }

  async #room(signal: AbortSignal): Promise<void> {
    while (this.#untaken > 0 && !this.#ended && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#senders.push(resolve);
      const onAbort = () => resolve();
      signal.addEventListener("abort", onAbort);
      await promise;
      signal.removeEventListener("abort", onAbort);
    }
    this.#untaken += 1;
  }

  #taken(): void {
    this.#untaken = Math.max(0, this.#untaken - 1);
    for (const send of this.#senders.splice(0)) send();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#taken();
    for (const work of this.#atEnd) work();
  }

  #counted(response: Response): Response {
    const reader = response.body?.getReader();
    if (!reader) {
      this.#end();
      return response;
    }
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          this.#taken();
          if (!done) return controller.enqueue(value);
          this.#end();
          controller.close();
        },
        cancel: (reason) => {
          this.#end();
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    const { status, headers } = response;
    const copy = new Response(body, { status, headers });
    // Without this the Node adapter sends the headers with the first chunk only.
    if (headers.get("content-type")?.startsWith("text/event-stream")) {
      copy.headers.set("transfer-encoding", "chunked");
    }
    return copy;
  }
}

interface TransportSession {
  /** The caller who began it. Its requests act with the same service. */
  readonly caller: Caller;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Open requests, streams included. */
  open: number;
  lastUsed: number;
}

interface TransportSessionLimits {
  /** Sessions at once. A new one ends one that is idle: of a user with as many, and of these the longest unused. */
  readonly sessions: number;
  /** An idle session ends after this time. */
  readonly idleMs: number;
}

/**
 * The connections of clients that speak MCP up to 2025-11-25 over HTTP. Each has
 * a transport session, which is not a session of rkat.
 */
export class TransportSessions {
  readonly #createServer: (caller: Caller) => Promise<Server>;
  readonly #limits: TransportSessionLimits;
  readonly #share: FairShare;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, TransportSession>();
  readonly #sweep: NodeJS.Timeout;

  constructor(createServer: (caller: Caller) => Promise<Server>, limits: TransportSessionLimits) {
    this.#createServer = createServer;
    this.#limits = limits;
    this.#share = new FairShare(limits.sessions);
    this.#sweep = setInterval(() => this.#expire(), Math.min(limits.idleMs, 60_000)).unref();
  }

  async handle(request: Request, parsedBody: unknown, caller: Caller): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      if (isInitializeRequest(parsedBody)) return await this.#begin(request, parsedBody, caller);
      return refuse(400, -32000, "Bad Request: initialize first, and send the Mcp-Session-Id");
    }
    const session = this.#sessions.get(id);
    // To another user, it is as if it had never been there.
    if (session?.caller.service !== caller.service)
      return refuse(404, -32001, "Session not found: it ended, initialize again");
    return await this.#serve(id, session, request, parsedBody);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #begin(request: Request, parsedBody: unknown, caller: Caller): Promise<Response> {
    const server = await this.#createServer(caller);
    const { user } = caller;
    for (let lack = this.#share.lack(user); lack; lack = this.#share.lack(user)) {
      if (await this.#endIdle(this.#share.heldBy(user))) continue;
      return lack === "share"
        ? refuse(
            429,
            -32000,
            `Too many clients of this user: ${this.#share.heldBy(user)} are connected`,
          )
        : refuse(503, -32000, `Too many clients: ${this.#limits.sessions} are connected`);
    }
    this.#share.add(user, 1);
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => void this.#remove(id),
    });
    const session = { caller, transport, open: 0, lastUsed: Date.now() };
    this.#sessions.set(id, session);
    await server.connect(transport);
    const response = await this.#serve(id, session, request, parsedBody);
    if (!response.ok) await this.#end(id);
    return response;
  }

  async #serve(
    id: string,
    session: TransportSession,
    request: Request,
    parsedBody: unknown,
  ): Promise<Response> {
    const use = (change: number) => {
      session.open += change;
      session.lastUsed = Date.now();
      // Moves it to the end of the order, unless it has ended.
      if (this.#sessions.delete(id)) this.#sessions.set(id, session);
    };
    use(1);
    HttpExchange.atEnd(() => use(-1));
    const body = parsedBody === undefined ? {} : { parsedBody };
    return await session.transport.handleRequest(request, body);
  }

  #expire(): void {
    const oldest = Date.now() - this.#limits.idleMs;
    for (const [id, { open, lastUsed }] of this.#sessions) {
      if (open === 0 && lastUsed <= oldest) void this.#end(id);
    }
  }

  /** Ends the longest unused session, of those whose user holds at least so many. */
  async #endIdle(held: number): Promise<boolean> {
    for (const [id, { open, caller }] of this.#sessions) {
      if (open > 0 || this.#share.heldBy(caller.user) < held) continue;
      await this.#end(id);
      return true;
    }
    return false;
  }

  async #end(id: string): Promise<void> {
    await this.#remove(id)?.transport.close();
  }

  #remove(id: string): TransportSession | undefined {
    const session = this.#sessions.get(id);
    if (this.#sessions.delete(id)) this.#share.add(session?.caller.user, -1);
    return session;
  }
}

/** A failure outside of MCP requests, so without a request id. */
export function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
}
