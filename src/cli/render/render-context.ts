import type { CompactionOutcome } from "../../core/operations/turns.ts";
import type {
  ContextPartName,
  ContextView,
  NextCompaction,
  Pins,
  RecalledBefore,
} from "../../core/operations/working-memory.ts";
import { plural, thousands } from "./amounts.ts";
import { oneLine } from "./printable.ts";
import { renderTable, type Style } from "./style.ts";

const [BAR_COLUMNS_MIN, BAR_COLUMNS_MAX] = [5, 30];
/** The columns of the table before the bars. */
const BAR_START = 38;

const TITLES: Readonly<Record<ContextPartName, string>> = {
  tool_definitions: "tool definitions",
  system_prompt: "system prompt",
  knowledge: "knowledge",
  summary: "summary",
  pins: "pins",
  turns: "turns",
  task_record: "task record",
  recalled: "from memory",
  brought_back: "brought back",
};

/** The parts of a session's context window and their tokens, as a table with bars. */
export function renderContext(view: ContextView, style: Style, columns: number): string {
  const { parts, usedTokens, freeTokens } = view;
  const barColumns = Math.min(BAR_COLUMNS_MAX, columns - BAR_START);
  const room = usedTokens + (freeTokens ?? 0);
  const row = (title: string, tokens: number, messages: number) => [
    title,
    thousands(tokens),
    messages === 0 ? "" : String(messages),
    barColumns < BAR_COLUMNS_MIN ? "" : bar(room === 0 ? 0 : tokens / room, barColumns),
  ];
  const rows = [
    ...parts
      .filter(({ tokens }) => tokens > 0)
      .map(({ name, tokens, messages }) => row(TITLES[name], tokens, messages)),
    ...(freeTokens === null ? [] : [row("free", freeTokens, 0)]),
  ];
  const recalled = view.recalled.flatMap(recalledLines).map((line) => `${line}\n`);
  return `${renderTable(COLUMNS, rows, style)}\n${factsOf(view).join("\n")}\n${recalled.join("")}`;
}

/** The records that came back from memory by themselves, and why: their scores, and the score that the best of them needed. */
function recalledLines({ message, event, bar, records }: RecalledBefore): string[] {
  const needed = bar === null ? "" : `; the best needed ${bar.toFixed(2)}`;
  return [
    `From memory, before message ${message} (event ${event})${needed}:`,
    ...records.map(({ id, session, saidBy, score, text }) => {
      const who = session === null ? saidBy : `${saidBy}, session ${session}`;
      return `  ${score?.toFixed(2) ?? "   -"}  ${oneLine(who, WHO_COLUMNS)}: ${oneLine(text, TEXT_COLUMNS)}  (${oneLine(id)})`;
    }),
  ];
}

const WHO_COLUMNS = 50;

const COLUMNS = [
  { title: "PART" },
  { title: "TOKENS", align: "right" },
  { title: "MESSAGES", align: "right" },
  { title: "" },
] as const;

function bar(share: number, columns: number): string {
  const full = Math.min(columns, Math.round(share * columns));
  return "█".repeat(full) || (share > 0 ? "▏" : "");
}

function factsOf(view: ContextView): string[] {
  const { model, contextWindow, threshold, usedTokens, lastInputTokens, compaction } = view;
  const window = contextWindow === null ? "unknown size" : `${thousands(contextWindow)} tokens`;
  return [
    `About ${thousands(usedTokens)} tokens, in a context window of ${window} (${oneLine(model, 200)}).`,
    ...(lastInputTokens > 0
      ? [`The provider counted ${thousands(lastInputTokens)} input tokens in the last call.`]
      : []),
    compaction === null || threshold === null
      ? "Compaction is off."
      : `Compaction ${nextOf(compaction)}. The threshold is ${thousands(threshold)} tokens.`,
  ];
}

function nextOf({ due, tokensLeft, messagesLeft, callsLeft }: NextCompaction): string {
  if (due) return "is due before the next call";
  const full = tokensLeft === 0 || messagesLeft === 0;
  const messages = messagesLeft === null ? "" : ` or ${plural(messagesLeft, "message")}`;
  const when = full ? "is due" : `runs after ${thousands(tokensLeft)} more tokens${messages}`;
  return callsLeft > 0 ? `${when}, but not before ${plural(callsLeft, "more model call")}` : when;
}

const TEXT_COLUMNS = 60;

/** The pinned messages, and how much of their budget they take. */
export function renderPins(
  { pins, tokens, tokensMax, broughtBack = [] }: Pins,
  style: Style,
  room?: number,
): string {
  const budget = `${thousands(tokens)} of ${thousands(tokensMax)} tokens`;
  const again = broughtBack.map(({ message, pinned }) => `@${message}${pinned ? " (pinned)" : ""}`);
  const shown = again.length === 0 ? "" : `Brought back: ${again.join(", ")}.\n`;
  if (pins.length === 0 && shown === "") return `Nothing is pinned (${budget}).\n`;
  if (pins.length === 0) return `${shown}${style.dim(`Pins take ${budget}.`)}\n`;
  const rows = pins.map(({ position, message, role, text }) => [
    String(position),
    `@${message}`,
    role,
    oneLine(text, TEXT_COLUMNS),
  ]);
  return `${renderTable(PIN_COLUMNS, rows, style, room)}${shown}${style.dim(`Pins take ${budget}.`)}\n`;
}

const PIN_COLUMNS = [
  { title: "POSITION", align: "right" },
  { title: "ID" },
  { title: "ROLE" },
  { title: "TEXT", least: 20 },
] as const;

/** The outcome of a compaction, in a sentence. */
export function renderCompaction(outcome: CompactionOutcome): string {
  if (!outcome.compacted) return `Nothing was compacted: ${outcome.reason}`;
  const { messagesBefore, messagesAfter, tokensBefore, tokensAfter } = outcome;
  return `Compacted: ${messagesBefore} → ${messagesAfter} messages, ${thousands(tokensBefore)} → ${thousands(tokensAfter)} tokens.`;
}
