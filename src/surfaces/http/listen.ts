import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { SessionError } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import { wireError } from "../call-operation.ts";
import { isLoopback, presentTokens, REQUESTS_MAX, type TokenOptions } from "./acting-service.ts";
import { notValid } from "./error-response.ts";

interface ListenOptions extends TokenOptions {
  /** 0 picks any free port. */
  readonly port: number;
  /** The address to listen on. Any but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
  /** Host names that the server accepts, besides its own. */
  readonly hosts?: readonly string[];
}

/** The hosts that a server accepts requests for. */
interface Names {
  readonly hosts: readonly string[];
  readonly anyAddress: boolean;
}

interface HttpApp {
  readonly fetch: (request: Request) => Promise<Response>;
}

interface Listening<App> {
  readonly app: App;
  readonly url: string;
  readonly port: number;
  /** Accepts no more connections, drains the app, and gives clients a moment to read the rest. */
  close(drain: () => Promise<void>): Promise<void>;
}

/** A request whose headers arrive more slowly, or are larger, is refused. */
const LIMITS = {
  headersTimeout: 10_000,
  // `UPLOADS` has the limit: large files on slow lines take longer than any other request may.
  requestTimeout: 0,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
  /** Bytes that a slow connection buffers before it is asked to wait. Thousands may be slow at once. */
  highWaterMark: 16 * 1024,
};
const UPLOADS = { graceMs: 30_000, bytesPerSecondMin: 16 * 1024, everyMs: 10_000 };
/** Bytes that all slow clients of a server may leave untaken. */
const UNTAKEN_BYTES_MAX = 64 * 1024 * 1024;
const EVERYWHERE = ["0.0.0.0", "::", "[::]"];
/** How long clients may take to read the last bytes. */
const FLUSH_MS = 1000;

/**
 * Listens for an app that is a function from requests to responses.
 *
 * @throws SessionError `INVALID_CONFIG` for an address that is in use, or that others can reach
 *   without a token.
 */
export async function listen<App extends HttpApp>(
  options: ListenOptions,
  createApp: (names: Names) => App,
): Promise<Listening<App>> {
  const { port, host = "127.0.0.1", hosts = [] } = options;
  requireSafety(options, host);
  const app = createApp({ hosts: [...hosts, host], anyAddress: EVERYWHERE.includes(host) });
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      const message = `The request is not valid HTTP: ${(error as Error).message}`;
      return notValid(400, message).getResponse();
    },
  });
  const ServerResponse = boundedResponses(UNTAKEN_BYTES_MAX);
  const server = createServer(
    { ...LIMITS, ServerResponse },
    (request, response) => void listener(request, response),
  );
  server.maxConnections = REQUESTS_MAX;
  answerBadRequests(server);
  refuseSlowUploads(server, UPLOADS);
  server.listen(port, host.replace(/^\[|\]$/g, ""));
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, port);
  });
  const bound = (server.address() as AddressInfo).port;
  let closing: Promise<void> | undefined;
  return {
    app,
    url: `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${bound}`,
    port: bound,
    close(drain) {
      closing ??= closeServer(server, drain);
      return closing;
    },
  };
}

function cannotListen(cause: NodeJS.ErrnoException, port: number): SessionError {
  if (cause.code === "EADDRINUSE") {
    return new SessionError("INVALID_CONFIG", {
      message: `Port ${port} is in use.`,
      hint: "Choose another one (`--port`), or stop the program that uses it.",
      cause,
    });
  }
  return new SessionError("INVALID_CONFIG", {
    message: `The server cannot listen: ${cause.message}.`,
    hint: "Choose another port (`--port`) or address (`--host`).",
    cause,
  });
}

/** @throws SessionError `INVALID_CONFIG` for tokens that are not safe at this address */
export function requireSafety(options: TokenOptions, host: string): void {
  const { token } = options;
  const users = Object.values(presentTokens(options));
  const tokens = [...(token === undefined ? [] : [token]), ...users];
  if (!tokens.every((text) => /^[\x21-\x7e]+$/.test(text))) {
    throw new SessionError("INVALID_CONFIG", {
      detail: "The token must be visible ASCII characters, without spaces.",
      hint: "Make one with `openssl rand -hex 32`.",
    });
  }
  if (new Set(tokens).size < tokens.length) {
    throw new SessionError("INVALID_CONFIG", {
      detail: "Two users have the same token, or one has the token of the server.",
      hint: "Make one for each with `openssl rand -hex 32`.",
    });
  }
  if (isLoopback(host)) return;
  if (tokens.length === 0) {
    throw new SessionError("INVALID_CONFIG", {
      detail: `Others can reach ${host}, and no token is set.`,
      hint: "Set RKAT_TOKEN to a long random text (`openssl rand -hex 32`), or listen on 127.0.0.1.",
    });
  }
  if (tokens.every(isStrong)) return;
  throw new SessionError("INVALID_CONFIG", {
    detail: `Others can reach ${host}, and the token is too weak. It needs at least ${TOKEN_LENGTH_MIN} characters, ${TOKEN_LETTERS_MIN} of them different.`,
    hint: "Make one with `openssl rand -hex 32`.",
  });
}

const TOKEN_LENGTH_MIN = 16;
const TOKEN_LETTERS_MIN = 8;

/** A token that can be guessed is as good as none. */
function isStrong(token: string): boolean {
  return token.length >= TOKEN_LENGTH_MIN && new Set(token).size >= TOKEN_LETTERS_MIN;
}

async function closeServer(server: Server, drain: () => Promise<void>): Promise<void> {
  const closed = once(server, "close");
  server.close();
  await drain();
  // Clients that are still reading may finish within this time.
  const givesUp = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
  const tidying = setInterval(() => server.closeIdleConnections(), 20);
  await closed;
  clearTimeout(givesUp);
  clearInterval(tidying);
}

const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers requests that are not valid HTTP, or that arrive too slowly, with a failure like any other. */
function answerBadRequests(server: Server): void {
  const answers = new WeakMap<Duplex, ServerResponse>();
  server.prependListener("request", (request, response) => {
    answers.set(request.socket, response);
    response.once("close", () => answers.delete(request.socket));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // An answer that has begun cannot be replaced.
    if (!socket.writable || answers.get(socket)?.headersSent) return socket.destroy();
    const status = STATUS_OF[error.code ?? ""] ?? 400;
    const message =
      status === 431
        ? "The address and the headers of the request have more than 16 KiB."
        : `The request is not valid HTTP: ${error.message}`;
    const body = JSON.stringify(wireError(new SessionError("INVALID_PARAMS", { message })));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
}

/**
 * A class of responses whose untaken bytes are bounded together: what was written and the clients
 * have not taken. Beyond `bytesMax`, the connection that has been behind for the longest time is
 * cut off. Its bytes are freed, and a reader of events goes on from the log when it reconnects.
 */
export function boundedResponses(bytesMax: number): typeof ServerResponse<IncomingMessage> {
  /** The responses that are behind, the one that has been behind for the longest time first. */
  const behind = new Map<ServerResponse, number>();
  let untaken = 0;

  function count(response: ServerResponse, bytes: number): void {
    untaken += bytes - (behind.get(response) ?? 0);
    if (bytes > 0) behind.set(response, bytes);
    else behind.delete(response);
    for (const slowest of behind.keys()) {
      if (untaken <= bytesMax) break;
      cut(slowest);
    }
  }

  function cut(response: ServerResponse): void {
    count(response, 0);
    response.destroy();
  }

  return class BoundedResponse extends ServerResponse<IncomingMessage> {
    constructor(request: IncomingMessage) {
      super(request);
      this.on("drain", () => count(this, 0));
      this.on("close", () => count(this, 0));
    }

    // HTTP/1.0 has no chunks: an answer without a length ends with its connection.
    override writeHead(...given: [never]): this {
      const headers: unknown = given.at(-1);
      if (!isObject(headers) || this.req.httpVersion !== "1.0") return super.writeHead(...given);
      const { "transfer-encoding": _, ...others } = headers;
      return super.writeHead(given[0], others as OutgoingHttpHeaders);
    }

    // Node's overloads cannot be written down again; all of them go on as they came.
    override write(...given: [never]): boolean {
      const more = super.write(...given);
      if (!more && !this.destroyed) count(this, this.writableLength);
      return more;
    }

    override end(...given: [never]): this {
      super.end(...given);
      if (this.writableLength > 0 && !this.destroyed) count(this, this.writableLength);
      return this;
    }
  };
}

interface UploadLimits {
  /** How long a request may take, however slowly it arrives. */
  readonly graceMs: number;
  /** After that, this many bytes have to arrive in each second. */
  readonly bytesPerSecondMin: number;
  /** How often that is checked. */
  readonly everyMs: number;
}

/**
 * Refuses requests that arrive too slowly, with `ERR_HTTP_REQUEST_TIMEOUT` as Node does. Node's own limit is for the
 * whole request, so it cuts large files on slow lines. This one only asks that the bytes go on coming.
 */
export function refuseSlowUploads(server: Server, limits: UploadLimits): void {
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request)) watch(server, request, response, limits);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function watch(
  server: Server,
  request: IncomingMessage,
  response: ServerResponse,
  { graceMs, bytesPerSecondMin, everyMs }: UploadLimits,
): void {
  const { socket } = request;
  let before = 0;
  let wasOurs = false;
  const check = () => {
    if (request.complete || socket.destroyed) return;
    const arrived = socket.bytesRead - before;
    before = socket.bytesRead;
    // While the app has not read what is there, nothing more can arrive. It may have read it just now.
    const isOurs = request.readableLength > 0 && !response.writableEnded;
    const mayWait = isOurs || wasOurs;
    wasOurs = isOurs;
    if (mayWait || arrived >= (bytesPerSecondMin * everyMs) / 1000) {
      next(everyMs);
      return;
    }
    const error = new Error("The request arrives too slowly");
    server.emit("clientError", Object.assign(error, { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  };
  // Requests that arrived while the process was busy are read before a check.
  const next = (ms: number) => void setTimeout(() => setImmediate(check), ms).unref();
  setTimeout(() => {
    before = socket.bytesRead;
    next(everyMs);
  }, graceMs).unref();
}
