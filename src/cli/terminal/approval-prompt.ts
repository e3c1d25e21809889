import { createInterface, type Interface } from "node:readline";
import type {
  AllowedCalls,
  ApprovalAnswer,
  Approve,
  PendingApproval,
} from "../../core/approval.ts";
import { oneLine, printable } from "../render/printable.ts";
import type { Style } from "../render/style.ts";
import type { Terminal } from "./terminal.ts";

const ALWAYS_KEYS = "s (always in this session), p (always in this project)";

/** The question after a call. Without `always`, this call cannot be allowed for good. */
export function approvalQuestion(always: AllowedCalls | undefined): string {
  return always ? `Run it? y, n, n and why, ${ALWAYS_KEYS} › ` : "Run it? y, n, or n and why › ";
}

/** The list of valid keys, shown after a line that was no answer. */
export function notAnswered(always: AllowedCalls | undefined): string {
  const keys = always ? `y, n, ${ALWAYS_KEYS}` : "y or n";
  return `Type ${keys}. "n" and a reason tells the model why. Ctrl-C stops the turn, and the call waits.\n`;
}

const TYPED_AHEAD_MS = 250;

/** Whether a line came too soon after its question, asked at `askedAt`, to answer it. */
export function isTypedAhead(askedAt: number, { stdin }: Terminal): boolean {
  return stdin.isTerminal && performance.now() - askedAt < TYPED_AHEAD_MS;
}

/** A call that waits for approval, and what "always" would allow. */
export function renderCall(
  { tool, args }: Pick<PendingApproval, "tool" | "args">,
  style: Style,
  always?: AllowedCalls,
): string {
  const call = `${style.yellow("→")} ${style.bold(oneLine(tool, 80))} ${renderArguments(args)}`;
  return always
    ? `${call}\n  ${style.dim(`"always" (s or p) allows ${renderAllowed(always)}`)}`
    : call;
}

/** Calls that are allowed for good: `every call of edit_file`. */
export function renderAllowed({ tool, command }: AllowedCalls): string {
  const name = oneLine(tool, 80);
  return command === undefined
    ? `every call of ${name}`
    : `${name} with exactly this: ${printable(command).replaceAll("\n", "\n  │ ")}`;
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
    const question = this.#style.cyan(approvalQuestion(always));
    await stderr.write(`${renderCall(call, this.#style, always)}\n${question}`);
    const askedAt = performance.now();
    for (;;) {
      const line = await this.#line(signal);
      if (!stdin.isTerminal || line === undefined) await stderr.write("\n");
      if (line === undefined) return signal.aborted ? undefined : "later";
      const answer = isTypedAhead(askedAt, this.#terminal) ? undefined : answerOf(line, always);
      if (answer) return answer;
      await stderr.write(`${notAnswered(always)}${question}`);
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

const JSON_COLUMNS_MAX = 500;
/** Lines of a text that is written into a file. A command is always shown in full. */
const LINES_MAX = 40;
const LINE_COLUMNS_MAX = 400;

/**
 * The arguments of a call that waits for approval: a command in full, an edit as lines that go and
 * lines that come, and everything else as JSON on one line.
 */
function renderArguments(args: unknown): string {
  const { command, path, old_text, new_text, content, ...rest } = fieldsOf(args);
  if (typeof command === "string" && path === undefined) {
    const others = Object.keys(rest).length > 0 ? ` ${asJson(rest)}` : "";
    return `${printable(command).replaceAll("\n", CONTINUED)}${others}`;
  }
  if (typeof path !== "string") return asJson(args);
  const shown = oneLine(path, LINE_COLUMNS_MAX);
  if (typeof old_text === "string" && typeof new_text === "string") {
    const places = rest.every === true ? " (in every place)" : "";
    return `${shown}${places}${lines("-", old_text)}${lines("+", new_text)}`;
  }
  if (typeof content === "string") return `${shown}${lines("+", content)}`;
  return asJson(args);
}

/** The lines of a text cannot be taken for lines of the question. */
const CONTINUED = "\n  │ ";

function lines(sign: string, text: string): string {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  const shown = all.slice(0, LINES_MAX).map((line) => cutLine(line));
  const left = all.length - shown.length;
  if (left > 0) shown.push(`… ${left} more lines`);
  return shown.map((line) => `${CONTINUED}${sign} ${line}`).join("");
}

function cutLine(line: string): string {
  const text = printable(line);
  return text.length > LINE_COLUMNS_MAX ? `${text.slice(0, LINE_COLUMNS_MAX)}…` : text;
}

function asJson(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "", JSON_COLUMNS_MAX);
}

function fieldsOf(args: unknown): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
}
