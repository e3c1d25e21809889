import { thousands } from "../src/cli/render/amounts.ts";
import { oneLine } from "../src/cli/render/printable.ts";
import type { Style } from "../src/cli/render/style.ts";
import { contentText, indexableText, type Message, type UserMessage } from "../src/core/message.ts";
import type { SessionState } from "../src/core/session-state.ts";
import { splitTurns, startsTurn } from "../src/core/turn.ts";
import type { WitnessedCompaction } from "../src/replay/replayed-session.ts";
import type { Stage } from "./stage.ts";

/** A turn that is over: how full the window is, and what was asked. */
export function showTurn(session: SessionState, threshold: number, stage: Stage): void {
  const prompt = session.messages.findLast((message) => startsTurn(message)) as UserMessage;
  const asked = stage.style.dim(oneLine(contentText(prompt.content), stage.columns - 43));
  const turn = `turn ${String(session.turns - 1).padStart(2)}`;
  stage.say(`${turn}  ${gauge(session.historyTokens, threshold, stage.style)}  ${asked}`);
}

/** A compaction: how full the window was, what was kept, what was discarded, and the summary in its place. */
export function showCompaction(seen: WitnessedCompaction, threshold: number, stage: Stage): void {
  const { style } = stage;
  const width = stage.columns - 21;
  const quote = (text: string) => ["", style.dim(oneLine(text, width))] as const;
  const first = seen.left.map(indexableText).find((text) => text.trim() !== "") ?? "";
  const summary = (seen.summary ?? "").split("\n").filter((line) => line.trim() !== "");
  const facts: (readonly [string, string])[] = [
    ["tokens", `${thousands(seen.tokens_before)} → ${thousands(seen.tokens_after)}`],
    ["stayed", `the system prompt and ${turns(seen.stayed)}`],
    ["left", `${turns(seen.left)}, to memory; the first of them:`],
    quote(`“${oneLine(first, width - 2)}”`),
    ["summary", `${summary.length} lines in their place; first and last of them:`],
    ...summary.slice(0, 1).map(quote),
    ...summary.slice(1).slice(-2).map(quote),
  ];
  if (seen.pruned > 0) facts.push(["pruned", `${seen.pruned} old tool outputs, to their ends`]);
  stage.say(
    `\n         ${gauge(seen.tokens_before, threshold, style)}  ${style.bold("compaction")}`,
  );
  for (const [name, fact] of facts) {
    stage.say(`         ${style.dim("│")} ${style.cyan(name.padEnd(8))} ${fact}`);
  }
  stage.say();
}

function turns(messages: readonly Message[]): string {
  const { length } = splitTurns(messages).turns;
  return `${length} ${length === 1 ? "turn" : "turns"} (${messages.length} messages)`;
}

const GAUGE_WIDTH = 24;

/** A bar that is full at the threshold. */
function gauge(tokens: number, threshold: number, style: Style): string {
  const share = Math.min(1, tokens / threshold);
  const filled = Math.round(share * GAUGE_WIDTH);
  const paint = share >= 1 ? style.red : share > 0.75 ? style.yellow : style.green;
  const bar = paint("█".repeat(filled)) + style.dim("░".repeat(GAUGE_WIDTH - filled));
  return `${bar} ${thousands(tokens).padStart(6)}`;
}
