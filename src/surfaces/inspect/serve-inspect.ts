import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { OPERATIONS } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import {
  type Acting,
  actingService,
  callers,
  guardNames,
  type NameOptions,
  type TokenOptions,
} from "../http/acting-service.ts";
import { errorResponse, notValid } from "../http/error-response.ts";
import { listen } from "../http/listen.ts";
import {
  Limited,
  type RestApp,
  type RestServer,
  restApp,
  type ServeRestOptions,
} from "../rest/rest-app.ts";
import { type PageFiles, readPageFiles } from "./page-files.ts";

/** Serves the page at the root of a port of the loopback interface. 0 picks any free port. */
export async function serveInspect({
  port,
  ...options
}: Omit<InspectOptions, "at" | "hosts" | "anyAddress" | "limited"> & {
  readonly port: number;
}): Promise<RestServer> {
  const { app, close, ...server } = await listen({ port }, (names) =>
    createInspectApp({ ...options, ...names }),
  );
  return { ...server, close: ({ graceMs = 0 } = {}) => close(() => app.drain(graceMs)) };
}

const AT = "/inspect";

/**
 * Serves REST, and the page below `/inspect/`. The page has the tokens of REST, or one of its own where that has none.
 * Each of the two looks at the names of a request itself.
 */
export async function serveRestAndPage(
  { port, host, ...options }: ServeRestOptions & { readonly port: number },
  page: Pick<InspectOptions, "token" | "write" | "project" | "check">,
): Promise<RestServer> {
  const { app, close, ...server } = await listen(
    { port, ...given({ host }), ...options },
    (names) => {
      const limited = new Limited(options.limits);
      const rest = restApp({ ...options, ...names }, limited);
      const inspect = createInspectApp({ ...options, ...page, ...names, at: AT, limited });
      return bothOf(rest, inspect);
    },
  );
  return { ...server, close: ({ graceMs = 10_000 } = {}) => close(() => app.drain(graceMs)) };
}

function bothOf(rest: RestApp, page: RestApp): RestApp {
  return {
    async fetch(request) {
      const path = URL.parse(request.url)?.pathname ?? "";
      const isOfPage = path === AT || path.startsWith(`${AT}/`);
      return await (isOfPage ? page : rest).fetch(request);
    },
    async drain(graceMs) {
      await Promise.all([rest.drain(graceMs), page.drain(graceMs)]);
    },
  };
}

/** The page and its API. The API needs a token, whatever the server's address is. */
interface InspectOptions extends Omit<NameOptions, "cors">, TokenOptions {
  readonly service: SessionService;
  readonly version?: string;
  /** The path that the page has. Default: the root of the server. */
  readonly at?: string;
  /** Whether the page may change something. Default: it only reads. */
  readonly write?: boolean;
  /** The folder that the page names in its title. */
  readonly project?: string;
  /** Looks for what is wrong in the whole project, which only who has `token` may ask for. */
  readonly check?: () => Promise<readonly InspectFinding[]>;
  readonly onError?: (error: unknown) => void;
  /** The limits of the server that the page is a part of. Default: its own. */
  readonly limited?: Limited;
}

interface InspectFinding {
  readonly name: string;
  readonly state: "good" | "note" | "wrong";
  readonly detail: string;
}

/** Nothing that the page shows can load, run or send anything: not even a text that slipped in as HTML. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Questions that a query cannot hold: they are sent with POST, and change nothing. */
const READ_BY_POST: readonly string[] = Object.values(OPERATIONS).flatMap(({ http, effect }) =>
  http.method === "POST" && effect === "reads" ? [http.path] : [],
);

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/**
 * Makes the routes of the page: its three files, and below `api/` those of REST. A path of a request is never the
 * name of a file.
 *
 * @throws SessionError `INVALID_CONFIG` without a token: other people of the machine reach its loopback address too.
 */
function createInspectApp(options: InspectOptions): RestApp {
  const { service, version, hosts, anyAddress, token, userTokens, onError } = options;
  const { at = "", write = false, project, check, limited = new Limited() } = options;
  if ((token ?? userTokens) === undefined) {
    throw new SessionError("INVALID_CONFIG", { detail: "The page needs a token." });
  }
  const tokens = given({ token, userTokens });
  const names = given({ hosts, anyAddress });
  const api = restApp({ service, ...tokens, ...names, ...given({ version, onError }) }, limited);
  const files = readPageFiles();

  const app = new Hono<Acting>();
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  });
  app.use(guardNames(names));
  for (const [path, type, text] of served(files)) {
    app.get(`${at}/${path}`, (context) => context.body(text, 200, { "content-type": type }));
  }
  if (at !== "") app.get(at, (context) => context.redirect(`${at}/`));
  const readByPost = new Set(READ_BY_POST.map((path) => `${at}/api${path}`));
  app.use(`${at}/api/*`, async ({ req }, next) => {
    const isRead = req.method === "GET" || req.method === "HEAD" || readByPost.has(req.path);
    if (!isRead) requireWriter(req, write);
    await next();
  });
  const isOwner = token === undefined ? () => undefined : callers(service, { token });
  app.get(
    `${at}/api/inspect`,
    actingService(callers(service, tokens), limited.requests),
    (context) => {
      // Only the owner's token acts for users.
      const users = isOwner(context) !== undefined;
      const checks = users && check !== undefined;
      return context.json({ writes: write, users, checks, ...given({ version, project }) });
    },
  );
  if (check) {
    app.get(`${at}/api/inspect/check`, actingService(isOwner), async (context) =>
      context.json({ findings: await check() }),
    );
  }
  app.mount(`${at}/api`, api.fetch);
  app.notFound(({ req }) => notValid(404, `Nothing has the path ${req.path}.`).getResponse());
  app.onError((error) =>
    error instanceof HTTPException ? error.getResponse() : errorResponse(SessionError.from(error)),
  );
  return { fetch: async (request) => await app.fetch(request), drain: api.drain };
}

function served({ html, script, style }: PageFiles) {
  return [
    ["", "text/html; charset=utf-8", html],
    ["inspect-page.js", "text/javascript; charset=utf-8", script],
    ["inspect-page.css", "text/css; charset=utf-8", style],
  ] as const;
}

/** Only the page itself changes something, and only when it was opened for that. A browser says who asks. */
function requireWriter(req: { header(name: string): string | undefined }, write: boolean): void {
  if (!write) {
    throw new SessionError("FORBIDDEN", {
      message: "The page was opened for reading only.",
      hint: "Open it with --write, and it can change something.",
    });
  }
  // An origin that is not the server's own was refused already.
  const isFromPage = req.header("origin") ?? req.header("sec-fetch-site") === "same-origin";
  if (isFromPage) return;
  throw new SessionError("FORBIDDEN", {
    message: "Only the page itself may change something here.",
    hint: "Programs use `rkat serve`.",
  });
}
