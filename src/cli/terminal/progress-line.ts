import { ERRORS, SessionError } from "../../core/errors.ts";
import { calledIn } from "../called-in.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import type { Output } from "./terminal.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const PATIENCE_MS = 1000;
const CLEAR = "\r\u001b[2K";

/** Runs work that shows how far it is, and that Ctrl-C stops. `stopped` tells what that left. */
export async function longWork(
  context: CliContext,
  stopped: string,
  work: (progress: ProgressLine, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { terminal } = context;
  const progress = new ProgressLine(terminal.stderr);
  await terminal.interruptible(async (signal) => {
    try {
      await work(progress, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      progress.clear();
      await sayStopped(context, stopped);
    } finally {
      progress.clear();
    }
  });
}

/**
 * Says what a work left that a person stopped.
 *
 * @throws SessionError `TURN_INTERRUPTED` where a script reads failures
 */
export async function sayStopped(context: CliContext, left: string): Promise<void> {
  if (context.isScript) {
    throw new SessionError("TURN_INTERRUPTED", { message: "Stopped.", hint: left });
  }
  context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
  await context.terminal.stderr.write(`Stopped. ${calledIn(left, context.rkat)}\n`);
}

/** A line that is rewritten in place and tells what takes long. Pipes, dumb terminals and quick work get none. */
export class ProgressLine {
  readonly #output: Output;
  #timer: NodeJS.Timeout | undefined;
  #text = "";
  #since = 0;
  #shown = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Says what happens now. The clock runs on until `clear`. */
  show(text: string): void {
    if (!this.#output.rewrites) return;
    this.#text = text;
    if (this.#timer) return;
    this.#since = performance.now();
    this.#timer = setInterval(() => this.#draw(), 100);
    this.#timer.unref();
  }

  /** Removes the line. Call it before you write anything else. */
  clear(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#shown) void this.#output.write(CLEAR);
    this.#shown = false;
  }

  #draw(): void {
    const elapsedMs = performance.now() - this.#since;
    if (elapsedMs < PATIENCE_MS) return;
    this.#shown = true;
    const frame = FRAMES[Math.floor(elapsedMs / 100) % FRAMES.length];
    const text = `${frame} ${this.#text} ${Math.floor(elapsedMs / 1000)}s`;
    void this.#output.write(CLEAR + oneLine(text, this.#output.columns - 1));
  }
}
