import type { ContextPartName, ContextView, NextCompaction } from "../../../core/context-view.ts";
import { plural } from "./plural.ts";
import { renderTable } from "./render-table.ts";
import type { Style } from "./style.ts";
import { thousands } from "./thousands.ts";

const BAR_COLUMNS = 30;

const TITLES: Readonly<Record<ContextPartName, string>> = {
  tool_definitions: "tool definitions",
  system_prompt: "system prompt",
  knowledge: "knowledge",
  summary: "summary",
  pins: "pins",
  turns: "turns",
  task_record: "task record",
};

/** Where each token of a session's window goes, as a table with bars. */
export function renderContext(view: ContextView, style: Style): string {
  const { parts, usedTokens, freeTokens } = view;
  const room = usedTokens + (freeTokens ?? 0);
  const row = (title: string, tokens: number, messages: number) => [
    title,
    thousands(tokens),
    messages === 0 ? "" : String(messages),
    bar(room === 0 ? 0 : tokens / room),
  ];
  const rows = [
    ...parts
      .filter(({ tokens }) => tokens > 0)
      .map(({ name, tokens, messages }) => row(TITLES[name], tokens, messages)),
    ...(freeTokens === null ? [] : [row("free", freeTokens, 0)]),
  ];
  return `${renderTable(COLUMNS, rows, style)}\n${factsOf(view).join("\n")}\n`;
}

const COLUMNS = [
  { title: "PART" },
  { title: "TOKENS", align: "right" },
  { title: "MESSAGES", align: "right" },
  { title: "" },
] as const;

function bar(share: number): string {
  const full = Math.min(BAR_COLUMNS, Math.round(share * BAR_COLUMNS));
  return "█".repeat(full) || (share > 0 ? "▏" : "");
}

function factsOf(view: ContextView): string[] {
  const { model, contextWindow, threshold, usedTokens, lastInputTokens, compaction } = view;
  const window = contextWindow === null ? "of unknown window" : `takes ${thousands(contextWindow)}`;
  return [
    `About ${thousands(usedTokens)} tokens; ${model} ${window}.`,
    ...(lastInputTokens > 0
      ? [
          `The last call had ${thousands(lastInputTokens)} input tokens, as the provider counted them.`,
        ]
      : []),
    compaction === null || threshold === null
      ? "Nothing is compacted here."
      : `Compaction ${nextOf(compaction)}; the threshold is ${thousands(threshold)}.`,
  ];
}

function nextOf({ due, tokensLeft, messagesLeft, callsLeft }: NextCompaction): string {
  if (due) return "is due before the next call";
  const full = tokensLeft === 0 || messagesLeft === 0;
  const messages = messagesLeft === null ? "" : ` or ${plural(messagesLeft, "message")}`;
  const when = full ? "is due" : `comes after ${thousands(tokensLeft)} more tokens${messages}`;
  return callsLeft > 0 ? `${when}, not before ${plural(callsLeft, "more model call")}` : when;
}
