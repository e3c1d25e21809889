import { SessionError } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import { type Subscribe, subscribe as subscribeRequest } from "../../core/operations/sessions.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorToWire, fromWire } from "../../core/wire.ts";
import { actingFor, type WireError, wireError } from "../call-operation.ts";

/** Subscriptions of one connection at once. */
const SUBSCRIPTIONS_MAX = 1000;

/** Sends a notification. Resolves when the other side is ready for more. */
export type Notify = (method: string, params: Readonly<Record<string, unknown>>) => Promise<void>;

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
