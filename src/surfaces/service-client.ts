import { ERRORS, type ErrorCode, SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { Issue } from "../core/issues.ts";
import {
  type ImportStream,
  type ImportTranscripts,
  streamOf,
  UPLOAD_CHARACTERS_MAX,
} from "../core/operations/imports.ts";
import type { Operation } from "../core/operations/operation.ts";
import { parseRequest } from "../core/operations/operation.ts";
import { nothing } from "../core/operations/request-fields.ts";
import {
  type SubscribeOptions,
  subscribe as subscribeRequest,
  userRequest,
} from "../core/operations/sessions.ts";
import type { TurnOptions } from "../core/operations/turns.ts";
import { OPERATIONS, type OperationName } from "../core/operations.ts";
import { requireOptions, SUBSCRIBE_OPTIONS, TURN_OPTIONS } from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import { harmlessListener } from "../core/warn.ts";
import { errorFromWire, fromWire, toWire } from "../core/wire.ts";
import { fieldsOf, type WireError } from "./call-operation.ts";

/** The user that a request is for, if any. */
export interface ForUser {
  readonly user?: string;
}

/** The methods of a surface's client that `serviceOver` needs. */
export interface ServiceConnection {
  /** Takes and returns the wire's names. Failures of the other side are thrown as `remoteError`. */
  call(
    name: OperationName,
    params: Record<string, unknown>,
    options: TurnOptions & ForUser,
  ): Promise<Record<string, unknown>>;
  subscribe(
    params: Record<string, unknown>,
    options: SubscribeOptions & ForUser,
  ): AsyncIterable<EventEnvelope>;
  /** Calls `importTranscripts` with a stream. Without it, a stream is sent in one message. */
  readonly upload?: (streamed: ImportStream, by: ForUser) => Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** The session service at the other end of a connection. It keeps the same laws. */
export function serviceOver(connection: ServiceConnection, by: ForUser = {}): SessionService {
  async function call(name: OperationName, request: unknown, options: TurnOptions = {}) {
    requireOptions(`${name}()`, TURN_OPTIONS, options);
    const operation: Operation = OPERATIONS[name];
    const streamed = operation.uploads && streamOf(request);
    if (streamed && connection.upload) {
      return fromWire(operation.result, await connection.upload(streamed, by));
    }
    const sent = streamed ? await inOneMessage(streamed) : request;
    const params = toWire(operation.request, sent) as Record<string, unknown>;
    const { onEvent } = options;
    const harmless = onEvent ? { ...options, onEvent: harmlessListener(onEvent) } : options;
    const asked = { ...harmless, ...by };
    const wire = await connection.call(name, params, asked).catch((error: unknown) => {
      throw errorFromWire(operation.request, SessionError.from(error));
    });
    if (operation.result === nothing) return undefined;
    const { result, resultKey, beside } = operation;
    if (resultKey === undefined) return fromWire(result, wire);
    const { [resultKey]: list, ...others } = wire;
    const found = fromWire(result, list);
    if (!beside || !Array.isArray(found)) return found;
    return Object.assign(found, fieldsOf(beside, fromWire(beside, others) as object));
  }
  const methods = (Object.keys(OPERATIONS) as OperationName[]).map((name) => [
    name,
    (request: unknown = {}, options?: TurnOptions) => call(name, request, options),
  ]);
  return {
    ...(Object.fromEntries(methods) as Pick<SessionService, OperationName>),
    async *subscribe(request, options = {}) {
      requireOptions("subscribe()", SUBSCRIBE_OPTIONS, options);
      const params = toWire(subscribeRequest, request) as Record<string, unknown>;
      try {
        yield* connection.subscribe(params, { ...options, ...by });
      } catch (error) {
        throw errorFromWire(subscribeRequest, SessionError.from(error));
      }
    },
    forUser(user) {
      const asked = parseRequest(userRequest, { user });
      if (by.user !== undefined && by.user !== asked.user) {
        throw new SessionError("USER_NOT_ALLOWED");
      }
      return serviceOver(connection, asked);
    },
    // The service of a user ends with the one that it was asked of.
    close: async () => {
      if (by.user === undefined) await connection.close();
    },
  };
}

const MESSAGE_BYTES_MAX = (UPLOAD_CHARACTERS_MAX / 4) * 3;

/**
 * The request without a stream.
 *
 * @throws SessionError `INVALID_PARAMS` when it is more than a message takes
 */
async function inOneMessage({ bytes, ...named }: ImportStream): Promise<ImportTranscripts> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > MESSAGE_BYTES_MAX) {
      throw new SessionError("INVALID_PARAMS", {
        message: `The transcript has more than ${MESSAGE_BYTES_MAX} bytes, the maximum for one message. JSON-RPC and MCP cannot stream it.`,
        hint: "Send it over REST, or run `rkat import` where the server runs.",
      });
    }
    // A reader may use its buffer again.
    chunks.push(chunk.slice());
  }
  return { ...named, base64: Buffer.concat(chunks, size).toString("base64") };
}

/** The error that the other side threw. */
export function remoteError(wire: Partial<WireError>): SessionError {
  const known = wire.code !== undefined && wire.code in ERRORS;
  const code = known ? (wire.code as ErrorCode) : "INTERNAL_ERROR";
  const afterMs = wire.retry_after_ms;
  return new SessionError(code, {
    ...textOf(wire),
    ...(wire.hint === undefined ? {} : { hint: wire.hint }),
    ...(afterMs === undefined ? {} : { retry: { afterMs } }),
    ...(wire.archived === true ? { archived: true } : {}),
  });
}

/** The message is made of the issues again, so that it can name fields as the code does. */
function textOf({ issues, message }: Partial<WireError>) {
  if (areIssues(issues)) return { issues };
  return message === undefined ? {} : { message };
}

/** Checked because the other side may be any program. */
function areIssues(issues: unknown): issues is readonly Issue[] {
  return (
    Array.isArray(issues) &&
    issues.every((issue) => Array.isArray(issue?.path) && typeof issue.message === "string")
  );
}

/** The queue for a slow reader, in characters of JSON. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;

type State = "open" | "overflowed" | "ended";

/** The events of one subscription, queued for their reader. */
export class RemoteSubscription {
  /** The server's id for it. */
  readonly id: string;
  /** The `seq` after which the reader still needs events. */
  last: number;
  state: State = "open";
  error: unknown;
  #waiting: { readonly event: EventEnvelope; readonly size: number }[] = [];
  #characters = 0;
  #wake = () => {};

  constructor(id: string, afterSeq: number) {
    this.id = id;
    this.last = afterSeq;
  }

  push(event: EventEnvelope, size: number): void {
    if (this.state !== "open") return;
    this.#characters += size;
    // The reader subscribes again after `last` when it has caught up.
    if (this.#characters > WAITING_CHARACTERS_MAX && this.#waiting.length > 0) {
      this.state = "overflowed";
    } else {
      this.#waiting.push({ event, size });
    }
    this.#wake();
  }

  end(error?: unknown): void {
    if (this.state === "ended") return;
    this.state = "ended";
    this.error = error;
    this.#wake();
  }

  /** The queued events and then new ones, until the queue overflows or the subscription ends. */
  async *events(): AsyncIterable<EventEnvelope> {
    while (true) {
      for (const { event, size } of this.#waiting.splice(0)) {
        this.#characters -= size;
        this.last = event.seq;
        yield event;
      }
      if (this.#waiting.length > 0) continue;
      if (this.state !== "open") return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
