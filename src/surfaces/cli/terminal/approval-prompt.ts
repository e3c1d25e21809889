import { createInterface, type Interface } from "node:readline";
import type { ApprovalAnswer, PendingApproval } from "../../../core/approval.ts";
import type { Style } from "../render/style.ts";
import { APPROVAL_QUESTION, answerOf, renderCall } from "./approval-answer.ts";
import type { Terminal } from "./terminal.ts";

/** Asks on the terminal whether a call may run; a line of standard input is the answer. */
export class ApprovalPrompt {
  readonly #terminal: Terminal;
  readonly #style: Style;
  /** Lines that were typed ahead, or piped in. */
  readonly #lines: string[] = [];
  #input: Interface | undefined;
  #ended = false;
  #wake = () => {};

  constructor(terminal: Terminal, style: Style) {
    this.#terminal = terminal;
    this.#style = style;
  }

  async ask(
    call: PendingApproval,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer | "later" | undefined> {
    const { stderr } = this.#terminal;
    const question = this.#style.cyan(APPROVAL_QUESTION);
    await stderr.write(`${renderCall(call, this.#style)}\n${question}`);
    const line = await this.#line(signal);
    if (!this.#terminal.stdin.isTerminal || line === undefined) await stderr.write("\n");
    if (line === undefined) return signal.aborted ? undefined : "later";
    return answerOf(line);
  }

  /** The next line; `undefined` when there is none any more, or nobody waits for it. */
  async #line(signal: AbortSignal): Promise<string | undefined> {
    const input = this.#open();
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort);
    try {
      while (this.#lines.length === 0 && !this.#ended && !signal.aborted) {
        input.resume();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      return signal.aborted ? undefined : this.#lines.shift();
    } finally {
      signal.removeEventListener("abort", onAbort);
      // Between two questions nothing is read, so that the process can end.
      if (!this.#ended) input.pause();
      this.#terminal.takeChat().release();
    }
  }

  #open(): Interface {
    if (this.#input) return this.#input;
    const { input } = this.#terminal.takeChat();
    this.#input = createInterface({ input, terminal: false });
    this.#input.on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    this.#input.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
    return this.#input;
  }
}
