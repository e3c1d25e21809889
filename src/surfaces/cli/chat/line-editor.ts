import { createInterface, type Interface } from "node:readline";
import type { ChatStreams } from "../terminal/terminal.ts";

/** What the user did at the prompt. */
export type Typed =
  | { readonly type: "text"; readonly text: string }
  /** Ctrl-C on an empty line. */
  | { readonly type: "interrupt" }
  /** The signal of `read` aborted. */
  | { readonly type: "aborted" }
  /** Ctrl-D, or the end of piped input. */
  | { readonly type: "end" };

export interface LineEditorOptions {
  /** Lines of earlier chats, the last one first. */
  readonly history: readonly string[];
  /** What Tab offers for a line, and the part of the line that it replaces. */
  complete(line: string): Promise<readonly [options: readonly string[], replaced: string]>;
}

const HISTORY_MAX = 1000;

/**
 * Reads what the user types, with history, completion and several lines:
 *
 *     a line that ends with \   continues on the next line
 *     a pasted text             is one text, with all its lines
 *     Ctrl-C                    clears the line; on an empty line, returns `interrupt`
 *
 * Between two reads the terminal is in its normal mode: Ctrl-C is a signal, and
 * what is typed ahead waits for the next read.
 */
export class LineEditor {
  readonly #streams: ChatStreams;
  readonly #lines: Interface;
  readonly #isTerminal: boolean;
  /** Lines that arrived before they were read. */
  readonly #waiting: Line[] = [];
  #pasting = false;
  #ended = false;
  #wake = () => {};
  #interrupted = false;

  constructor(streams: ChatStreams, options: LineEditorOptions) {
    this.#streams = streams;
    this.#isTerminal = streams.isTerminal;
    this.#lines = createInterface({
      input: streams.input,
      output: streams.output,
      terminal: streams.isTerminal,
      history: [...options.history],
      historySize: HISTORY_MAX,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        options.complete(line).then(
          ([found, replaced]) => done(null, [[...found], replaced]),
          // Completion that fails offers nothing, and leaves the line as it is.
          () => done(null, [[], line]),
        );
      },
    });
    this.#lines.on("line", (line) => {
      // Noted when the line arrives: the paste may be over when it is read.
      this.#waiting.push({ text: line, continues: this.#pasting ? "pasted" : endsOpen(line) });
      this.#wake();
    });
    this.#lines.on("SIGINT", () => {
      this.#interrupted = true;
      this.#wake();
    });
    this.#lines.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
    if (this.#isTerminal) {
      streams.input.on("keypress", (_, key: { name?: string } | undefined) => {
        if (key?.name === "paste-start") this.#pasting = true;
        if (key?.name === "paste-end") this.#pasting = false;
      });
    }
    this.#sleep();
  }

  /** Shows the prompt and reads the next text. Its lines are joined. */
  async read(prompt: string, signal?: AbortSignal): Promise<Typed> {
    const typed: string[] = [];
    this.#interrupted = false;
    this.#awake();
    const onAbort = () => this.#wake();
    signal?.addEventListener("abort", onAbort);
    try {
      for (;;) {
        this.#prompt(typed.length === 0 ? prompt : CONTINUED);
        const line = await this.#line(signal);
        if (line === "interrupt") {
          const hadText = typed.length > 0 || this.#lines.line !== "";
          this.#leaveLine("^C");
          typed.length = 0;
          if (!hadText) return { type: "interrupt" };
        } else if (line === "aborted") {
          this.#leaveLine("");
          return { type: "aborted" };
        } else if (line === "end") {
          if (typed.length === 0) return { type: "end" };
          return { type: "text", text: typed.join("\n") };
        } else {
          typed.push(line.continues === "open" ? line.text.slice(0, -1) : line.text);
          if (line.continues === "no") return { type: "text", text: typed.join("\n") };
        }
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#sleep();
    }
  }

  close(): void {
    this.#lines.close();
    this.#streams.release();
  }

  async #line(signal?: AbortSignal): Promise<Line | "interrupt" | "aborted" | "end"> {
    for (;;) {
      if (signal?.aborted) return "aborted";
      if (this.#interrupted) {
        this.#interrupted = false;
        return "interrupt";
      }
      const line = this.#waiting.shift();
      if (line !== undefined) return line;
      if (this.#ended) return "end";
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #prompt(text: string): void {
    if (!this.#isTerminal || this.#ended) return;
    this.#lines.setPrompt(text);
    this.#lines.prompt();
  }

  #leaveLine(why: string): void {
    if (!this.#isTerminal) return;
    this.#streams.output.write(`${why}\n`);
    if (this.#lines.line === "") return;
    // Ctrl-E and Ctrl-U clear the typed text.
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
  }

  #awake(): void {
    if (this.#ended) return;
    if (this.#isTerminal) this.#streams.raw(true);
    if (this.#isTerminal) this.#streams.output.write(PASTE_ON);
    this.#lines.resume();
  }

  #sleep(): void {
    if (this.#ended) return;
    this.#lines.pause();
    if (this.#isTerminal) this.#streams.output.write(PASTE_OFF);
    if (this.#isTerminal) this.#streams.raw(false);
  }
}

interface Line {
  readonly text: string;
  readonly continues: "pasted" | "open" | "no";
}

function endsOpen(line: string): "open" | "no" {
  return line.endsWith("\\") ? "open" : "no";
}

const CONTINUED = "… ";

/** Bracketed paste: the terminal marks where pasted text begins and ends. */
const PASTE_ON = "\u001b[?2004h";
const PASTE_OFF = "\u001b[?2004l";
