import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
} from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { SessionError } from "../../core/errors.ts";
import { checkSurfaceOptions } from "../check-options.ts";
import {
  type Acting,
  actingService,
  type Caller,
  callers,
  guardNames,
  type TokenOptions,
} from "../http/acting-service.ts";
import { BodyReader } from "../http/body-reader.ts";
import { errorResponse } from "../http/error-response.ts";
import { FairShare } from "../http/fair-share.ts";
import { listen } from "../http/listen.ts";
import { HttpExchange, refuse, TransportSessions } from "./http-exchange.ts";
import { McpEndpoint, type McpServerOptions } from "./mcp-endpoint.ts";

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const ALL_BODIES_BYTES_MAX = 128 * 1024 * 1024;
/** Requests that are answered at once, streams included. */
const EXCHANGES_MAX = 1024;
const SESSIONS_MAX = 256;
const IDLE_MS = 30 * 60_000;

/** The path of the MCP endpoint. */
const MCP_PATH = "/mcp";

interface McpHttpAppOptions extends McpServerOptions, TokenOptions {
  /** Host names that the server accepts, besides those of the loopback interface. */
  readonly hosts?: readonly string[];
  /** Accepts any IP address as the host. DNS rebinding needs a name, so this is safe. */
  readonly anyAddress?: boolean;
  /** Origins whose pages may call the server, besides its own. */
  readonly origins?: readonly string[];
  /** Transport sessions at once, one for each client of MCP up to 2025-11-25. Default 256. */
  readonly transportSessionsMax?: number;
  /** An idle transport session ends after this time. Default 30 minutes. */
  readonly transportSessionIdleMs?: number;
}

/** MCP over HTTP for clients of every revision, as a function from requests to responses. */
class McpHttpApp {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly #endpoint: McpEndpoint;
  readonly #modern: McpHttpHandler;
  readonly #sessions: TransportSessions;
  readonly #bodies = new BodyReader({
    bodyBytesMax: BODY_BYTES_MAX,
    allBodiesBytesMax: ALL_BODIES_BYTES_MAX,
  });
  readonly #exchanges = new FairShare(EXCHANGES_MAX);

  constructor(options: McpHttpAppOptions) {
    const endpoint = new McpEndpoint(options, HttpExchange.send);
    this.#endpoint = endpoint;
    this.#modern = createMcpHandler(
      (context) => endpoint.createServer(context, HttpExchange.caller()),
      {
        legacy: "reject",
      },
    );
    this.#sessions = new TransportSessions((caller) => endpoint.createServer({}, caller), {
      sessions: options.transportSessionsMax ?? SESSIONS_MAX,
      idleMs: options.transportSessionIdleMs ?? IDLE_MS,
    });
    const app = new Hono<Acting>();
    const { hosts = [], anyAddress = false, origins = [] } = options;
    app.use(guardNames({ hosts, anyAddress, cors: origins }));
    app.use(actingService(callers(options.service, options)));
    app.all(MCP_PATH, ({ req, var: caller }) => this.#handle(req.raw, caller));
    app.notFound(({ req }) =>
      refuse(404, -32000, `There is no ${req.path}; MCP is at ${MCP_PATH}`),
    );
    app.onError((error) =>
      error instanceof HTTPException
        ? error.getResponse()
        : errorResponse(SessionError.from(error)),
    );
    this.fetch = async (request) => await app.fetch(request);
  }

  /** Interrupts all calls and ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
    await this.#endpoint.settled();
  }

  async #handle(request: Request, caller: Caller): Promise<Response> {
    const { user } = caller;
    const lack = this.#exchanges.lack(user);
    if (lack === "free") {
      return refuse(503, -32000, `Too many requests at once: ${EXCHANGES_MAX}`);
    }
    if (lack === "share") {
      return refuse(
        429,
        -32000,
        `Too many requests of this user at once: ${this.#exchanges.heldBy(user)}`,
      );
    }
    let parsedBody: unknown;
    if (request.method === "POST") {
      try {
        parsedBody = await this.#bodies.read(request, user);
      } catch (error) {
        return await bodyRefused(error);
      }
    }
    if (await isLegacyRequest(request, parsedBody)) {
      return await this.#counted(caller, () => this.#sessions.handle(request, parsedBody, caller));
    }
    return await this.#counted(caller, () => this.#modern.fetch(request, { parsedBody }));
  }

  #counted(caller: Caller, work: () => Promise<Response>): Promise<Response> {
    this.#exchanges.add(caller.user, 1);
    return HttpExchange.serve(caller, () => {
      HttpExchange.atEnd(() => this.#exchanges.add(caller.user, -1));
      return work();
    });
  }
}

/** The JSON-RPC error for a body that was refused. */
async function bodyRefused(error: unknown): Promise<Response> {
  const response =
    error instanceof HTTPException ? error.getResponse() : errorResponse(SessionError.from(error));
  const { message } = (await response.json()) as { message: string };
  return refuse(response.status, response.status === 400 ? -32700 : -32000, message);
}

export interface ServeMcpHttpOptions extends Omit<McpHttpAppOptions, "anyAddress"> {
  /** 0 picks any free port. Default 8081. */
  readonly port?: number;
  /** The address to listen on. Any but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
}

export interface McpHttpServer {
  /** The address for clients, with the path. */
  readonly url: string;
  readonly port: number;
  /** Interrupts all calls and ends all connections. The service stays open. */
  close(): Promise<void>;
}

/**
 * Serves a session service over HTTP, at `/mcp`, to clients of every revision of MCP.
 *
 * @throws SessionError `INVALID_CONFIG` for an address that is in use, or that others can reach without a token.
 */
export async function serveMcpHttp(given: ServeMcpHttpOptions): Promise<McpHttpServer> {
  checkSurfaceOptions("serveMcpHttp", given);
  const { port = 8081, ...options } = given;
  const { app, close, url, ...server } = await listen(
    { port, ...options },
    (names) => new McpHttpApp({ ...options, ...names }),
  );
  return { ...server, url: `${url}${MCP_PATH}`, close: () => close(() => app.close()) };
}
