import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import type { Context, MiddlewareHandler } from "hono";
import { LOOPBACK_NAME } from "../../core/bypass-proxy.ts";
import { SessionError } from "../../core/errors.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorResponse } from "./error-response.ts";
import { FairShare } from "./fair-share.ts";

/** The tokens that a server accepts. Without any, it accepts every request. */
export interface TokenOptions {
  /**
   * Every request must send it, as `Authorization: Bearer <token>`. A request with it may act for any
   * user, with the header `X-Rkat-User`.
   */
  readonly token?: string;
  /**
   * Tokens of users, by user: `{ ada: "9f2c…" }`. A request with one acts for that user, and for no other. A function is
   * asked at each request, and returns another object when they changed.
   */
  readonly userTokens?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
}

export type UserTokens = Readonly<Record<string, string>>;

/** The tokens of users at present. */
export function presentTokens({ userTokens = {} }: TokenOptions): UserTokens {
  return typeof userTokens === "function" ? userTokens() : userTokens;
}

/** The user that a request acts for. Any text, with `encodeURIComponent`. */
export const USER_HEADER = "x-rkat-user";

/** The service and the user that a request acts as. */
export interface Caller {
  readonly service: SessionService;
  /** The user that it acts for. Without one, it is the server's own. */
  readonly user?: string | undefined;
}

/** The variables that a handler finds in its context. */
export interface Acting {
  readonly Variables: Caller;
}

/** Finds the caller by a request's token; `undefined` when it needs a token and has none, or a wrong one. */
type CallerOf = (context: Context) => Caller | undefined;

/** The comparison takes the same time for every text. */
export function callers(service: SessionService, tokens: TokenOptions): CallerOf {
  const { token, userTokens } = tokens;
  if (token === undefined && userTokens === undefined) return () => ({ service });
  const own = token === undefined ? [] : [{ expected: digest(token), caller: { service } }];
  const users = new Map<string, Caller>();
  const callerOf = (user: string) => {
    const caller = users.get(user) ?? callerFor(user, { service });
    users.set(user, caller);
    return caller;
  };
  let seen: UserTokens | undefined;
  let known: readonly { readonly expected: Buffer; readonly caller: Caller }[] = own;
  const read = () => {
    const present = presentTokens(tokens);
    if (present === seen) return known;
    const entries = Object.entries(present);
    known = [
      ...own,
      ...entries.map(([user, text]) => ({ expected: digest(text), caller: callerOf(user) })),
    ];
    seen = present;
    return known;
  };
  read();
  return (context) => {
    const given = tokenOf(context);
    return given === undefined ? undefined : read().filter(isSame(digest(given)))[0]?.caller;
  };
}

/** Requests that are received and answered at once: as many as a server has connections. Streams count until they begin. */
export const REQUESTS_MAX = 4096;

const REQUESTS = {
  free: "The server is busy with other requests.",
  share: "The server is busy with other requests of this user.",
};

/** Lets requests with a token through, and gives them the service that they act with. */
export function actingService(
  callerOf: CallerOf,
  requests = new FairShare(REQUESTS_MAX),
): MiddlewareHandler<Acting> {
  return async (context, next) => {
    const caller = callerOf(context);
    if (!caller) return refusal(tokenOf(context));
    const header = context.req.header(USER_HEADER);
    const acting = header === undefined ? caller : callerFor(decoded(header), caller);
    context.set("service", acting.service);
    context.set("user", acting.user);
    requests.take(acting.user, REQUESTS);
    return await next().finally(() => requests.add(acting.user, -1));
  };
}

function callerFor(user: string, { service }: Caller): Caller {
  return { service: service.forUser(user), user };
}

function tokenOf({ req }: Context): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(req.header("authorization") ?? "")?.[1];
}

function isSame(given: Buffer): (caller: { readonly expected: Buffer }) => boolean {
  return ({ expected }) => timingSafeEqual(given, expected);
}

function refusal(given: string | undefined): Response {
  const message = given === undefined ? undefined : "The token is wrong.";
  const error = new SessionError("UNAUTHORIZED", message === undefined ? {} : { message });
  return errorResponse(error, undefined, { "www-authenticate": 'Bearer realm="rkat"' });
}

function decoded(user: string): string {
  // Several headers of one name arrive as one, with commas between them.
  if (user.includes(",")) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The header X-Rkat-User was sent more than once, or is not percent-encoded.",
      hint: "Send it once, and let a proxy replace what a client sent. Write a comma as %2C, as `encodeURIComponent` does.",
    });
  }
  try {
    return decodeURIComponent(user);
  } catch {
    throw new SessionError("INVALID_PARAMS", {
      message: "The header X-Rkat-User is not percent-encoded.",
      hint: "Write a % as %25, as `encodeURIComponent` does.",
    });
  }
}

/** All digests have the same length, as the comparison needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

export interface NameOptions {
  /** Host names that the server accepts, besides those of the loopback interface. */
  readonly hosts?: readonly string[];
  /** Accepts any IP address as the host. DNS rebinding needs a name, so this is safe. */
  readonly anyAddress?: boolean;
  /** Origins whose pages may call the server, such as `https://app.example`. */
  readonly cors?: readonly string[];
}

/**
 * Accepts requests for the server's own names only, and from allowed pages only.
 *
 * A page can point its own name to this machine (DNS rebinding) to read the
 * server's answers. But its requests carry that name, so they are refused.
 */
export function guardNames(options: NameOptions): MiddlewareHandler {
  const { hosts = [], anyAddress = false, cors = [] } = options;
  const names = new Set(hosts.map(requiredName));
  const isOurs = (host: string) => {
    const name = hostName(host);
    if (name === undefined) return false;
    return isLoopback(name) || names.has(name) || (anyAddress && isAddress(name));
  };
  return async (context, next) => {
    // A request with an absolute URL, as for a proxy, names the host twice.
    const host = URL.parse(context.req.url)?.host ?? "";
    const asked = context.req.header("host") ?? host;
    if (!isOurs(asked) || !isOurs(host)) {
      throw new SessionError("FORBIDDEN", {
        message: `The server does not accept requests for the host "${asked}".`,
      });
    }
    const origin = context.req.header("origin");
    const isOfPage =
      origin === undefined
        ? isLoadedByPage(context)
        : !isOwnOrigin(origin, asked) && !cors.includes(origin);
    if (isOfPage) {
      throw new SessionError("FORBIDDEN", {
        message: `The server does not accept requests from the page ${origin ?? "of another site"}.`,
      });
    }
    await next();
  };
}

/**
 * Whether a page of another site loads it as a picture, a script or a frame. Browsers say no origin then. Such a page reads nothing, but
 * it could search, see how long that takes, and hold all streams. A person may follow a link.
 */
function isLoadedByPage({ req }: Context): boolean {
  const site = req.header("sec-fetch-site") ?? "none";
  return !/^(?:none|same-origin)$/.test(site) && req.header("sec-fetch-dest") !== "document";
}

/** @throws SessionError `INVALID_CONFIG` for a text that no `Host` header has */
function requiredName(host: string): string {
  const name = hostName(host);
  if (name !== undefined && !name.includes("*")) return name;
  throw new SessionError("INVALID_CONFIG", {
    message: `${JSON.stringify(host)} is not the name of a host.`,
    hint: "Write it without a scheme, a path or a star, such as rkat.example.com.",
  });
}

/** The name in a `Host` header, as URLs write it. */
function hostName(host: string): string | undefined {
  if (/[\s/?#\\@]/.test(host)) return undefined;
  const address = isIP(host) === 6 ? `[${host}]` : host;
  const url = URL.parse(`http://${address}`);
  return url?.hostname.replace(/\.$/, "");
}

function isOwnOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** Whether a name or address means this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAME.test(hostName(host) ?? "");
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
