import type { AgentRun } from "./agent-run.ts";
import type { Violation } from "./judge.ts";
import { type Contender, type Played, playRun } from "./play-run.ts";

/** What a loop did in all runs. */
export interface HostRow {
  readonly host: string;
  readonly name: string;
  readonly runs: number;
  /** Runs that broke a promise. */
  readonly violations: Readonly<Record<Violation | "failed" | "any", number>>;
  readonly summaries: number;
  readonly sentTokens: number;
  readonly cachedTokens: number;
  readonly questions: number;
  readonly inRequest: number;
  readonly answered: number;
  /** Why runs came to no end, without repetition. */
  readonly failures: readonly string[];
}

/** Small, so that every run outgrows it several times. */
const CONTEXT_WINDOW = 8_000;

export async function playAll(
  runs: readonly AgentRun[],
  contenders: readonly Contender[],
  say: (progress: string) => void = () => {},
): Promise<readonly HostRow[]> {
  const rows: HostRow[] = [];
  for (const contender of contenders) {
    say(`${contender.host}: ${contender.name}`);
    const played: Played[] = [];
    for (const run of runs) played.push(await playRun(run, contender, CONTEXT_WINDOW));
    await contender.close?.();
    rows.push(rowOf(contender, played, runs));
  }
  return rows;
}

function rowOf(
  { host, name }: Contender,
  played: readonly Played[],
  runs: readonly AgentRun[],
): HostRow {
  const count = (isCounted: (one: Played) => boolean) => played.filter(isCounted).length;
  const sum = (amountOf: (one: Played) => number) =>
    played.reduce((total, one) => total + amountOf(one), 0);
  const having = (name: Violation) => count(({ violations }) => violations.has(name));
  return {
    host,
    name,
    runs: runs.length,
    violations: {
      callParted: having("callParted"),
      reasoningParted: having("reasoningParted"),
      lastUserLost: having("lastUserLost"),
      standingLost: having("standingLost"),
      rewritten: having("rewritten"),
      failed: count(({ failure }) => failure !== undefined),
      any: count(({ violations, failure }) => failure !== undefined || violations.size > 0),
    },
    summaries: sum(({ summaries }) => summaries),
    sentTokens: sum(({ sentTokens }) => sentTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    questions: runs.reduce((total, { questions }) => total + questions.length, 0),
    inRequest: sum(({ inRequest }) => inRequest),
    answered: sum(({ answered }) => answered),
    failures: [...new Set(played.flatMap(({ failure }) => failure?.slice(0, 160) ?? []))],
  };
}
