import { ERRORS, SessionError } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import { type WireError, wireError } from "../call-operation.ts";

export type RpcId = string | number | null;

/** A request, or a notification when it has no id. */
export interface RpcCall {
  readonly id?: RpcId;
  readonly method: string;
  readonly params: unknown;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: WireError;
}

/** A message that is not a valid request, and the error that answers it. */
export class BadCall extends Error {
  readonly id: RpcId | undefined;
  readonly error: RpcError;

  /** `id` is null when it cannot be known, and undefined for a notification, which gets no answer. */
  constructor(error: RpcError, id: RpcId | undefined) {
    super(error.message);
    this.error = error;
    this.id = id;
  }
}

export const INVALID_REQUEST = -32600;

export function parseError(detail: string): RpcError {
  return { code: -32700, message: `Parse error: ${detail}.` };
}

export function invalidRequest(detail: string): RpcError {
  return { code: INVALID_REQUEST, message: `Invalid Request: ${detail}.` };
}

export function methodNotFound(method: string): RpcError {
  const shown = method.length > 100 ? `${method.slice(0, 100)}…` : method;
  return { code: -32601, message: `Method not found: ${shown}` };
}

/** @throws BadCall */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadCall(parseError("the line is not JSON"), null);
  }
}

const MEMBERS = ["jsonrpc", "id", "method", "params"];

/** @throws BadCall */
export function readCall(value: unknown): RpcCall {
  if (!isObject(value)) throw new BadCall(invalidRequest("it is not an object"), null);
  const { id, method, params } = value;
  if (id !== undefined && !isId(id)) {
    throw new BadCall(invalidRequest("the id must be a string, an exact number or null"), null);
  }
  const refuse = (detail: string) => new BadCall(invalidRequest(detail), id ?? null);
  if (value.jsonrpc !== "2.0") throw refuse('jsonrpc must be "2.0"');
  if (typeof method !== "string") throw refuse("the method must be a string");
  if (params !== undefined && (typeof params !== "object" || params === null)) {
    throw refuse("the params must be an object or an array");
  }
  // A misplaced `user` must not turn a request for one user into one for the whole project.
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw refuse(
      `${JSON.stringify(unknown.slice(0, 100))} is no member of a request; fields go into params`,
    );
  }
  return { ...(id === undefined ? {} : { id }), method, params: params ?? {} };
}

export function requestLine(id: RpcId, method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

export function resultLine(id: RpcId, result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

export function errorLine(id: RpcId, error: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

export function notificationLine(
  method: string,
  params: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/** A failure of the service as a JSON-RPC error. */
export function rpcError(thrown: unknown): RpcError {
  const error = SessionError.from(thrown);
  const { jsonRpcCode } = ERRORS[error.code];
  return { code: jsonRpcCode, message: error.message, data: wireError(error) };
}

/** Large integers are refused: JavaScript would change them in the answer. */
function isId(id: unknown): id is RpcId {
  if (typeof id !== "number") return typeof id === "string" || id === null;
  return Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id));
}
