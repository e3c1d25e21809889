import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionError } from "../../core/errors.ts";
import { joinSignals } from "../../core/join-signals.ts";
import type { SessionService } from "../../core/session-service.ts";
import { type Line, lineProblem, readLines } from "../../text/read-lines.ts";
import { LineWriter } from "../line-writer.ts";
import {
  BadCall,
  errorLine,
  invalidRequest,
  methodNotFound,
  notificationLine,
  parseError,
  parseJson,
  type RpcId,
  readCall,
  resultLine,
  rpcError,
} from "./rpc-message.ts";
import { type RpcMethod, rpcMethods, Subscriptions } from "./rpc-methods.ts";

export interface JsonRpcServerOptions {
  readonly service: SessionService;
  /** One message a line. When it ends, open requests may finish before the connection ends. */
  readonly input: Readable;
  /** Gets nothing but messages, one a line. It is ended with the connection. */
  readonly output: Writable;
  /** Ends the connection. Running turns are interrupted and answered. */
  readonly signal?: AbortSignal;
  /** The result of `config/get`. Without it the method does not exist. */
  readonly config?: () => Promise<Readonly<Record<string, unknown>>>;
  /** The version that `initialize` reports. */
  readonly version: string;
  /** Bytes of one line. A longer one is skipped and answered with an error. Default: 16 MiB. */
  readonly lineBytesMax?: number;
  /** Turns and compactions that may run at once on this connection. Default: 100. */
  readonly turnsMax?: number;
  /** How long running turns may take to finish after the input has ended. Default: 30 seconds. */
  readonly drainMs?: number;
  /** How long an interrupted turn may take to end, and the reader to read the last answers. Default 5000. */
  readonly graceMs?: number;
}

export const LINE_BYTES_MAX = 16 * 1024 * 1024;
const TURNS_MAX = 100;
const DRAIN_MS = 30_000;
/** Short requests that run at once. More are not refused: they wait unread. */
const REQUESTS_MAX = 64;
const BATCH_MAX = 100;
const GRACE_MS = 5000;
/** Subscriptions that sent nothing for this long have sent everything in the log. */
const QUIET_MS = 50;

/** One connection: runs requests concurrently and answers each when it is done. */
export class JsonRpcServer {
  readonly #options: JsonRpcServerOptions;
  readonly #writer: LineWriter;
  readonly #subscriptions: Subscriptions;
  readonly #methods: ReadonlyMap<string, RpcMethod>;
  /** Running turns and compactions, with the ids of their requests. */
  readonly #turns = new Map<AbortController, RpcId | undefined>();
  readonly #unanswered = new Set<Promise<void>>();
  #onStop = () => {};
  #requests = 0;
  #onRoom = () => {};

  constructor(options: JsonRpcServerOptions) {
    this.#options = options;
    // When the other side stops reading answers, its requests are not read either.
    this.#writer = new LineWriter(options.output, () => options.input.destroy());
    const notify = (method: string, params: Readonly<Record<string, unknown>>) =>
      this.#writer.writeWhenReady(() => notificationLine(method, params));
    this.#subscriptions = new Subscriptions(options.service, notify);
    this.#methods = rpcMethods({
      ...options,
      subscriptions: this.#subscriptions,
      notify,
      cancel: (id) => this.#cancel((running) => running === id),
    });
  }

  /** Resolves when the connection and all its requests have ended. */
  async serve(): Promise<void> {
    const { input, signal, lineBytesMax = LINE_BYTES_MAX } = this.#options;
    const stop = () => {
      input.destroy();
      this.#onStop();
    };
    signal?.addEventListener("abort", stop);
    try {
      if (signal?.aborted) stop();
      for await (const line of readLines(input, lineBytesMax)) await this.#receive(line);
    } catch (error) {
      // An input that was cut off counts as ended.
      if (!input.destroyed) throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      await this.#drain();
    }
  }

  /** Starts the requests of a line. Resolves when the next line may be read. */
  async #receive(line: Line): Promise<void> {
    // Backpressure: reads no more while the other side does not read the answers.
    await this.#mayAnswer();
    if (this.#options.signal?.aborted) return;
    let message: unknown;
    try {
      message = readMessage(line, this.#options.lineBytesMax ?? LINE_BYTES_MAX);
    } catch (error) {
      void this.#writer.write(failureLine(null, error));
      return;
    }
    const answered = Promise.withResolvers<void>();
    const answers: Promise<string | undefined>[] = [];
    for (const value of Array.isArray(message) ? message : [message]) {
      while (this.#requests >= REQUESTS_MAX) await this.#room();
      answers.push(this.#answer(value, answered.promise));
    }
    const all = Promise.all(answers).then((lines) => {
      const given = lines.filter((line) => line !== undefined);
      const answer = Array.isArray(message) ? `[${given.join(",")}]` : given.join();
      if (given.length > 0) void this.#writer.write(answer);
      answered.resolve();
      this.#unanswered.delete(all);
    });
    this.#unanswered.add(all);
  }

  /** The answer to one request. A notification has none. */
  async #answer(value: unknown, answered: Promise<void>): Promise<string | undefined> {
    let id: RpcId | undefined;
    try {
      const call = readCall(value);
      id = call.id;
      const method = this.#methods.get(call.method);
      if (!method) throw new BadCall(methodNotFound(call.method), id);
      const run = (signal: AbortSignal) => method.run(call.params, { id, answered, signal });
      const result = await (method.long ? this.#runLong(id, run) : this.#runShort(run));
      return id === undefined ? undefined : resultLine(id, result);
    } catch (error) {
      const answerTo = error instanceof BadCall ? error.id : id;
      return answerTo === undefined ? undefined : failureLine(answerTo, error);
    }
  }

  async #runShort(run: (signal: AbortSignal) => unknown): Promise<unknown> {
    this.#requests += 1;
    try {
      return await run(new AbortController().signal);
    } finally {
      this.#requests -= 1;
      this.#onRoom();
    }
  }

  async #runLong(id: RpcId | undefined, run: (signal: AbortSignal) => unknown): Promise<unknown> {
    const { turnsMax = TURNS_MAX } = this.#options;
    if (this.#turns.size >= turnsMax) {
      throw new SessionError("SERVICE_UNAVAILABLE", {
        message: `Too many turns on this connection: ${turnsMax} are running.`,
        hint: "Wait for one to end, or interrupt it.",
        retry: {},
      });
    }
    const controller = new AbortController();
    this.#turns.set(controller, id);
    try {
      return await run(controller.signal);
    } finally {
      this.#turns.delete(controller);
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  /** Resolves when the reader has caught up, or the connection ends. */
  async #mayAnswer(): Promise<void> {
    if (this.#options.signal?.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onStop = resolve;
      void this.#writer.ready().then(resolve);
    });
  }

  #cancel(which: (id: RpcId | undefined) => boolean): boolean {
    const running = [...this.#turns].filter(([, id]) => which(id));
    for (const [controller] of running) controller.abort(new SessionError("TURN_INTERRUPTED"));
    return running.length > 0;
  }

  async #drain(): Promise<void> {
    const { signal, drainMs = DRAIN_MS, graceMs = GRACE_MS } = this.#options;
    await this.#settle(drainMs, signal);
    this.#cancel(() => true);
    await this.#settle(graceMs);
    if (!signal?.aborted) await this.#quiet(graceMs);
    this.#subscriptions.removeAll();
    await this.#writer.end(graceMs);
  }

  /** Waits until everything is answered, or the time is up. */
  async #settle(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const settled = new AbortController();
    const stop = joinSignals([signal, settled.signal]);
    const timeout = sleep(timeoutMs, undefined, { signal: stop.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#unanswered), timeout]);
    settled.abort();
    stop.release();
  }

  /** Waits until subscriptions have sent what is in the log. */
  async #quiet(timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs;
    for (let sent = -1; sent !== this.#subscriptions.sent && Date.now() < until; ) {
      sent = this.#subscriptions.sent;
      if (this.#subscriptions.open > 0) await sleep(QUIET_MS);
    }
  }
}

/** @throws BadCall */
function readMessage(line: Line, bytesMax: number): unknown {
  if (line.problem) {
    const detail = `the line ${lineProblem(line.problem, bytesMax)}`;
    const error = line.problem === "not_utf8" ? parseError(detail) : invalidRequest(detail);
    throw new BadCall(error, null);
  }
  const message = parseJson(line.text);
  if (Array.isArray(message)) {
    if (message.length === 0) throw new BadCall(invalidRequest("the batch is empty"), null);
    if (message.length > BATCH_MAX) {
      throw new BadCall(invalidRequest(`a batch may have ${BATCH_MAX} requests`), null);
    }
  }
  return message;
}

function failureLine(id: RpcId, error: unknown): string {
  return errorLine(id, error instanceof BadCall ? error.error : rpcError(error));
}
