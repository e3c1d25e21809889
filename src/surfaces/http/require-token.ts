import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { SessionError } from "../../core/errors.ts";
import { errorResponse } from "./error-response.ts";

/** Lets requests with the token through. The comparison takes the same time for every text. */
export function requireToken(token: string): MiddlewareHandler {
  const expected = digest(token);
  return async (context, next) => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(context.req.header("authorization") ?? "") ?? [];
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return await next();
    const message = given === undefined ? undefined : "The token is wrong.";
    const error = new SessionError("UNAUTHORIZED", message === undefined ? {} : { message });
    return errorResponse(error, undefined, { "www-authenticate": 'Bearer realm="rkat"' });
  };
}

/** All digests have the same length, as the comparison needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
