import { DEFAULT_COMPACTION_CONFIG } from "../core/compactor.ts";
import { indexableText, isSummary, type Message, toolResults, toolUses } from "../core/message.ts";
import { group, is, requireOptions } from "../core/options.ts";
import { atWords, cutEnd, cutMiddle, cutToSize, textSize, twoEnds } from "./cut-text.ts";
import { withoutAnchors } from "./keep-anchors.ts";
import { summaryText, userText } from "./render-transcript.ts";

/** The bytes that a summary may have by default. */
const BYTES_MAX = 4 * DEFAULT_COMPACTION_CONFIG.maxSummaryTokens;

/** Bytes shown of one result. */
const RESULT_BYTES_MAX = 80;

/** Share of the summary for one message in the middle. */
const MESSAGE_PART = 1 / 8;

/**
 * A summary without a model: the start of the conversation, the tools that were
 * called and their results, the latest message, and as many of the messages in
 * between as fit.
 *
 *     [Earlier] the previous summary
 *     [Start] Fix the parser.
 *     [Tool: read_file]
 *     [Result: export function parse(…]
 *     [User] Keep the old error codes.
 *     [Assistant] Decided: the table stays …
 *     [Latest] All tests pass.
 *
 * It takes at most `bytesMax`, in UTF-8, in JSON and in quarter tokens alike. Default: 16 384.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function smartFallbackSummary(
  messages: readonly Message[],
  bytesMax: number = BYTES_MAX,
): string {
  requireOptions("smartFallbackSummary", ARGUMENTS, { bytesMax });
  if (messages.length === 0) return "";
  const quarter = Math.floor(bytesMax / 4);
  const chosen = new Map<number, string>();
  let left = bytesMax;
  const take = ({ order, text }: Line) => {
    const bytes = textSize(text) + LINE_BREAK_BYTES;
    if (chosen.has(order) || bytes > left) return false;
    chosen.set(order, text);
    left -= bytes;
    return true;
  };
  const lines = messages
    .flatMap((message) => linesOf(message, bytesMax))
    .map((line, order) => ({ ...line, order }));
  const first = lines.find(({ kind }) => kind === "User");
  const latest = lines.findLast(({ kind }) => kind === "User" || kind === "Assistant");
  for (const line of lines.filter(({ kind }) => kind === "Earlier")) {
    take({ ...line, text: earlier(line.text, quarter) });
  }
  if (first) take({ ...first, text: `[Start] ${head(first.text, quarter - TAG_BYTES)}` });
  if (latest) take({ ...latest, text: `[Latest] ${head(latest.text, quarter - TAG_BYTES)}` });
  // Each tool once, however many calls there were: what they returned comes after that.
  const lastCalls = new Map(
    lines.flatMap((line) => (line.namesTool ? [[line.text, line] as const] : [])),
  );
  for (const line of [...lastCalls.values()].reverse()) take(line);
  // Newer lines count more, so each kind is taken from its end until a line has no room.
  for (const kind of ["Tool", "User", "Assistant"] as const) {
    const newestFirst = lines.filter((line) => line.kind === kind).reverse();
    newestFirst.every((line) => chosen.has(line.order) || take(shortLine(line, bytesMax)));
  }
  const text = [...chosen].sort(([a], [b]) => a - b).map(([, line]) => line);
  return text.length > 0 ? text.join("\n") : cutEnd(`[${messages.length} messages]`, bytesMax);
}

const ARGUMENTS = group({
  bytesMax: is("a finite number of bytes, 0 or more", (value) => {
    return typeof value === "number" && Number.isFinite(value) && value >= 0;
  }),
});

interface Line {
  readonly order: number;
  readonly text: string;
}

interface KindOfLine {
  readonly kind: "Earlier" | "User" | "Assistant" | "Tool";
  readonly text: string;
  /** Set on the line that names a tool. */
  readonly namesTool?: true;
}

/** A line break is two bytes in JSON. */
const LINE_BREAK_BYTES = 2;

/** `[Latest] ` and its line break. */
const TAG_BYTES = 11;

function linesOf(message: Message, bytesMax: number): KindOfLine[] {
  if (isSummary(message)) return said("Earlier", withoutAnchors(summaryText(message)));
  if (message.role === "user") return said("User", oneLine(userText(message.content), bytesMax));
  const calls = toolUses(message).map(({ name }) => ({
    kind: "Tool" as const,
    text: `[Tool: ${cutMiddle(name, RESULT_BYTES_MAX)}]`,
    namesTool: true as const,
  }));
  const results = toolResults(message).map(({ content }) => ({
    kind: "Tool" as const,
    text: `[Result: ${cutEnd(oneLine(content, RESULT_BYTES_MAX), RESULT_BYTES_MAX)}]`,
  }));
  return [...said("Assistant", oneLine(indexableText(message), bytesMax)), ...calls, ...results];
}

function said(kind: KindOfLine["kind"], text: string): KindOfLine[] {
  return text.trim() === "" ? [] : [{ kind, text }];
}

function shortLine({ kind, text, order }: KindOfLine & Line, bytesMax: number): Line {
  if (kind === "Tool") return { order, text };
  return { order, text: `[${kind}] ${ends(text, Math.floor(bytesMax * MESSAGE_PART))}` };
}

/**
 * The previous summary, marked once however many summaries it has been through: its beginning, and as many of its
 * last lines as fit. Its latest message is not the latest any more.
 */
function earlier(text: string, bytesMax: number): string {
  const mark = "[Earlier] ";
  const unmarked = text.startsWith(mark) ? text.slice(mark.length) : text;
  const room = bytesMax - TAG_BYTES - 1;
  const whole = unmarked.replaceAll(/^\[Latest\] /gm, "");
  if (textSize(whole) <= room) return mark + whole;
  const [first = "", ...lines] = whole.split("\n");
  const begins = ends(first, Math.floor(room / 2));
  let left = room - textSize(begins) - 2 * LINE_BREAK_BYTES - textSize(LEFT_OUT);
  const last: string[] = [];
  for (const line of lines.reverse()) {
    left -= textSize(line) + LINE_BREAK_BYTES;
    if (left < 0) break;
    if (line !== LEFT_OUT) last.push(line);
  }
  // One long line is better than none.
  const newest = lines.find((line) => line !== LEFT_OUT);
  if (last.length === 0 && newest === undefined) return mark + ends(whole, room);
  if (last.length === 0 && newest !== undefined) {
    const rest = room - textSize(begins) - 2 * LINE_BREAK_BYTES - textSize(LEFT_OUT);
    last.push(ends(newest, rest));
  }
  return mark + [begins, LEFT_OUT, ...last.reverse()].join("\n");
}

/** Stands for the lines of a previous summary that had no room. */
const LEFT_OUT = "[…]";

function head(text: string, sizeMax: number): string {
  return cutToSize(sizeMax, (bytes) => atWords(text, cutEnd(text, bytes), " […]"));
}

function ends(text: string, sizeMax: number): string {
  return cutToSize(sizeMax, (bytes) => atWords(text, cutMiddle(text, bytes), " […] "));
}

/** Reads only the two ends of a text that is far longer than `bytesMax`. */
function oneLine(text: string, bytesMax: number): string {
  return twoEnds(text, LOOK * bytesMax)
    .replace(/\s+/g, " ")
    .trim();
}

/** Characters that are looked at for each byte that there is room for. */
const LOOK = 64;
