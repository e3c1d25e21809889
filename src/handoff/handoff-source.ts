import { cutMiddle, textSize } from "../compaction/cut-text.ts";
import type { Origin } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { changedJson, jsonText, textsIn } from "../core/json-values.ts";
import { indexableText, isSummary, type Message, toolResults, toolUses } from "../core/message.ts";
import type { ParentSession } from "../core/session-source.ts";
import { speakerName } from "../core/speaker-name.ts";
import { controlTable, visibleText, withoutControls } from "../text/visible-text.ts";

/** A session that is handed over to another agent. */
export interface HandoffSource {
  /** The program that held it, such as `codex`. */
  readonly agent: string;
  readonly id: string;
  readonly title?: string;
  /** The folder that it was held in. */
  readonly project?: string;
  readonly branch?: string;
  /** The session that it was made from, which has what was said before. */
  readonly parent?: ParentSession;
  readonly messages: readonly HandoffMessage[];
  /** The task record of a session of rkat. */
  readonly task?: {
    readonly goal: string;
    readonly open: readonly string[];
    readonly done?: readonly string[];
    readonly at: number;
  };
  /** How to find the rest of the session, one way a line. */
  readonly search: readonly string[];
}

export interface HandoffMessage {
  /** Its number in the session. A quote names it. */
  readonly at: number;
  readonly message: Message;
  readonly origin?: Origin;
  /** Calls that the user refused, among its results. */
  readonly denied?: readonly { readonly toolUseId: string; readonly reason?: string }[];
}

/** Words of the session, with the message that they are from. */
export interface Quote {
  readonly at: number;
  readonly by: "user" | "assistant" | "tool";
  readonly text: string;
  /** The name of the person whose words they are, if the log has it. It stands in the mark. */
  readonly speaker?: string;
  /** The outcome of a request, from the messages after it. It stands in the mark. */
  readonly outcome?: string;
}

/** Stands where a quote leaves something out. */
export const CUT = " […] ";

/** Whether a person typed it. Programs put texts of their own into user messages. */
export function isTyped({ message, origin }: HandoffMessage): boolean {
  return message.role === "user" && !isSummary(message) && (origin?.author ?? "user") === "user";
}

/** The mark of a person's message: its number, the side, and the name if the log has it. */
export function userMark({ at, origin }: HandoffMessage): Omit<Quote, "text"> {
  return { at, by: "user", ...given({ speaker: speakerName(origin?.speaker) }) };
}

/** The quotes of a message: its text, then its calls or its results. */
export function quotesOf(each: HandoffMessage): readonly Quote[] {
  const { at, message } = each;
  const said = indexableText(message);
  if (message.role === "user") {
    const text = isTyped(each) ? said : "";
    return text.trim() === "" ? [] : [{ ...userMark(each), text }];
  }
  return [
    ...(said.trim() === "" ? [] : [{ at, by: "assistant" as const, text: said }]),
    ...toolUses(message).map(({ name, args }) => ({
      at,
      by: "assistant" as const,
      text: `${name} ${jsonText(args)}`,
    })),
    ...toolResults(message)
      .filter(({ content }) => content.trim() !== "")
      .map(({ content }) => ({ at, by: "tool" as const, text: content })),
  ];
}

/**
 * How words of a session stand in a handoff. Each of their lines begins with `>`, so that they cannot
 * pass for a heading, a mark, or an instruction of the document:
 *
 *     [user #12]              > [user #12; answered] Always use pnpm.
 *     > Fix the parser.
 *     > Keep the old codes.
 */
export function quoteBlock({ at, by, speaker, text }: Quote): string {
  return `[${markOf({ at, by, speaker })}]\n${quotable(text)
    .split("\n")
    .map((line) => `> ${line}\n`)
    .join("")}`;
}

/** The same in one line. */
export function quoteLine({ at, by, speaker, text, outcome }: Quote): string {
  const became =
    outcome === undefined ? "" : `; ${inOneLine(quotable(outcome).replace(/[\][]+/g, " "))}`;
  return `> [${markOf({ at, by, speaker })}${became}] ${inOneLine(quotable(text))}\n`;
}

function markOf({ at, by, speaker }: Record<"at" | "by" | "speaker", unknown>): string {
  return `${by} #${at}${speaker === undefined ? "" : `; by ${quotable(`${speaker}`)}`}`;
}

/** A text whose only control characters are tabs and line feeds, and that hides no character. */
export function quotable(text: string): string {
  return visibleText(withoutControls(text, CONTROLS));
}

/** A command of the program that held the session, such as `/mode` or `/review the diff`. It is nobody's goal. */
export function isCommand(text: string): boolean {
  return /^\/[\w:-]+(?:\s|$)/.test(text);
}

export function inOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

const CONTROLS = controlTable("\r\u2028\u2029\u0085\v\f");

/**
 * A message, or a part of one, with only the two ends of each text that is far longer than a handoff. Scanning
 * such a text whole would take several times its size in memory.
 */
export function withinBounds<Value>(value: Value, bytesMax: number): Value {
  return changedJson(value, {
    leaf: (leaf) => (typeof leaf === "string" ? cutMiddle(leaf, bytesMax, CUT) : leaf),
  }) as Value;
}

const MARK = /^\[(user|assistant|tool) #(\d+)(?:; by [^\]]*)?\]$/;
const MARKED_LINE = /^> \[(user|assistant|tool) #(\d+)(?:; [^\]]*)?\] (.*)$/;

/**
 * Names the problems of a handoff; a sound one has none. It looks at the text alone, as the
 * next agent does:
 *
 * - It takes no more than `tokensMax`.
 * - The last message of the person is in it, word for word.
 * - Each quote has a mark, and each of its parts stands in the message that the mark names.
 */
export function checkHandoff(text: string, source: HandoffSource, tokensMax: number): string[] {
  const problems: string[] = [];
  if (textSize(text) > tokensMax * 4) problems.push(`it takes more than ${tokensMax} tokens`);
  const last = lastRequest(source);
  if (last && !text.includes(quoteBlock(last))) {
    problems.push("the last message of the person is not in it word for word");
  }
  const sourceText = textsByMark(source);
  for (const { at, by, text: quoted } of quotesIn(text)) {
    const whole = sourceText.get(`${by} #${at}`) ?? "";
    const parts = quoted.split(CUT.trim()).map(inOneLine);
    if (!parts.every((part) => whole.includes(part))) {
      problems.push(`[${by} #${at}] does not say: ${quoted}`);
    }
  }
  return problems;
}

/** The last message that a person typed. */
export function lastRequest({ messages }: HandoffSource): Quote | undefined {
  const index = messages.findLastIndex((each) => isTyped(each) && quotesOf(each).length > 0);
  return messages[index] && quotesOf(messages[index])[0];
}

/** The texts of each message, on one line, by the mark of side and number. */
function textsByMark(source: HandoffSource): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  const add = ({ at, by, text }: Quote) => {
    const mark = `${by} #${at}`;
    texts.set(mark, `${texts.get(mark) ?? ""} ${inOneLine(quotable(text))}`);
  };
  for (const each of source.messages) {
    for (const quote of quotesOf(each)) add(quote);
    for (const { reason } of each.denied ?? []) {
      if (reason !== undefined) add({ at: each.at, by: "user", text: reason });
    }
    // Strings in arguments, as they are without the quotes and escapes of JSON.
    for (const text of argumentsIn(each)) add({ at: each.at, by: "assistant", text });
  }
  const { task } = source;
  if (task) {
    add({ at: task.at, by: "user", text: task.goal });
    for (const text of [...task.open, ...(task.done ?? [])])
      add({ at: task.at, by: "assistant", text });
  }
  return texts;
}

function argumentsIn({ message }: HandoffSource["messages"][number]): readonly string[] {
  return toolUses(message).flatMap(({ args }) => textsIn(args));
}

function quotesIn(text: string): readonly Quote[] {
  const quotes: Quote[] = [];
  let block: { readonly at: number; readonly by: Quote["by"]; lines: string[] } | undefined;
  const end = () => {
    if (block) quotes.push({ at: block.at, by: block.by, text: block.lines.join("\n") });
    block = undefined;
  };
  for (const line of text.split("\n")) {
    const [, by, at] = MARK.exec(line) ?? [];
    const [, lineBy, lineAt, said = ""] = MARKED_LINE.exec(line) ?? [];
    if (by !== undefined) {
      end();
      block = { at: Number(at), by: by as Quote["by"], lines: [] };
    } else if (block && line.startsWith("> ")) block.lines.push(line.slice(2));
    else {
      end();
      if (lineBy) quotes.push({ at: Number(lineAt), by: lineBy as Quote["by"], text: said });
    }
  }
  end();
  return quotes;
}
