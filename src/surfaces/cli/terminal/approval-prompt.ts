import { createInterface, type Interface } from "node:readline";
import type { ApprovalAnswer, PendingApproval } from "../../../core/approval.ts";
import { SessionError } from "../../../core/errors.ts";
import { oneLine } from "../render/printable.ts";
import type { Style } from "../render/style.ts";
import type { Terminal } from "./terminal.ts";

export const APPROVAL_QUESTION = "Run it? yes, or no and why › ";

const ARGUMENTS_SHOWN = 500;

/** A call that waits for approval, on one line. */
export function renderCall({ tool, args }: PendingApproval, style: Style): string {
  const shown = oneLine(JSON.stringify(args) ?? "", ARGUMENTS_SHOWN);
  return `${style.yellow("→")} ${style.bold(oneLine(tool, 80))} ${shown}`;
}

/** Only a plain yes allows the call. Any other text denies it, and becomes the reason. */
export function answerOf(line: string): ApprovalAnswer {
  if (/^\s*(?:y|yes|ok|allow)[\s.!]*$/i.test(line)) return { decision: "allow" };
  const reason = line.replace(/^\s*(?:no|n|deny)\b[\s,.:;-]*/i, "").trim();
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
    const { stderr } = this.#terminal;
    const question = this.#style.cyan(APPROVAL_QUESTION);
    await stderr.write(`${renderCall(call, this.#style)}\n${question}`);
    const line = await this.#line(signal);
    if (!this.#terminal.stdin.isTerminal || line === undefined) await stderr.write("\n");
    if (line === undefined) return signal.aborted ? undefined : "later";
    return answerOf(line);
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

/**
 * Asks a yes-or-no question. Anything but a yes is a no.
 *
 * @param action what a yes does, as a script would read it: "forget these 10 entries".
 * @throws SessionError `INVALID_PARAMS` when stdin is not a terminal.
 */
export async function confirm(action: string, { stdin, stderr }: Terminal): Promise<boolean> {
  if (!stdin.isTerminal) {
    throw new SessionError("INVALID_PARAMS", {
      message: "Cannot ask: stdin is not a terminal.",
      hint: `Pass --yes to ${action}.`,
    });
  }
  await stderr.write(`${action.charAt(0).toUpperCase()}${action.slice(1)}? [y/N] `);
  for await (const chunk of stdin) return /^\s*y(es)?\s*$/i.test(Buffer.from(chunk).toString());
  return false;
}
