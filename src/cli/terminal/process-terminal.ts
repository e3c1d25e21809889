import { once } from "node:events";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ERRORS } from "../../core/errors.ts";
import { type RkatWarning, WARNING_NAME, warnedOutages } from "../../core/warn.ts";
import { printable, withOwnControls, wrapText } from "../render/printable.ts";
import type {
  InterruptibleOptions,
  Output,
  ScreenOwner,
  TakenScreen,
  Terminal,
} from "./terminal.ts";

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    stdin: {
      get isTerminal() {
        return process.stdin.isTTY === true;
      },
      [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
    },
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    interruptible,
    takeStreams() {
      process.stdout.off("error", exitOnError);
      for (const name of ["log", "info", "debug"] as const) console[name] = console.error;
      return {
        input: process.stdin,
        output: process.stdout,
        release: () => void (process.stdout.writableLength > 0 && process.exit()),
      };
    },
    takeChat: () => ({
      input: process.stdin,
      output: process.stdout,
      isTerminal: process.stdin.isTTY === true && process.stdout.isTTY === true,
      onInterrupt(listener) {
        process.on("SIGINT", listener);
        return () => process.off("SIGINT", listener);
      },
      release() {
        // A file has no `unref`, and does not keep the process running.
        if ("unref" in process.stdin) process.stdin.unref();
      },
    }),
    takeScreen,
  };
}

/** While a screen is drawn, other output would end up in the middle of it. */
function takeScreen({ onStray, restore }: ScreenOwner): TakenScreen {
  const { write } = process.stderr;
  const { log, info, debug } = console;
  process.stderr.write = (chunk: string | Uint8Array) => {
    onStray(String(chunk));
    return true;
  };
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  const endings = (["SIGTERM", "SIGHUP"] as const).map((signal) => {
    // A turn that runs has its own listener, which ends the turn first.
    const end = () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
    };
    process.on(signal, end);
    return () => process.off(signal, end);
  });
  process.once("exit", restore);
  return {
    interrupt: () => process.emit("SIGINT"),
    ...(process.platform === "win32" ? {} : { suspend }),
    release() {
      process.off("exit", restore);
      for (const stop of endings) stop();
      Object.assign(console, { log, info, debug });
      process.stderr.write = write;
    },
  };
}

async function suspend(): Promise<void> {
  process.kill(process.pid, "SIGTSTP");
  // The process stops above, and goes on here. Without a shell that stops programs, it goes on at once.
  await sleep(50);
}

function outputOf(stream: NodeJS.WriteStream): Output {
  stream.on("error", exitOnError);
  // A pipe and a file get an answer byte for byte. What is said to a person may end on a terminal all the same.
  const isSeen = stream.isTTY === true || stream === process.stderr;
  let drained: Promise<unknown> | undefined;
  return {
    isTerminal: stream.isTTY === true,
    rewrites: stream.isTTY === true && process.env.TERM !== "dumb",
    get columns() {
      // A terminal without a window has 0.
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
    async write(text) {
      if (stream.write(isSeen ? withOwnControls(text) : text)) return;
      const done = () => {
        drained = undefined;
      };
      // A stream that fails is told by its event.
      drained ??= once(stream, "drain").then(done, done);
      await drained;
    },
  };
}

/** Ends the work that Ctrl-C interrupts, if there is one. */
let stopWork: (() => void) | undefined;
let isStopped = false;

/**
 * `rkat … | head` closes the pipe early. That is not a failure; a full disk is. A turn is interrupted, as by Ctrl-C, so
 * that it keeps what was said and runs no tools unseen.
 */
export function exitOnError({ code }: NodeJS.ErrnoException): void {
  if (code === "EPIPE") {
    if (isStopped) return;
    if (!stopWork) process.exit(0);
    isStopped = true;
    stopWork();
    return;
  }
  process.stderr.write(`error: The output cannot be written (${code}).\n`);
  process.exit(1);
}

/** After this time a command that was asked to end is ended. What it has stored by then is whole: see crash.test.ts. */
const END_MS = 700;

/** Ctrl-C, an end that was asked for, and a terminal that was closed. */
const ENDINGS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type Ending = (typeof ENDINGS)[number];

async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { graceMs = 0, goesOn = false }: InterruptibleOptions = {},
): Promise<Result> {
  const controller = new AbortController();
  const endings = ENDINGS.map((signal) => {
    const listener = () => {
      if (controller.signal.aborted) end(signal);
      controller.abort();
      if (goesOn && signal === "SIGINT") return;
      // It may also hang when this work is done: in what it closes, or in a call of the system.
      setTimeout(end, graceMs + END_MS, signal).unref();
    };
    return { signal, listener };
  });
  for (const { signal, listener } of endings) process.on(signal, listener);
  const outer = stopWork;
  stopWork = () => {
    controller.abort();
    setTimeout(() => process.exit(ERRORS.TURN_INTERRUPTED.exitCode), graceMs + END_MS).unref();
  };
  try {
    return await work(controller.signal);
  } finally {
    stopWork = outer;
    for (const { signal, listener } of endings) process.off(signal, listener);
  }
}

/**
 * Ends the process by the signal's own action, after what has to be done at an exit. `process.exit` would wait for
 * calls of the system that may never return, such as the opening of a pipe that has no other end.
 */
function end(signal: Ending): void {
  process.emit("exit", 128 + constants.signals[signal]);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * Prints rkat's own warnings as `warning: …`, when they are due. Node's format, with its process id, is for
 * developers.
 */
export function printWarnings(): HeldWarnings {
  // Another command line of this process has told its own.
  warnedOutages.forget();
  const held = new HeldWarnings((message) => {
    const { stderr } = process;
    const line = `warning: ${printable(message)}\n`;
    stderr.write(stderr.isTTY ? wrapText(line, stderr.columns || 80) : line);
  });
  const ofNode = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === WARNING_NAME) held.add(warning as RkatWarning);
    else for (const listener of ofNode) listener.call(process, warning);
  });
  return held;
}

/** The fields of a warning that `HeldWarnings` reads. */
type HeldWarning = Pick<RkatWarning, "message" | "consequence" | "causeText">;

/**
 * Decides which warnings a command prints, and when. A failure that may still end the command waits for its end, because
 * the command tells that one itself. What does not end it is told once, however many parts of rkat meet it.
 *
 *     wait   ──► the command fails      prints the others
 *            ──► the command succeeds   prints all
 *            ──► it goes on: a server   prints all, and what comes later at once
 */
export class HeldWarnings {
  /** How a text is shown, with the flags of the command line in the commands that it names. */
  shown: (text: string) => string = (text) => text;
  readonly #print: (text: string) => void;
  #waiting: HeldWarning[] | undefined = [];
  /** The causes and sentences that were told; undefined when each warning is news. */
  #told: Set<string> | undefined = new Set();

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  add(warning: HeldWarning): void {
    // A note without a failure cannot be what ends the command.
    if (this.#waiting && warning.causeText !== undefined) this.#waiting.push(warning);
    else this.#say(warning);
  }

  /** Work begins whose failure is told by its caller. */
  wait(): void {
    this.#waiting ??= [];
    this.#told = new Set();
  }

  /** The work ended, with what its caller tells of its failure. */
  end(...causes: readonly string[]): void {
    this.#told ??= new Set();
    for (const cause of causes) this.#told.add(cause).add(ALL_OF + cause);
    this.#release();
  }

  /** The command works from now on, even if parts fail. The service tells each cause once per outage. */
  goOn(): void {
    this.#release();
    this.#told = undefined;
  }

  #release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const warning of waiting) this.#say(warning);
  }

  #say({ message, consequence, causeText = message }: HeldWarning): void {
    const told = this.#told ?? new Set();
    if (told.has(ALL_OF + causeText)) return;
    // A consequence is told even if another part has told its cause.
    const news = told.has(causeText) ? consequence : message;
    if (news === "" || told.has(consequence)) return;
    told.add(causeText);
    if (consequence !== "") told.add(consequence);
    this.#print(this.shown(news));
  }
}

/** Marks a cause whose consequences are of no interest any more. */
const ALL_OF = "ended by ";
