import { HTTPException } from "hono/http-exception";
import { ERRORS, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { wireError } from "../call-operation.ts";

type Headers = Readonly<Record<string, string>>;

/** A failure as an HTTP response. `status` is for cases where HTTP is more exact than the table. */
export function errorResponse(
  error: SessionError,
  status: number = ERRORS[error.code].httpStatus,
  headers: Headers = {},
): Response {
  const seconds = Math.ceil((error.retry?.afterMs ?? 0) / 1000);
  return Response.json(wireError(error), {
    status,
    headers: { ...(seconds > 0 ? { "retry-after": String(seconds) } : {}), ...headers },
  });
}

/** A request that this server refuses before the service sees it: unknown route, too large, not JSON. */
export function notValid(
  status: 400 | 404 | 405 | 413 | 415,
  message: string,
  { headers, hint }: { readonly headers?: Headers; readonly hint?: string } = {},
): HTTPException {
  const error = new SessionError("INVALID_PARAMS", { message, ...given({ hint }) });
  return new HTTPException(status, { res: errorResponse(error, status, headers) });
}

export function shuttingDown(): SessionError {
  return unavailable("The server is shutting down.", 5000);
}

/** Refuses a user who holds their share. A 503 would tell a load balancer that the server is down for all. */
export function shareUsedUp(message: string): HTTPException {
  return new HTTPException(429, { res: errorResponse(unavailable(message), 429) });
}

/** Refuses a request that may succeed later. */
export function unavailable(message: string, afterMs = 1000): SessionError {
  return new SessionError("SERVICE_UNAVAILABLE", { message, retry: { afterMs } });
}
