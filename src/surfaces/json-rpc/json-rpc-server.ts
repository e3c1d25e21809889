import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionError } from "../../core/errors.ts";
import { type Line, readLines } from "../../core/read-lines.ts";
import type { SessionService } from "../../core/session-service.ts";
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
import { type RpcMethod, rpcMethods } from "./rpc-methods.ts";
import { Subscriptions } from "./subscriptions.ts";

export interface JsonRpcServerOptions {
  readonly service: SessionService;
  /** One message a line. When it ends, what runs may finish; then the connection ends. */
  readonly input: Readable;
  /** Gets messages and nothing else, one a line; ended with the connection. */
  readonly output: Writable;
  /** Ends the connection: what runs is interrupted and answered. */
  readonly signal?: AbortSignal;
  /** What `config/get` answers; without it there is no such method. */
  readonly config?: () => Promise<Readonly<Record<string, unknown>>>;
  /** What `initialize` says of this program. */
  readonly version: string;
  /** Bytes of one line. A longer one is skipped, and answered with an error. Default: 16 MiB. */
  readonly lineBytesMax?: number;
  /** Turns and compactions that may run at once on this connection. Default: 100. */
  readonly turnsMax?: number;
  /** How long what runs may take to finish when the input has ended. Default: 30 seconds. */
  readonly drainMs?: number;
}

export const LINE_BYTES_MAX = 16 * 1024 * 1024;
const TURNS_MAX = 100;
const DRAIN_MS = 30_000;
/** Short requests that are worked on at once. More are not refused, but read when some are done. */
const REQUESTS_MAX = 64;
const BATCH_MAX = 100;
/** How long what was interrupted may take to end, and a reader to read what is left. */
const GRACE_MS = 5000;
/** Subscriptions that told of nothing for this long have told of what there was. */
const QUIET_MS = 50;

/** One connection: reads requests, works on them side by side, and answers each when it is done. */
export class JsonRpcServer {
  readonly #options: JsonRpcServerOptions;
  readonly #writer: LineWriter;
  readonly #subscriptions: Subscriptions;
  readonly #methods: ReadonlyMap<string, RpcMethod>;
  /** What runs for long, with the ids of the requests. */
  readonly #turns = new Map<AbortController, RpcId | undefined>();
  readonly #unanswered = new Set<Promise<void>>();
  #onStop = () => {};
  #requests = 0;
  #onRoom = () => {};

  constructor(options: JsonRpcServerOptions) {
    this.#options = options;
    // Who does not read answers any more has no more to ask.
    this.#writer = new LineWriter(options.output, () => options.input.destroy());
    const write = (line: string) => this.#writer.write(line);
    this.#subscriptions = new Subscriptions(options.service, (method, params) =>
      write(notificationLine(method, params)),
    );
    this.#methods = rpcMethods({
      ...options,
      subscriptions: this.#subscriptions,
      write,
      cancel: (id) => this.#cancel((running) => running === id),
    });
  }

  /** Resolves when the connection has ended and nothing runs any more. */
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
      // An input that was cut off is an input that has ended.
      if (!input.destroyed) throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      await this.#drain();
    }
  }

  /** Begins to work on what a line asks; resolves when there is room for the next one. */
  async #receive(line: Line): Promise<void> {
    // Nothing is read from who does not read, so what waits for them is bounded.
    await this.#mayAnswer();
    if (this.#options.signal?.aborted) return;
    let message: unknown;
    try {
      message = readMessage(line);
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

  /** The answer to one request; a notification has none. */
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

  /** Resolves when the reader has caught up, or the connection is to end. */
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
    const { signal, drainMs = DRAIN_MS } = this.#options;
    await this.#settle(drainMs, signal);
    this.#cancel(() => true);
    await this.#settle(GRACE_MS);
    if (!signal?.aborted) await this.#quiet();
    this.#subscriptions.removeAll();
    await this.#writer.end(GRACE_MS);
  }

  /** Waits until everything is answered, or until the time is over. */
  async #settle(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const settled = new AbortController();
    const stop = signal ? AbortSignal.any([signal, settled.signal]) : settled.signal;
    const timeout = sleep(timeoutMs, undefined, { signal: stop }).catch(() => {});
    await Promise.race([Promise.all(this.#unanswered), timeout]);
    settled.abort();
  }

  /** Lets subscriptions tell of what is in the log already. */
  async #quiet(): Promise<void> {
    const until = Date.now() + GRACE_MS;
    for (let told = -1; told !== this.#subscriptions.told && Date.now() < until; ) {
      told = this.#subscriptions.told;
      if (this.#subscriptions.open > 0) await sleep(QUIET_MS);
    }
  }
}

const PROBLEMS = {
  too_long: invalidRequest("the line is too long, and was skipped"),
  not_utf8: parseError("the line is not UTF-8"),
} as const;

/** @throws BadCall */
function readMessage(line: Line): unknown {
  if (line.problem) throw new BadCall(PROBLEMS[line.problem], null);
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
