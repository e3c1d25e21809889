import { createInterface, type Interface } from "node:readline";
import type { ApprovalAnswer, PendingApproval } from "../../../core/approval.ts";
import { oneLine } from "../render/printable.ts";
import type { Style } from "../render/style.ts";
import type { Terminal } from "./terminal.ts";

export const APPROVAL_QUESTION = "Run it? y, n, or n and why › ";
export const NOT_ANSWERED = 'Type y or n. "n" and a reason tells the model why.\n';

const TYPED_AHEAD_MS = 250;

/** Whether a line came too soon after its question, asked at `askedAt`, to answer it. */
export function isTypedAhead(askedAt: number, { stdin }: Terminal): boolean {
  return stdin.isTerminal && performance.now() - askedAt < TYPED_AHEAD_MS;
}

const ARGUMENTS_SHOWN = 500;

/** A call that waits for approval, on one line. */
export function renderCall({ tool, args }: PendingApproval, style: Style): string {
  const shown = oneLine(JSON.stringify(args) ?? "", ARGUMENTS_SHOWN);
  return `${style.yellow("→")} ${style.bold(oneLine(tool, 80))} ${shown}`;
}

/** What an answer means: "y", "n", or "n too slow". `undefined` when it is none of them. */
export function answerOf(line: string): ApprovalAnswer | undefined {
  if (/^\s*(?:y|yes)\s*$/i.test(line)) return { decision: "allow" };
  const [denied] = /^\s*(?:no|n)(?:[\s,.:;]|$)\s*/i.exec(line) ?? [];
  if (denied === undefined) return undefined;
  const reason = line.slice(denied.length).trim();
  return reason === "" ? { decision: "deny" } : { decision: "deny", reason };
}

/** Asks on the terminal whether a call may run. The answer is a line of standard input. */
export class ApprovalPrompt {
  readonly #terminal: Terminal;
  readonly #style: Style;
  /** Lines that arrived before they were asked for. */
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
    const { stderr, stdin } = this.#terminal;
    const question = this.#style.cyan(APPROVAL_QUESTION);
    await stderr.write(`${renderCall(call, this.#style)}\n${question}`);
    const askedAt = performance.now();
    for (;;) {
      const line = await this.#line(signal);
      if (!stdin.isTerminal || line === undefined) await stderr.write("\n");
      if (line === undefined) return signal.aborted ? undefined : "later";
      const answer = isTypedAhead(askedAt, this.#terminal) ? undefined : answerOf(line);
      if (answer) return answer;
      await stderr.write(`${NOT_ANSWERED}${question}`);
    }
  }

  /** The next line; undefined at the end of the input, or when the signal aborts. */
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
      // Paused between two questions, so that the process can end.
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
