import { randomUUID } from "node:crypto";
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { SessionService } from "../../core/session-service.ts";
import { HttpExchange } from "./http-exchange.ts";

interface TransportSession {
  /** The service that its requests act with. */
  readonly service: SessionService;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Open requests, streams included. */
  open: number;
  lastUsed: number;
}

export interface TransportSessionLimits {
  /** Sessions at once. A new one ends the session that was idle longest. */
  readonly sessions: number;
  /** An idle session ends after this time. */
  readonly idleMs: number;
}

/**
 * The connections of clients that speak MCP up to 2025-11-25 over HTTP. Each has
 * a transport session, which is not a session of rkat.
 */
export class TransportSessions {
  readonly #createServer: (service: SessionService) => Promise<Server>;
  readonly #limits: TransportSessionLimits;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, TransportSession>();
  readonly #sweep: NodeJS.Timeout;

  constructor(
    createServer: (service: SessionService) => Promise<Server>,
    limits: TransportSessionLimits,
  ) {
    this.#createServer = createServer;
    this.#limits = limits;
    this.#sweep = setInterval(() => this.#expire(), Math.min(limits.idleMs, 60_000)).unref();
  }

  async handle(request: Request, parsedBody: unknown, service: SessionService): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      if (isInitializeRequest(parsedBody)) return await this.#begin(request, parsedBody, service);
      return refuse(400, -32000, "Bad Request: initialize first, and send the Mcp-Session-Id");
    }
    const session = this.#sessions.get(id);
    // To another user, it is as if it had never been there.
    if (session?.service !== service)
      return refuse(404, -32001, "Session not found: it ended, initialize again");
    return await this.#serve(id, session, request, parsedBody);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #begin(request: Request, parsedBody: unknown, service: SessionService): Promise<Response> {
    const server = await this.#createServer(service);
    if (this.#sessions.size >= this.#limits.sessions && !(await this.#endIdle())) {
      return refuse(503, -32000, `Too many clients: ${this.#limits.sessions} are connected`);
    }
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => void this.#sessions.delete(id),
    });
    await server.connect(transport);
    const session = { service, transport, open: 0, lastUsed: Date.now() };
    this.#sessions.set(id, session);
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

  async #endIdle(): Promise<boolean> {
    for (const [id, { open }] of this.#sessions) {
      if (open > 0) continue;
      await this.#end(id);
      return true;
    }
    return false;
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.transport.close();
  }
}

/** A failure outside of MCP requests, so without a request id. */
export function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
}
