import type { HostRow } from "./play-all.ts";

/** Two tables for docs/benchmarks.md: the promises that were broken, and what the runs cost. */
export function renderHosts(rows: readonly HostRow[]): string {
  const promises = rows.map((row) => {
    const { violations } = row;
    const percent = (count: number) => shareOf(count, row.runs);
    return [
      ...namesOf(row),
      percent(violations.any),
      percent(violations.failed),
      percent(violations.callParted),
      percent(violations.reasoningParted),
      percent(violations.lastUserLost),
      percent(violations.standingLost),
      percent(violations.rewritten),
    ];
  });
  const costs = rows.map((row) => [
    ...namesOf(row),
    String(row.summaries),
    `${(row.sentTokens / 1e6).toFixed(2)} M`,
    shareOf(row.cachedTokens, row.sentTokens),
    `${((row.sentTokens - CACHE_REBATE * row.cachedTokens) / row.runs / 1000).toFixed(1)} k`,
    shareOf(row.inRequest, row.questions),
    shareOf(row.answered, row.questions),
  ]);
  return [
    table([...NAMES, ...PROMISE_COLUMNS], promises),
    table([...NAMES, ...COST_COLUMNS], costs),
  ].join("\n\n");
}

const NAMES = ["host", "with"];
const PROMISE_COLUMNS = [
  "any",
  "ended by an error",
  "call or result alone",
  "reasoning parted",
  "last user message lost",
  "standing instruction lost",
  "rewritten",
];
const COST_COLUMNS = [
  "summaries",
  "tokens sent",
  "cached",
  "cost a run",
  "by the request",
  "or by one search",
];

/** A token that the provider reads from its cache costs a tenth of another one. */
const CACHE_REBATE = 0.9;

function namesOf({ host, name }: HostRow): string[] {
  return [host, name === "rkat" ? "**rkat**" : name];
}

function shareOf(part: number, whole: number): string {
  const percent = (100 * part) / Math.max(1, whole);
  return part === 0 ? "0 %" : `${percent < 1 ? percent.toFixed(1) : Math.round(percent)} %`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
