import { join } from "node:path";
import type { SayProgress } from "../bench.ts";
import { type AgentRun, agentRuns, type Question, sentencesOf } from "../hosts/agent-run.ts";
import { isAnsweredBy } from "../hosts/judge.ts";
import { mean, share } from "../measuring.ts";
import { AgentSession } from "./agent-session.ts";
import { openTasks } from "./open-requests.ts";
import { oneSpaced, textsOf, type Way } from "./played-session.ts";
import { pickFrom } from "./talk.ts";

export interface WorkInput {
  readonly folder: string;
  readonly window: number;
  readonly runs: number;
  /** Turns of each run. What is asked at its end was said in the first three. */
  readonly turns: number;
}

/** What was measured of agents at work, with one way of keeping the history. Shares are from 0 to 1. */
export interface Work {
  /** Of the questions: those that the request answers, one search of the history, or either. */
  readonly inRequest: number;
  readonly bySearch: number;
  readonly byEither: number;
  /** Of the requests: those with the standing instruction, word for word. */
  readonly standing: number;
  /** Of the requests: those in which a task that was answered looks open. */
  readonly obeyedAgain: number;
  /** Of what the summariser turned around: what the request says so at the end. */
  readonly turnedAround: number;
  readonly tokens: number;
  /** Tokens of a run, of which cached ones count a tenth. */
  readonly cost: number;
  readonly summaries: number;
  readonly violations: number;
}

export interface WorkOutput {
  readonly runs: number;
  readonly turns: number;
  readonly questions: number;
  readonly rkat: Work;
  readonly withoutRecall: Work;
  /** With a summariser that leaves out every third sentence, and turns around what it says of each code. */
  readonly misled: Work;
}

type Summariser = (given: string) => string;

/** Has agents work through the real loop, asks questions at their end, and looks at what the model was sent. */
export async function workTask(input: WorkInput, say: SayProgress): Promise<WorkOutput> {
  const { window } = input;
  const runs = agentRuns(input.runs, "plain", input.turns);
  const measured = async (name: string, way: Way, summariserOf: (run: AgentRun) => Summariser) => {
    const tally = new Tally();
    for (const [index, run] of runs.entries()) {
      const path = join(input.folder, `${name.replaceAll(" ", "-")}-${window}-${index}.db`);
      const session = new AgentSession(path, way, run, summariserOf(run));
      await measureRun(run, session, tally, (text) => say(`${name}, run ${index + 1}, ${text}`));
    }
    return tally.result();
  };
  return {
    runs: runs.length,
    turns: input.turns,
    questions: runs.reduce((sum, { questions }) => sum + questions.length, 0),
    rkat: await measured("rkat", { window }, faithful),
    withoutRecall: await measured("without recall", { window, recallTokens: 0 }, faithful),
    misled: await measured("misled", { window }, misleading),
  };
}

async function measureRun(
  run: AgentRun,
  session: AgentSession,
  tally: Tally,
  say: SayProgress,
): Promise<void> {
  const work = await session.work((turn) => say(`turn ${turn}`));
  tally.costs.push(work.cost);
  tally.summaries.push(work.summaries);
  tally.violations += work.violations;
  for (const { messages, turn } of work.requests) {
    const texts = messages.flatMap(textsOf).join("\n");
    const open = openTasks(messages);
    tally.tokens.push(texts.length / 4);
    tally.standing.push(texts.includes(run.standing));
    tally.obeyedAgain.push([...open].some((task) => task !== turn));
  }
  await say("questions");
  for (const question of run.questions) {
    const { texts, found } = await session.ask(question.query);
    const inRequest = isAnsweredBy(texts, question);
    const bySearch = isAnsweredBy(found, question);
    tally.inRequest.push(inRequest);
    tally.bySearch.push(bySearch);
    tally.byEither.push(inRequest || bySearch);
    const untrue = untrueOf(run.questions, question).map(oneSpaced);
    tally.turnedAround.push(untrue.some((text) => texts.includes(text)));
  }
}

/** Sentences from all over what it is given, and no word of its own. */
function faithful(run: AgentRun): Summariser {
  const sentences = sentencesOf(run);
  return (given) => pickFrom(sentences, given).join("\n");
}

function misleading(run: AgentRun): Summariser {
  const sentences = sentencesOf(run);
  const untrue = new Map(
    run.questions.map((question, index) => [
      saidOf(question),
      untrueOf(run.questions, question)[index % 2] ?? "",
    ]),
  );
  return (given) =>
    pickFrom(sentences, given)
      .filter((_, index) => index % 3 !== 2)
      .map((sentence) => untrue.get(sentence) ?? sentence)
      .join("\n");
}

function saidOf({ subject, answer }: Question): string {
  return `The ${subject} has the code ${answer}.`;
}

/** What is not true of a question's answer: that it is so, and that it is the answer to the next question. */
function untrueOf(all: readonly Question[], question: Question): readonly string[] {
  const { subject, answer } = question;
  const other = all[(all.indexOf(question) + 1) % all.length] ?? question;
  return [
    `The ${subject} does not have the code ${answer}.`,
    saidOf({ ...question, answer: other.answer }),
  ];
}

/** What was counted in all runs. */
class Tally {
  readonly inRequest: boolean[] = [];
  readonly bySearch: boolean[] = [];
  readonly byEither: boolean[] = [];
  readonly standing: boolean[] = [];
  readonly obeyedAgain: boolean[] = [];
  readonly turnedAround: boolean[] = [];
  readonly tokens: number[] = [];
  readonly costs: number[] = [];
  readonly summaries: number[] = [];
  violations = 0;

  result(): Work {
    return {
      inRequest: share(this.inRequest),
      bySearch: share(this.bySearch),
      byEither: share(this.byEither),
      standing: share(this.standing),
      obeyedAgain: share(this.obeyedAgain),
      turnedAround: share(this.turnedAround),
      tokens: mean(this.tokens),
      cost: mean(this.costs),
      summaries: mean(this.summaries),
      violations: this.violations,
    };
  }
}
