import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import type { SessionService } from "../../core/session-service.ts";

/**
 * One HTTP request with its response. The SDK's transports queue streamed messages
 * without a bound. An exchange adds backpressure: it holds one message that the client has not
 * taken. The events behind it wait in the queues of the readers, which are bounded.
 */
export class HttpExchange {
  static readonly #current = new AsyncLocalStorage<HttpExchange>();
  readonly #service: SessionService;
  readonly #atEnd: (() => void)[] = [];
  #untaken = 0;
  #ended = false;
  #senders: (() => void)[] = [];

  private constructor(service: SessionService) {
    this.#service = service;
  }

  /** Serves a request that acts with a service. Code that runs in `work` finds this exchange. */
  static async serve(service: SessionService, work: () => Promise<Response>): Promise<Response> {
    const exchange = new HttpExchange(service);
    try {
      return exchange.#counted(await HttpExchange.#current.run(exchange, work));
    } catch (error) {
      exchange.#end();
      throw error;
    }
  }

  /** The service that the current request acts with. */
  static service(): SessionService {
    const exchange = HttpExchange.#current.getStore();
    assert(exchange);
    return exchange.#service;
  }

  /**
   * Sends a message when the client of the current request has taken the one before it. A message
   * that waits when `signal` aborts is not sent: its client may never take anything again.
   */
  static async send(message: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const exchange = HttpExchange.#current.getStore();
    if (exchange) await exchange.#room(signal);
    if (!signal.aborted) await message();
  }

  /** Calls `work` once, when the response was read or the client is gone. */
  static atEnd(work: () => void): void {
    const exchange = HttpExchange.#current.getStore();
    if (exchange) exchange.#atEnd.push(work);
  }

  async #room(signal: AbortSignal): Promise<void> {
    while (this.#untaken > 0 && !this.#ended && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#senders.push(resolve);
      const onAbort = () => resolve();
      signal.addEventListener("abort", onAbort);
      await promise;
      signal.removeEventListener("abort", onAbort);
    }
    this.#untaken += 1;
  }

  #taken(): void {
    this.#untaken = Math.max(0, this.#untaken - 1);
    for (const send of this.#senders.splice(0)) send();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#taken();
    for (const work of this.#atEnd) work();
  }

  #counted(response: Response): Response {
    const reader = response.body?.getReader();
    if (!reader) {
      this.#end();
      return response;
    }
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          this.#taken();
          if (!done) return controller.enqueue(value);
          this.#end();
          controller.close();
        },
        cancel: (reason) => {
          this.#end();
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    const { status, headers } = response;
    const copy = new Response(body, { status, headers });
    // Without this the Node adapter sends the headers with the first chunk only.
    if (headers.get("content-type")?.startsWith("text/event-stream")) {
      copy.headers.set("transfer-encoding", "chunked");
    }
    return copy;
  }
}
