import { createInterface, type Interface } from "node:readline";
import { printable } from "../render/printable.ts";
import { renderEvent, renderWork } from "../render/render-event.ts";
import { styleFor } from "../render/style.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import type { ChatStreams, Output, Terminal } from "../terminal/terminal.ts";
import { TurnView } from "../terminal/turn-view.ts";
import type { ChatScreen, Question, TurnDisplay, TurnOptions, Typed } from "./conversation.ts";

/**
 * A chat over pipes, or on a terminal that cannot move its cursor. Answers go to stdout, and
 * remarks to stderr.
 *
 * The input is read line by line. A line that ends with \ continues on the next one. Lines that
 * are typed ahead wait for the next read.
 */
export class PlainScreen implements ChatScreen {
  readonly stderr: Output;
  readonly #terminal: Terminal;
  readonly #streams: ChatStreams;
  readonly #lines: Interface;
  readonly #progress: ProgressLine;
  /** Lines that arrived before they were read. */
  readonly #waiting: string[] = [];
  #ended = false;
  #interrupted = false;
  #wake = () => {};

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.stderr = terminal.stderr;
    this.#progress = new ProgressLine(terminal.stderr);
    this.#streams = terminal.takeChat();
    this.#lines = createInterface({ input: this.#streams.input, terminal: false });
    this.#lines.on("line", (line) => {
      this.#waiting.push(line);
      this.#wake();
    });
    this.#lines.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
    this.#lines.pause();
  }

  async read({ text: question = "› ", signal }: Partial<Question> = {}): Promise<Typed> {
    const typed: string[] = [];
    this.#interrupted = false;
    const { isTerminal } = this.#streams;
    const onAbort = () => this.#wake();
    const release = isTerminal ? this.#streams.onInterrupt(() => this.#interrupt()) : () => {};
    signal?.addEventListener("abort", onAbort);
    try {
      for (;;) {
        if (isTerminal) this.#streams.output.write(typed.length === 0 ? question : "… ");
        const line = await this.#line(signal);
        if (typeof line === "string") {
          const goesOn = line.endsWith("\\");
          typed.push(goesOn ? line.slice(0, -1) : line);
          if (goesOn) continue;
        } else {
          if (isTerminal) this.#streams.output.write("\n");
          if (line.type !== "end" || typed.length === 0) return line;
        }
        return { type: "text", text: typed.join("\n") };
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
      release();
      if (!this.#ended) this.#lines.pause();
    }
  }

  async say(text: string): Promise<void> {
    await this.#terminal.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }

  answer(text: string): Promise<void> {
    return this.say(this.#terminal.stdout.isTerminal ? printable(text) : text);
  }

  async note(text: string): Promise<void> {
    await this.stderr.write(styleFor(this.stderr, this.#terminal.env).dim(`${text}\n`));
  }

  working(text?: string): void {
    if (text === undefined) this.#progress.clear();
    else this.#progress.show(text);
  }

  turn({ stream, verbose }: TurnOptions): TurnDisplay {
    const shown = verbose ? renderEvent : renderWork;
    const view = new TurnView(this.#terminal, { stream, shown });
    view.waiting();
    return {
      onEvent: view.onEvent,
      end: () => view.end(),
      finish: async (text) => {
        if (!stream) await this.answer(text);
      },
    };
  }

  status(): void {}

  close(): void {
    this.#lines.close();
    this.#streams.release();
  }

  async #line(signal?: AbortSignal): Promise<string | Exclude<Typed, { type: "text" }>> {
    for (;;) {
      if (signal?.aborted) return { type: "aborted" };
      if (this.#interrupted) {
        this.#interrupted = false;
        return { type: "interrupt" };
      }
      const line = this.#waiting.shift();
      if (line !== undefined) return line;
      if (this.#ended) return { type: "end" };
      this.#lines.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #interrupt(): void {
    this.#interrupted = true;
    this.#wake();
  }
}
