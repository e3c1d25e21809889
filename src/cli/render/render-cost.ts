import type { CompactionCost, Cost, SessionCost, TurnCost } from "../../core/operations/cost.ts";
import { PRICES_OF } from "../../core/prices.ts";
import { thousands } from "./amounts.ts";
import { printable } from "./printable.ts";
import { renderTable, type Style } from "./style.ts";

/** The cost of a session: a row for each turn, the sum, and what its compactions cost and saved. */
export function renderCost(cost: SessionCost, style: Style, room?: number): string {
  const { turns, earlier, calls } = cost;
  const rows = [
    ...(earlier.turns === 0
      ? []
      : [row(`${thousands(earlier.turns)} earlier`, earlier.calls, earlier)]),
    ...turns.map((turn) => row(thousands(turn.turn), turn.calls.length, turn)),
    row("all", calls, cost),
  ];
  const compactions = turns.flatMap((turn) => turn.compactions.map((each) => lineOf(turn, each)));
  return [renderTable(COLUMNS, rows, style, room), ...compactions, ...notesOf(cost)].join("");
}

const COLUMNS = [
  { title: "TURN", align: "right" },
  { title: "CALLS", align: "right" },
  { title: "INPUT", align: "right" },
  { title: "CACHED", align: "right" },
  { title: "WRITTEN", align: "right" },
  { title: "OUTPUT", align: "right" },
  { title: "COST", align: "right" },
] as const;

function row(title: string, calls: number, { usage, costUsd }: Cost): readonly string[] {
  const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = usage;
  return [
    title,
    thousands(calls),
    thousands(inputTokens),
    cacheReadTokens === null ? "" : thousands(cacheReadTokens),
    cacheCreationTokens === null ? "" : thousands(cacheCreationTokens),
    thousands(outputTokens),
    costUsd === null ? "" : money(costUsd),
  ];
}

/** "Turn 7, pruned: about 4 000 tokens ($0.0108) read again; about 11 000 tokens less in each of 9 calls since ($0.0297)." */
function lineOf({ turn }: TurnCost, compaction: CompactionCost): string {
  const { kind, summary, rewrittenTokens, rewrittenUsd } = compaction;
  const { savedTokensPerCall, callsSince, savedUsd } = compaction;
  const parts = [
    ...(summary.usage.inputTokens > 0
      ? [`a summary for ${amount(summary.usage.inputTokens, summary.costUsd)}`]
      : []),
    ...(rewrittenTokens && rewrittenUsd
      ? [`about ${amount(rewrittenTokens, rewrittenUsd)} read again`]
      : []),
    ...(savedTokensPerCall > 0 && callsSince > 0
      ? [
          `about ${thousands(savedTokensPerCall)} tokens less in ${callsSince === 1 ? "the call" : `each of ${thousands(callsSince)} calls`} since${aside(savedUsd)}`,
        ]
      : []),
  ];
  return parts.length === 0 ? "" : `Turn ${turn}, ${kind}: ${parts.join("; ")}.\n`;
}

function amount(tokens: number, costUsd: number | null): string {
  return `${thousands(tokens)} tokens${aside(costUsd)}`;
}

function aside(costUsd: number | null): string {
  return costUsd ? ` (${money(costUsd)})` : "";
}

function notesOf({ calls, costUsd, unpricedModels, recalled, usage }: SessionCost): string[] {
  return [
    ...(calls > 0 && usage.inputTokens === 0 ? ["The provider counted no input tokens.\n"] : []),
    ...(recalled.tokens > 0 && usage.inputTokens > 0
      ? [
          `About ${thousands(recalled.tokens)} of the ${thousands(usage.inputTokens)} input tokens came back from memory.\n`,
        ]
      : []),
    ...(unpricedModels.length > 0
      ? [
          `No price is known for ${unpricedModels.map((model) => printable(model)).join(", ")}: its tokens have no cost here. Set it under [prices].\n`,
        ]
      : []),
    ...(costUsd === null
      ? []
      : [`In US dollars, by your [prices] or else the list prices of ${PRICES_OF}.\n`]),
  ];
}

/** Four digits after the point: a call often costs less than a cent. */
function money(usd: number): string {
  return `$${usd.toFixed(4)}`;
}
