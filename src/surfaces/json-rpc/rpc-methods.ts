import { z } from "zod";
import { SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { isObject } from "../../core/fields.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { parseRequest } from "../../core/operations/operation.ts";
import { type Subscribe, subscribe as subscribeRequest } from "../../core/operations/sessions.ts";
import { CONTRACT_VERSION, OPERATIONS, type OperationName } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorToWire, fromWire } from "../../core/wire.ts";
import { actingFor, callOperation, type WireError, wireError } from "../call-operation.ts";
import { streamTurn } from "../turn-events.ts";
import type { RpcId } from "./rpc-message.ts";

export interface RpcMethod {
  /** It takes long and can be cancelled. It does not count as a short request. */
  readonly long?: true;
  run(params: unknown, call: CallContext): unknown;
}

interface CallContext {
  /** Undefined for a notification. */
  readonly id: RpcId | undefined;
  /** Resolves when the answer was written. */
  readonly answered: Promise<void>;
  /** Aborts when the request is cancelled. */
  readonly signal: AbortSignal;
}

interface Connection {
  readonly service: SessionService;
  readonly version: string;
  readonly config?: () => Promise<Readonly<Record<string, unknown>>>;
  readonly subscriptions: Subscriptions;
  readonly notify: Notify;
  /** Returns whether a request with this id was running. */
  cancel(id: RpcId): boolean;
}

const unsubscribeParams = z.strictObject({ subscription_id: z.string() });
const cancelParams = z.strictObject({ id: z.union([z.string(), z.number(), z.null()]) });

/** The methods of a connection by name: the operations, subscriptions and the protocol's own. */
export function rpcMethods(connection: Connection): ReadonlyMap<string, RpcMethod> {
  const { version, config, subscriptions, cancel } = connection;
  const methods = new Map<string, RpcMethod>();
  methods.set("initialize", {
    run: () => ({
      server_info: { name: "rkat", version },
      contract_version: CONTRACT_VERSION,
      methods: [...methods.keys()],
    }),
  });
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    methods.set(operation.rpc, operationMethod(connection, name as OperationName, operation));
  }
  if (config) methods.set("config/get", { run: config });
  methods.set("session/subscribe", {
    run: (params, { answered }) => subscriptions.add(params, answered),
  });
  methods.set("session/unsubscribe", {
    run(params) {
      const { subscription_id } = parseRequest(unsubscribeParams, params);
      return { unsubscribed: subscriptions.remove(subscription_id) };
    },
  });
  methods.set("$/cancelRequest", {
    run: (params) => ({ cancelled: cancel(parseRequest(cancelParams, params).id) }),
  });
  return methods;
}

function operationMethod(
  { service, notify }: Connection,
  name: OperationName,
  { streams }: Operation,
): RpcMethod {
  if (!streams) {
    return {
      run(asked) {
        const { service: acting, params } = actingFor(service, asked);
        return callOperation(acting, name, params);
      },
    };
  }
  return {
    long: true,
    async run(asked, { id, signal }) {
      const { service: acting, params } = actingFor(service, asked);
      const sessionId = isObject(params) ? String(params.session_id) : "";
      const about = { session_id: sessionId, ...(id === undefined ? {} : { request_id: id }) };
      const send = (event: EventEnvelope) => notify("session/event", { ...about, event });
      return await streamTurn(acting, sessionId, send, (onEvent) =>
        callOperation(acting, name, params, { signal, onEvent }),
      );
    },
  };
}

/** Subscriptions of one connection at once. */
const SUBSCRIPTIONS_MAX = 1000;

/** Sends a notification. Resolves when the other side is ready for more. */
type Notify = (method: string, params: Readonly<Record<string, unknown>>) => Promise<void>;

interface SubscriptionAdded {
  readonly subscription_id: string;
  readonly after_seq: number;
}

/** The subscriptions of one connection, with backpressure. The service bounds what is queued. */
export class Subscriptions {
  readonly #service: SessionService;
  readonly #notify: Notify;
  readonly #byId = new Map<string, AbortController>();
  #nextId = 1;
  /** Events sent so far. */
  sent = 0;

  constructor(service: SessionService, notify: Notify) {
    this.#service = service;
    this.#notify = notify;
  }

  get open(): number {
    return this.#byId.size;
  }

  /**
   * Resolves when the subscription is open, with the `seq` after which it sends
   * every event. Events wait for `answered`, so that the client knows the id first.
   *
   * @throws SessionError, with the wire's names.
   */
  async add(params: unknown, answered: Promise<void>): Promise<SubscriptionAdded> {
    if (this.#byId.size >= SUBSCRIPTIONS_MAX) {
      throw new SessionError("SERVICE_UNAVAILABLE", {
        message: `Too many subscriptions: the connection has ${SUBSCRIPTIONS_MAX}.`,
        hint: "End one with session/unsubscribe first.",
      });
    }
    const id = String(this.#nextId++);
    const controller = new AbortController();
    this.#byId.set(id, controller);
    const after_seq = await new Promise<number>((resolve, reject) => {
      void this.#follow(id, params, controller.signal, answered, resolve).catch((error) => {
        reject(errorToWire(subscribeRequest, SessionError.from(error)));
      });
    });
    return { subscription_id: id, after_seq };
  }

  remove(id: string): boolean {
    this.#byId.get(id)?.abort();
    return this.#byId.delete(id);
  }

  removeAll(): void {
    for (const id of this.#byId.keys()) this.remove(id);
  }

  async #follow(
    id: string,
    params: unknown,
    signal: AbortSignal,
    answered: Promise<void>,
    onOpen: (afterSeq: number) => void,
  ): Promise<void> {
    let opened = false;
    let failure: { error?: WireError } = {};
    const about = {
      session_id: isObject(params) ? params.session_id : undefined,
      subscription_id: id,
    };
    try {
      const acting = actingFor(this.#service, params);
      const request = fromWire(subscribeRequest, acting.params) as Subscribe;
      const options = {
        signal,
        onOpen(afterSeq: number) {
          opened = true;
          onOpen(afterSeq);
        },
      };
      for await (const event of acting.service.subscribe(request, options)) {
        await answered;
        if (signal.aborted) return;
        await this.#notify("session/event", { ...about, event });
        this.sent += 1;
      }
    } catch (error) {
      if (!opened) throw error;
      failure = { error: wireError(SessionError.from(error)) };
    } finally {
      this.#byId.delete(id);
    }
    await answered;
    if (!signal.aborted) await this.#notify("session/subscription_ended", { ...about, ...failure });
  }
}
