import { createInterface, type Interface } from "node:readline";
import type {
  AllowedCalls,
  ApprovalAnswer,
  Approve,
  PendingApproval,
} from "../../core/approval.ts";
import { CallPages } from "../render/render-call.ts";
import type { Style } from "../render/style.ts";
import type { Output, Terminal } from "./terminal.ts";

const ALWAYS_KEYS = "s (always in this session), p (always in this project)";
const TYPED_AHEAD_MS = 250;

/**
 * A question about a call, and what its answers mean. A call that does not fit the terminal is shown page by page, and it
 * can be allowed when all of it was shown.
 */
export class CallQuestion {
  readonly #pages: CallPages;
  readonly #always: AllowedCalls | undefined;
  readonly #isTerminal: boolean;
  #askedAt = 0;

  /** `output` is where the pages are shown. A pipe gets all at once. */
  constructor(
    call: PendingApproval,
    style: Style,
    {
      always,
      stdin,
      output: { columns, rows },
    }: {
      readonly always: AllowedCalls | undefined;
      readonly stdin: Pick<Terminal["stdin"], "isTerminal">;
      readonly output: Pick<Output, "columns" | "rows">;
    },
  ) {
    this.#always = always;
    this.#isTerminal = stdin.isTerminal;
    const size = stdin.isTerminal
      ? { columns, rows }
      : { columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY };
    this.#pages = new CallPages(call, style, { always, ...size });
  }

  /** The next page of the call. From now on an answer may come. */
  page(): string {
    this.#askedAt = performance.now();
    return this.#pages.next();
  }

  get text(): string {
    const { isWhole, percent } = this.#pages;
    if (!isWhole) return `${percent} % shown. Enter shows more; n, or n and why, denies › `;
    return this.#always
      ? `Run it? y, n, n and why, ${ALWAYS_KEYS} › `
      : "Run it? y, n, or n and why › ";
  }

  /** The answer in a line; or what to show before the question is asked again. */
  take(line: string): { readonly answer: ApprovalAnswer } | { readonly shown: string } {
    const { isWhole } = this.#pages;
    if (line.trim() === "" && !isWhole) return { shown: this.page() };
    // Keys that were typed before the question are no answer to it.
    const isAhead = this.#isTerminal && performance.now() - this.#askedAt < TYPED_AHEAD_MS;
    const answer = isAhead ? undefined : answerOf(line, this.#always);
    if (answer && (isWhole || answer.decision === "deny")) return { answer };
    if (!isWhole) {
      return { shown: "A call can run after all of it was shown: press Enter. Or type n." };
    }
    const keys = this.#always ? `y, n, ${ALWAYS_KEYS}` : "y or n";
    return {
      shown: `Type ${keys}. "n" and a reason tells the model why. Ctrl-C stops the turn, and the call waits.`,
    };
  }
}

/**
 * The meaning of an answer: "y", "n", "n too slow", and, where there is an "always", "s" for this session and
 * "p" for this project. `undefined` when it is none of them.
 */
export function answerOf(line: string, always?: AllowedCalls): ApprovalAnswer | undefined {
  if (/^\s*(?:y|yes)\s*$/i.test(line)) return { decision: "allow" };
  if (always && /^\s*s\s*$/i.test(line)) return { decision: "allow", always: "session" };
  if (always && /^\s*p\s*$/i.test(line)) return { decision: "allow", always: "project" };
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
    { signal, always }: Parameters<Approve>[1],
  ): Promise<ApprovalAnswer | "later" | undefined> {
    const { stderr, stdin } = this.#terminal;
    const question = new CallQuestion(call, this.#style, { always, stdin, output: stderr });
    let shown = question.page();
    for (;;) {
      await stderr.write(`${shown}\n${this.#style.cyan(question.text)}`);
      const line = await this.#line(signal);
      if (!stdin.isTerminal || line === undefined) await stderr.write("\n");
      if (line === undefined) return signal.aborted ? undefined : "later";
      const taken = question.take(line);
      if ("answer" in taken) return taken.answer;
      shown = taken.shown;
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
