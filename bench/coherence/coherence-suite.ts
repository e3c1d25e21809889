import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.ts";
import { readDatasets } from "../data/dataset.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, type Figure, figure, type Unit } from "../report.ts";
import type { Coherence, CoherenceInput, CoherenceOutput } from "./coherence-task.ts";
import { WISHES } from "./wishes.ts";

/** Conversations of people with questions that people asked, where this checkout has them beside it. */
const SHARED_DATA = fileURLToPath(new URL("../../../shared/bench/data", import.meta.url));

const SHARED_SETS = ["locomo", "realtalk"] as const;

const AMOUNTS = {
  quick: { talks: 1, questions: 20, unrelated: 10 },
  full: { talks: 2, questions: 40, unrelated: 150 },
} as const;

const MADE_UP = { quick: 2, full: 5 } as const;

/** Coherence: whether the model is sent what answers a question, long after it was said. */
export async function coherenceSuite(bench: Bench): Promise<BenchTable[]> {
  const { data, quick, windows } = bench.options;
  const amounts = AMOUNTS[quick ? "quick" : "full"];
  const { sources, reason } = sourcesFor(data, quick);
  const tables: BenchTable[] = [];
  for (const source of sources) {
    const name = typeof source === "number" ? "made-up conversations" : source.set;
    for (const window of windows) {
      const input = { folder: bench.folder, data: source, window, ...amounts };
      const onProgress = (text: string) => bench.onProgress(`${name}, ${text}`);
      const output = await inOwnProcess("coherence", input, { ...bench, onProgress });
      tables.push({
        suite: "coherence",
        title: `coherence, ${name}, a window of ${window} tokens`,
        method: methodOf(output),
        figures: figuresOf(output),
        skipped: [
          ...(reason === undefined ? [] : [reason]),
          ...(output.withoutRecall ? [] : ["recall: this version of rkat has none"]),
        ],
      });
    }
  }
  return tables;
}

interface Sources {
  readonly sources: readonly CoherenceInput["data"][];
  /** Why conversations are made up. */
  readonly reason?: string;
}

function sourcesFor(data: string | undefined, quick: boolean): Sources {
  if (data !== undefined) {
    return { sources: readDatasets(data).map(({ name }) => ({ folder: data, set: name })) };
  }
  if (quick)
    return { sources: [MADE_UP.quick], reason: "real conversations: --quick leaves them out" };
  if (!existsSync(SHARED_DATA)) {
    return {
      sources: [MADE_UP.full],
      reason: "real conversations: ../shared/bench/data is not there",
    };
  }
  return { sources: SHARED_SETS.map((set) => ({ folder: SHARED_DATA, set })) };
}

function methodOf({ talks, messages, questions, unrelated }: CoherenceOutput): string {
  return `${talks} talks with ${messages} messages, each a session: who speaks first is the user, the other the model. A summary takes 24 sentences from all over what it is given. Then ${questions} questions are asked, and ${unrelated} about other talks, each in a copy of the session, and what the model is sent is looked at. Searches have ten results. Of ${WISHES.length} wishes, each is said once in another session, and looked for after twelve compactions. Tokens are estimated, without tools.`;
}

function figuresOf({ rkat, withoutRecall }: CoherenceOutput): readonly Figure[] {
  const one = (name: string, unit: Unit, of: (coherence: Coherence) => number) =>
    figure(
      name,
      unit,
      of(rkat),
      withoutRecall ? { name: "without recall", value: of(withoutRecall) } : undefined,
    );
  return [
    one("answers in the request", "%", ({ inRequest }) => 100 * inRequest),
    one("answers by one search", "%", ({ bySearch }) => 100 * bySearch),
    one("answers by either", "%", ({ byEither }) => 100 * byEither),
    one("a request, on average", "tokens", ({ tokens }) => tokens),
    one("a request, at most", "tokens", ({ tokensMax }) => tokensMax),
    one("recalled in a turn, on average", "tokens", ({ recalledTokens }) => recalledTokens),
    one("recalled in a turn, at most", "tokens", ({ recalledTokensMax }) => recalledTokensMax),
    one("unrelated questions that recall", "%", ({ unrelatedRecalls }) => 100 * unrelatedRecalls),
    one("short words kept for 3 windows", "%", ({ shortWords }) => 100 * shortWords),
    one("wishes kept", "%", ({ wishes }) => 100 * wishes),
    one("compactions of a talk", "times", ({ compactions }) => compactions),
    one("violations", "times", ({ violations }) => violations),
  ];
}
