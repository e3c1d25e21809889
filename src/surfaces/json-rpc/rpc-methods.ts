import { z } from "zod";
import type { EventEnvelope } from "../../core/event.ts";
import { isObject } from "../../core/fields.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { parseRequest } from "../../core/operations/parse-request.ts";
import { CONTRACT_VERSION, OPERATIONS, type OperationName } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { actingFor, callOperation } from "../call-operation.ts";
import { streamTurn } from "../turn-events.ts";
import type { RpcId } from "./rpc-message.ts";
import type { Notify, Subscriptions } from "./subscriptions.ts";

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
