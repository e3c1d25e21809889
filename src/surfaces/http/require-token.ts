import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { SessionError } from "../../core/errors.ts";
import { errorResponse } from "./error-response.ts";

/** Lets requests with the token through. */
export function requireToken(token: string): MiddlewareHandler {
  return async (context, next) => {
    if (hasToken(context, token)) return await next();
    const message = tokenOf(context) === undefined ? undefined : "The token is wrong.";
    const error = new SessionError("UNAUTHORIZED", message === undefined ? {} : { message });
    return errorResponse(error, undefined, { "www-authenticate": 'Bearer realm="rkat"' });
  };
}

/** Whether a request has the token. The comparison takes the same time for every text. */
export function hasToken(context: Context, token: string): boolean {
  const given = tokenOf(context);
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

function tokenOf({ req }: Context): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(req.header("authorization") ?? "")?.[1];
}

/** All digests have the same length, as the comparison needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
