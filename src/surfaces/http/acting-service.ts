import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { SessionError } from "../../core/errors.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorResponse } from "./error-response.ts";

/** The tokens that a server accepts. Without any, it accepts every request. */
export interface TokenOptions {
  /**
   * Every request must send it, as `Authorization: Bearer <token>`. A request with it may act for any
   * user, with the header `X-Rkat-User`.
   */
  readonly token?: string;
  /** Tokens of users, by user: `{ ada: "9f2c…" }`. A request with one acts for that user, and for no other. */
  readonly userTokens?: Readonly<Record<string, string>>;
}

/** The user that a request acts for. Any text, with `encodeURIComponent`. */
export const USER_HEADER = "x-rkat-user";

/** What a handler finds in its context. */
export interface Acting {
  readonly Variables: { readonly service: SessionService };
}

/** Finds the service of a request's token; `undefined` when it needs a token and has none, or a wrong one. */
export type CallerOf = (context: Context) => SessionService | undefined;

/** The comparison takes the same time for every text. */
export function callers(service: SessionService, tokens: TokenOptions): CallerOf {
  const { token, userTokens } = tokens;
  if (token === undefined && userTokens === undefined) return () => service;
  const known = [
    ...(token === undefined ? [] : [{ expected: digest(token), service }]),
    ...Object.entries(userTokens ?? {}).map(([user, text]) => ({
      expected: digest(text),
      service: service.forUser(user),
    })),
  ];
  return (context) => {
    const given = tokenOf(context);
    return given === undefined ? undefined : known.filter(isSame(digest(given)))[0]?.service;
  };
}

/** Lets requests with a token through, and gives them the service that they act with. */
export function actingService(callerOf: CallerOf): MiddlewareHandler<Acting> {
  return async (context, next) => {
    const caller = callerOf(context);
    if (!caller) return refusal(tokenOf(context));
    const user = context.req.header(USER_HEADER);
    context.set("service", user === undefined ? caller : caller.forUser(decoded(user)));
    return await next();
  };
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
