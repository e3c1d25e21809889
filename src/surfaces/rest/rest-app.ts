import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import { SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { streamedImport } from "../../core/operations/imports.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { parseRequest } from "../../core/operations/operation.ts";
import { OPERATIONS, type OperationName } from "../../core/operations.ts";
import { prometheusText } from "../../core/traces.ts";
import { warn } from "../../core/warn.ts";
import { callOperation, wireResult } from "../call-operation.ts";
import { checkSurfaceOptions } from "../check-options.ts";
import {
  type Acting,
  actingService,
  callers,
  guardNames,
  REQUESTS_MAX,
  USER_HEADER,
} from "../http/acting-service.ts";
import { BodyReader, isJson } from "../http/body-reader.ts";
import { errorResponse, notValid, shuttingDown } from "../http/error-response.ts";
import { FairShare } from "../http/fair-share.ts";
import { listen } from "../http/listen.ts";
import { TurnEvents } from "../turn-events.ts";
import { RunningTurns, sessionEvents, turnStream } from "./event-streams.ts";
import { openApiDocument } from "./openapi-document.ts";
import { readQuery } from "./query-params.ts";
import { DEFAULT_LIMITS, type RestLimits, type RestOptions } from "./rest-options.ts";
import { OpenStreams } from "./stream-response.ts";
import { TurnKeys } from "./turn-keys.ts";
import { RequestCounts, readiness } from "./watching.ts";

/** A session service over HTTP, as a function from requests to responses. */
export interface RestApp {
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Refuses new requests, waits `graceMs` for running turns before it interrupts
   * them, and then ends the event streams.
   */
  drain(graceMs: number): Promise<void>;
}

/** The limits of a server, and how much each user holds of them. */
export class Limited {
  readonly limits: RestLimits;
  readonly bodies: BodyReader;
  readonly turns: RunningTurns;
  readonly streams: OpenStreams;
  readonly imports: FairShare;
  readonly requests = new FairShare(REQUESTS_MAX);

  constructor(given: Partial<RestLimits> = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...given };
    this.bodies = new BodyReader(this.limits);
    this.turns = new RunningTurns(this.limits.turnsMax);
    this.streams = new OpenStreams(this.limits.streamsMax);
    this.imports = new FairShare(this.limits.importsMax);
  }
}

/** Makes the routes: `/`, the operations, `/health`, `/ready`, `/metrics`, `/openapi.json` and the event streams. */
export function createRestApp(options: RestOptions): RestApp {
  checkSurfaceOptions("createRestApp", options);
  return restApp(options, new Limited(options.limits));
}

/** The same, for an app that may share its limits with another one of its server. */
export function restApp(
  options: Omit<RestOptions, "limits">,
  { limits, bodies, turns, streams, imports, requests: held }: Limited,
): RestApp {
  const { service, version = "0.0.0", token, userTokens } = options;
  const onError = options.onError ?? warn;
  const ready = readiness(options.ready);
  const requests = new RequestCounts();
  const keys = new TurnKeys();
  let draining = false;

  const app = new Hono<Acting>();
  app.use(async (context, next) => {
    await next();
    context.header("x-content-type-options", "nosniff");
    context.header("cache-control", "no-store");
    requests.add(routeIn(context.req), context.res.status);
  });
  app.use(async (context, next) => {
    if (draining) return errorResponse(shuttingDown(), undefined, { connection: "close" });
    // A response to HEAD has no body, so its stream would never end.
    const { method, path } = context.req;
    if (method === "HEAD" && !PROBES.has(path)) return notFound(context);
    await next();
  });
  app.use(guardNames(options));
  if (options.cors && options.cors.length > 0) {
    app.use(cors({ origin: [...options.cors], exposeHeaders: ["retry-after", "last-event-id"] }));
  }
  const callerOf = callers(service, options);
  const needsToken = (token ?? userTokens) !== undefined;
  // Few clients ask for it, and it takes longer than all else that starts a server.
  let openApi: object | undefined;
  const document = () => {
    openApi ??= openApiDocument({ version, token: needsToken });
    return openApi;
  };
  const versionFor = (context: Context) => (callerOf(context) ? version : undefined);
  app.get("/", (context) => startPage(context, { version: versionFor(context), needsToken }));
  app.get("/health", (context) => {
    const shown = versionFor(context);
    return context.json({ status: "ok", ...(shown === undefined ? {} : { version: shown }) });
  });
  app.get("/ready", async (context) => {
    const isReady = await ready.read();
    return context.json({ status: isReady ? "ready" : "unavailable" }, isReady ? 200 : 503);
  });
  app.use(actingService(callerOf, held));
  app.get("/metrics", async (context) => {
    const { metrics } = options;
    if (!metrics) throw notValid(404, "This server was started without numbers.");
    if (callerOf(context)?.service !== service || context.req.header(USER_HEADER) !== undefined) {
      throw new SessionError("FORBIDDEN", {
        message: "The numbers of the server are for who has its own token.",
        hint: "Send the token of the server, without X-Rkat-User. Set RKAT_TOKEN to have one beside those of users.",
      });
    }
    const all = [...requests.read({ turns, streams }), ...(await metrics())];
    return context.body(prometheusText(all), 200, { "content-type": PROMETHEUS });
  });
  app.get("/openapi.json", (context) => context.json(document()));
  app.get("/sessions/:session_id/events", (context) => sessionEvents(context, streams, limits));
  for (const [name, operation] of Object.entries(OPERATIONS) as [OperationName, Operation][]) {
    const { method, path } = operation.http;
    app.on(method, routeOf(path), async (context) => {
      if (operation.uploads) return await answerUpload(context);
      const params = await paramsOf(context, operation, bodies);
      if (operation.streams) return await answerTurn(context, name, params);
      return context.json(await callOperation(context.get("service"), name, params));
    });
  }
  app.notFound(notFound);
  app.onError((error) => {
    if (error instanceof HTTPException) return error.getResponse();
    const failure = SessionError.from(error);
    if (failure.code === "INTERNAL_ERROR") onError(error);
    return errorResponse(failure);
  });

  /** A request as JSON, or the file itself. */
  async function answerUpload(context: Context<Acting>) {
    const { req } = context;
    const user = context.get("user");
    imports.take(user, {
      free: "The server is busy with other imports.",
      share: "The server is busy with other imports of this user.",
    });
    try {
      const { importTranscripts: operation } = OPERATIONS;
      const query = readQuery(streamedImport, new URL(req.url).searchParams);
      const named = parseRequest(streamedImport, query);
      const service = context.get("service");
      if (isJson(req.raw.headers)) {
        const params = { ...named, ...(await bodies.read(req.raw, user)) };
        return context.json(await callOperation(service, "importTranscripts", params));
      }
      const bytes = bodies.stream(req.raw, limits.importBytesMax);
      const report = await service.importTranscripts({ ...named, bytes });
      return context.json(wireResult(operation, report));
    } finally {
      imports.add(user, -1);
    }
  }

  /** The turn goes on when its reader leaves. Only an interrupt ends it. */
  async function answerTurn(context: Context<Acting>, name: OperationName, params: WireParams) {
    const { session_id: sessionId } = params;
    const owner = { service: context.get("service"), user: context.get("user") };
    const acting = owner.service;
    const key = context.req.header("idempotency-key");
    const run = (onEvent?: (event: EventEnvelope) => void) =>
      turns.run(owner, sessionId, () =>
        callOperation(acting, name, params, onEvent ? { onEvent } : {}),
      );
    const once = (onEvent?: (event: EventEnvelope) => void) =>
      key === undefined
        ? run(onEvent)
        : keys.once({ user: owner.user, key, request: [name, params] }, (begun) =>
            run((event) => {
              begun();
              onEvent?.(event);
            }),
          );
    if (!/\btext\/event-stream\b/.test(context.req.header("accept") ?? "")) {
      return context.json(await once());
    }
    const events = new TurnEvents(acting, sessionId);
    return await turnStream(() => once(events.push), events, streams.open(owner.user), limits);
  }

  return {
    fetch: async (request) => await app.fetch(request),
    async drain(graceMs) {
      draining = true;
      await turns.drain(graceMs);
      streams.endAll();
    },
  };
}

/** All routes, to tell a wrong method from a wrong path. */
const ROUTES = [
  { method: "GET", path: "/" },
  { method: "GET", path: "/health" },
  { method: "GET", path: "/ready" },
  { method: "GET", path: "/metrics" },
  { method: "GET", path: "/openapi.json" },
  { method: "GET", path: "/sessions/{session_id}/events" },
  ...Object.values(OPERATIONS).map(({ http }) => http),
].map(({ method, path }) => ({
  method,
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/** The routes that load balancers ask for. */
const PROBES: ReadonlySet<string> = new Set(["/health", "/ready"]);

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

/** The route of a request, which has no id in it. */
function routeIn({ method, path }: Context["req"]): string {
  const found = ROUTES.find((route) => route.method === method && route.pattern.test(path));
  return found ? `${method} ${found.path}` : "other";
}

type WireParams = Record<string, unknown> & { readonly session_id: string };

/** The request from path, query and body. */
async function paramsOf(
  context: Context<Acting>,
  { request, http }: Operation,
  bodies: BodyReader,
): Promise<WireParams> {
  const { req } = context;
  const query = new URL(req.url).searchParams;
  const inPath = req.param() as WireParams;
  if (http.method !== "POST") return { ...readQuery(request, query), ...inPath };
  if (query.size > 0)
    throw notValid(400, "Send the parameters of this route in the body, not in the query.");
  const body = await bodies.read(req.raw, context.get("user"));
  for (const [name, value] of Object.entries(inPath)) {
    if (Object.hasOwn(body, name) && body[name] !== value) {
      throw notValid(400, `The body and the path have different values for ${name}.`);
    }
  }
  return { ...body, ...inPath };
}

function notFound({ req }: Context): Response {
  const { path, method } = req;
  const allowed = ROUTES.filter(({ pattern }) => pattern.test(path)).map((route) => route.method);
  const refusal =
    allowed.length > 0
      ? notValid(405, `${path} does not take ${method}.`, {
          headers: { allow: allowed.join(", ") },
          hint: `It takes ${allowed.join(", ")}. GET /openapi.json describes every route.`,
        })
      : notValid(404, `No route has the path ${path}.`, {
          hint: "GET /openapi.json describes every route.",
        });
  return refusal.getResponse();
}

function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

const DESCRIPTION = "Sessions that remember: context compaction and semantic memory for agents.";

const LINKS = {
  openapi: "/openapi.json",
  health: "/health",
  ready: "/ready",
  sessions: "/sessions",
};

/**
 * The answer of `GET /`: where to go on, as text, or as JSON for a client that asks for it. Strangers
 * may read it, so a caller leaves out the version when the request lacks a token.
 */
function startPage(
  context: Context,
  { version, needsToken }: { readonly version: string | undefined; readonly needsToken: boolean },
): Response {
  context.header("vary", "accept");
  if (/\bapplication\/json\b/.test(context.req.header("accept") ?? "")) {
    return context.json({
      name: "rkat",
      ...(version === undefined ? {} : { version }),
      description: DESCRIPTION,
      needs_token: needsToken,
      links: LINKS,
    });
  }
  const token = needsToken
    ? "\nEvery route but /health and /ready needs `Authorization: Bearer <token>`.\n"
    : "";
  const example = needsToken
    ? ""
    : `: curl --json '{}' ${new URL(LINKS.sessions, context.req.url)}`;
  return context.text(`${version === undefined ? "rkat" : `rkat ${version}`}
${DESCRIPTION}

GET  ${LINKS.openapi}   all routes, as an OpenAPI document
GET  ${LINKS.health}         whether the server is up
GET  ${LINKS.ready}          whether it can work: its store answers
GET  ${LINKS.sessions}       the sessions
POST ${LINKS.sessions}       create a session${example}
${token}`);
}

export interface ServeRestOptions extends Omit<RestOptions, "anyAddress"> {
  /** 0 picks any free port. Default 8080. */
  readonly port?: number;
  /** The address to listen on. Any but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
}

export interface RestServer {
  readonly url: string;
  readonly port: number;
  /**
   * Accepts no more requests, waits `graceMs` (default 10 000) for running turns
   * before it interrupts them, and ends the event streams. The service stays open.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves a session service over HTTP.
 *
 * @throws SessionError `INVALID_PARAMS` for options that are not these, and `INVALID_CONFIG` for an address that is in use, or that others can reach
 *   without a token.
 */
export async function serveRest(given: ServeRestOptions): Promise<RestServer> {
  checkSurfaceOptions("serveRest", given);
  const { port = 8080, host, ...options } = given;
  const place = { port, ...(host === undefined ? {} : { host }) };
  const { app, close, ...server } = await listen({ ...place, ...options }, (names) =>
    createRestApp({ ...options, ...names }),
  );
  return { ...server, close: ({ graceMs = 10_000 } = {}) => close(() => app.drain(graceMs)) };
}
