import type { z } from "zod";
import { SessionError } from "../core/errors.ts";
import type { Author } from "../core/event.ts";
import { isObject } from "../core/fields.ts";
import type { Issue } from "../core/issues.ts";
import type { Operation } from "../core/operations/operation.ts";
import type { TurnOptions } from "../core/operations/turns.ts";
import { OPERATIONS, type OperationName } from "../core/operations.ts";
import type { SessionService } from "../core/session-service.ts";
import { errorToWire, fromWire, toWire } from "../core/wire.ts";

/**
 * Runs an operation for a surface, from the wire's names to a JSON object.
 * The service checks the request. A surface only passes it on.
 *
 * @throws SessionError, with the wire's names.
 */
export async function callOperation(
  service: SessionService,
  name: OperationName,
  params: unknown,
  options: TurnOptions = {},
): Promise<Record<string, unknown>> {
  const operation: Operation = OPERATIONS[name];
  try {
    const request = withAuthor(name, fromWire(operation.request, params ?? {}));
    const result = await service[name](request as never, options);
    return wireResult(operation, result);
  } catch (error) {
    throw errorToWire(operation.request, SessionError.from(error));
  }
}

/**
 * The service and the request of a message that may name a `user` beside the fields of its operation.
 *
 * @throws SessionError `INVALID_PARAMS`, `USER_NOT_ALLOWED`
 */
export function actingFor(
  service: SessionService,
  params: unknown,
): { readonly service: SessionService; readonly params: unknown } {
  if (!isObject(params) || !Object.hasOwn(params, "user")) return { service, params };
  const { user, ...request } = params;
  return { service: service.forUser(user as string), params: request };
}

/**
 * A request that says who wrote what is in it, for each operation whose request has an `origin`. A program sends a prompt
 * and an entry of memory, so they are no user's words unless the request says so. An origin without an author belongs to
 * a recording. `author` overrules the request, so that no model can teach the project in the user's name.
 */
export function withAuthor(name: OperationName, request: unknown, author?: Author): unknown {
  const { shape } = OPERATIONS[name].request;
  if (!isObject(request) || !("origin" in shape)) return request;
  if ("prompt" in shape) {
    if (request.prompt === undefined) return request;
  } else if (author === undefined && name !== "addMemory") return request;
  const { origin } = request;
  if (origin === undefined) return { ...request, origin: { author: author ?? "program" } };
  return author && isObject(origin) ? { ...request, origin: { ...origin, author } } : request;
}

/** A result as a JSON object, wrapped where `resultKey` says so. */
export function wireResult(operation: Operation, result: unknown): Record<string, unknown> {
  const { resultKey, beside } = operation;
  const wire = toWire(operation.result, result);
  if (!resultKey) return wire as Record<string, unknown>;
  const others = beside ? toWire(beside, fieldsOf(beside, result as object)) : {};
  return { [resultKey]: wire ?? true, ...(others as object) };
}

/** The fields of an object that a schema has. */
export function fieldsOf(schema: z.ZodObject, value: object): Record<string, unknown> {
  const known = Object.entries(value).filter(([name]) => Object.hasOwn(schema.shape, name));
  return Object.fromEntries(known);
}

/** A failure as JSON, the same on every surface. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** The wrong fields of an `INVALID_PARAMS`. */
  readonly issues?: readonly Issue[];
  /** How many milliseconds to wait before a retry, if that is known. */
  readonly retry_after_ms?: number;
  /** Set when a session was not found because it is archived. */
  readonly archived?: true;
}

export function wireError(error: SessionError): WireError {
  const { code, message, hint, issues, retry, archived } = error;
  const afterMs = retry?.afterMs;
  return {
    code,
    message,
    hint,
    ...(issues ? { issues } : {}),
    ...(afterMs === undefined ? {} : { retry_after_ms: afterMs }),
    ...(archived ? { archived } : {}),
  };
}
