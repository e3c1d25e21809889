import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.ts";
import { readDatasets } from "../data/dataset.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, type Figure, figure, type Unit } from "../report.ts";
import type { Coherence, CoherenceInput, CoherenceOutput } from "./coherence-task.ts";
import type { Heard, ToldInput, ToldOutput } from "./told-task.ts";
import { WISHES } from "./wishes.ts";
import type { Work, WorkOutput } from "./work-task.ts";

/** Conversations of people with questions that people asked, where this checkout has them beside it. */
const SHARED_DATA = fileURLToPath(new URL("../../../shared/bench/data", import.meta.url));

const SHARED_SETS = ["locomo", "realtalk"] as const;

const AMOUNTS = {
  quick: { talks: 1, questions: 20, unrelated: 10 },
  full: { talks: 2, questions: 40, unrelated: 150 },
} as const;

const MADE_UP = { quick: 2, full: 5 } as const;

/** Runs of agents, and turns of each in a window of so many tokens; more in a larger one. */
const WORK = { quick: { runs: 1, turns: 10 }, full: { runs: 4, turns: 40 } } as const;
const WORK_WINDOW = 8_000;

/** Talks of each kind in a window of so many tokens, and the messages of a group or the sessions of a person. */
const TOLD = {
  group: { quick: { talks: 1, length: 120 }, full: { talks: 2, length: 300 } },
  sessions: { quick: { talks: 1, length: 4 }, full: { talks: 2, length: 8 } },
} as const;

const TOLD_TITLES = { group: "groups", sessions: "several sessions" } as const;

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
  if (data !== undefined) return tables;
  for (const window of windows) {
    const amount = WORK[quick ? "quick" : "full"];
    const turns = Math.ceil(amount.turns * (window / WORK_WINDOW));
    const input = { folder: bench.folder, window, runs: amount.runs, turns };
    const onProgress = (text: string) => bench.onProgress(`agents at work, ${text}`);
    const output = await inOwnProcess("work", input, { ...bench, onProgress });
    tables.push({
      suite: "coherence",
      title: `coherence, agents at work, a window of ${window} tokens`,
      method: workMethodOf(output),
      figures: workFiguresOf(output),
    });
  }
  for (const kind of ["group", "sessions"] as const) {
    for (const window of windows) {
      const input = { folder: bench.folder, kind, window, ...TOLD[kind][quick ? "quick" : "full"] };
      const title = TOLD_TITLES[kind];
      const onProgress = (text: string) => bench.onProgress(`${title}, ${text}`);
      const output = await inOwnProcess("told", input, { ...bench, onProgress });
      tables.push({
        suite: "coherence",
        title: `coherence, ${title}, a window of ${window} tokens`,
        method: toldMethodOf(kind, output),
        figures: toldFiguresOf(kind, output),
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

function workMethodOf({ runs, turns, questions }: WorkOutput): string {
  return `${runs} runs of an agent with ${turns} turns each, with calls side by side and large outputs. A summary takes 24 sentences from all over what it is given. Then ${questions} questions are asked about what was said or read once in the first three turns, each in a copy of the session. A task that was answered looks open where a request has it and says nowhere what became of it. The misled way has a summariser that leaves out every third sentence, and says of each code that it is not so, or that it is another's. Of the cost, tokens that the request before had at its beginning count a tenth.`;
}

function workFiguresOf({ rkat, withoutRecall, misled }: WorkOutput): readonly Figure[] {
  const one = (name: string, unit: Unit, of: (work: Work) => number) =>
    figure(name, unit, of(rkat), { name: "without recall", value: of(withoutRecall) });
  return [
    one("answers in the request", "%", ({ inRequest }) => 100 * inRequest),
    one("answers by one search", "%", ({ bySearch }) => 100 * bySearch),
    one("answers by either", "%", ({ byEither }) => 100 * byEither),
    one("a request, on average", "tokens", ({ tokens }) => tokens),
    one("cost of a run", "tokens", ({ cost }) => cost),
    one("summaries of a run", "times", ({ summaries }) => summaries),
    one("requests with the standing instruction", "%", ({ standing }) => 100 * standing),
    one("requests where an answered task looks open", "%", ({ obeyedAgain }) => 100 * obeyedAgain),
    one("violations", "times", ({ violations }) => violations),
    figure("misled, answers in the request", "%", 100 * misled.inRequest),
    figure("misled, untrue answers in the request", "%", 100 * misled.turnedAround),
    figure("misled, requests where an answered task looks open", "%", 100 * misled.obeyedAgain),
  ];
}

const TOLD_METHODS = {
  group: ({ talks, messages }: ToldOutput) =>
    `${talks} made-up chats of four people and a bot with ${messages} messages, each a session; one message in four asks the bot. The log names who speaks, and in every second chat the program puts the name before the words too. Two people want other things for the same subject, some change their mind, and one takes back what another one asked for. The same people alone are the messages of a window (\`createHistoryWindow\`) that nobody answers.`,
  sessions: ({ talks, messages }: ToldOutput) =>
    `${talks} stores with the made-up sessions of one person and a model, a day apart, with ${messages} turns. Half of what is told changes in a later session. With recall, records of other sessions come back (\`recallFrom: "project"\`). What is asked is asked in a new session.`,
} as const;

function toldMethodOf(kind: ToldInput["kind"], output: ToldOutput): string {
  const { questions, unrelated } = output;
  return `${TOLD_METHODS[kind](output)} A summary takes 24 sentences from all over what it is given. Then ${questions} questions are asked about what was said once, and ${unrelated} that nothing answers, each in a copy of the store. The misled way has a summariser that leaves out every third sentence, and says of each answer that it is not so, or that it is another's. Of the cost, tokens that the request before had at its beginning count a tenth.`;
}

function toldFiguresOf(
  kind: ToldInput["kind"],
  { rkat, withoutRecall, misled }: ToldOutput,
): readonly Figure[] {
  const one = (name: string, unit: Unit, of: (heard: Heard) => number) =>
    figure(name, unit, of(rkat), { name: "without recall", value: of(withoutRecall) });
  const isGroup = kind === "group";
  const source = isGroup ? "who said it" : "session and day";
  return [
    one("answers in the request", "%", ({ inRequest }) => 100 * inRequest),
    one(`answers in the request with ${source}`, "%", ({ withSource }) => 100 * withSource),
    one("answers by one search", "%", ({ bySearch }) => 100 * bySearch),
    one("answers by either", "%", ({ byEither }) => 100 * byEither),
    one("outdated answers alone", "%", ({ outdated }) => 100 * outdated),
    one("a request, on average", "tokens", ({ tokens }) => tokens),
    one("cost of a talk", "tokens", ({ cost }) => cost),
    one("summaries of a talk", "times", ({ summaries }) => summaries),
    one("unrelated questions that recall", "%", ({ unrelatedRecalls }) => 100 * unrelatedRecalls),
    one("requests with the instructions", "%", ({ instructed }) => 100 * instructed),
    ...(isGroup
      ? [
          one("requests with whose they are", "%", ({ instructedBy }) => 100 * instructedBy),
          one("people alone, answers", "%", ({ aloneInRequest }) => 100 * aloneInRequest),
          one(
            "people alone, answers with who said it",
            "%",
            ({ aloneWithSource }) => 100 * aloneWithSource,
          ),
          one("people alone, a request", "tokens", ({ aloneTokens }) => aloneTokens),
        ]
      : [one("requests with one that was taken back", "%", ({ takenBack }) => 100 * takenBack)]),
    one("requests where an answered task looks open", "%", ({ obeyedAgain }) => 100 * obeyedAgain),
    one("violations", "times", ({ violations }) => violations),
    figure("misled, answers in the request", "%", 100 * misled.inRequest),
    figure("misled, untrue answers in the request", "%", 100 * misled.turnedAround),
    figure("misled, requests where an answered task looks open", "%", 100 * misled.obeyedAgain),
  ];
}
