import { join } from "node:path";
import type { SayProgress } from "../bench.ts";
import type { Question } from "../data/conversation.ts";
import { madeUpDataset, readDatasets } from "../data/dataset.ts";
import { mean, share } from "../measuring.ts";
import { canRecall, oneSpaced, PlayedSession, type Way } from "./played-session.ts";
import { beginningOf, type Exchange, summariserOf, type Talk, talkOf } from "./talk.ts";
import { TURNS_WITH_WISHES, WISHES, wishfulTalk } from "./wishes.ts";

export interface CoherenceInput {
  readonly folder: string;
  /** The folder and the name of a set, or a number of made-up conversations. */
  readonly data: { readonly folder: string; readonly set: string } | number;
  readonly window: number;
  /** At most so many talks of the set, and questions to each; unrelated ones come on top. */
  readonly talks: number;
  readonly questions: number;
  readonly unrelated: number;
}

/** What was measured with one way of keeping the history. Shares are from 0 to 1. */
export interface Coherence {
  /** Of the messages that answer: word for word in the request, among the results of one search, or either. */
  readonly inRequest: number;
  readonly bySearch: number;
  readonly byEither: number;
  readonly tokens: number;
  readonly tokensMax: number;
  readonly recalledTokens: number;
  readonly recalledTokensMax: number;
  readonly compactions: number;
  /** Of the questions about other talks: those in whose turn anything was recalled. */
  readonly unrelatedRecalls: number;
  /** Of the user's short messages: those in the request, word for word, when three windows were said. */
  readonly shortWords: number;
  /** Of the things that were asked for once: those in the request after twelve compactions. */
  readonly wishes: number;
  readonly violations: number;
}

export interface CoherenceOutput {
  readonly talks: number;
  readonly messages: number;
  readonly questions: number;
  readonly unrelated: number;
  readonly rkat: Coherence;
  /** The same with recall off. Undefined in a version that has no recall. */
  readonly withoutRecall?: Coherence;
}

/** The longest message that counts as said in passing. */
const SHORT_CHARACTERS = 120;

/** A session of so many windows keeps all that the user said in passing. */
const WINDOWS = 3;

/** After so many compactions, what was asked for once is looked for. */
const COMPACTIONS = 12;

const SEED = 1;

/** Plays talks through the real loop, asks questions at their end, and looks at what the model is sent. */
export async function coherenceTask(
  input: CoherenceInput,
  say: SayProgress,
): Promise<CoherenceOutput> {
  const all = talksOf(input.data);
  const talks = all.slice(0, input.talks);
  const { window } = input;
  const measured = async (way: Way, name: string) => {
    const tally = new Tally();
    for (const [index, talk] of talks.entries()) {
      const label = `${name}, talk ${index + 1} of ${talks.length}`;
      await measureTalk({ talk, all, way, input, tally }, (text) => say(`${label}, ${text}`));
    }
    await say(`${name}, wishes`);
    await measureWishes(way, input, tally);
    return tally.result();
  };
  const rkat = await measured({ window }, "rkat");
  const withoutRecall = canRecall()
    ? await measured({ window, recallTokens: 0 }, "without recall")
    : undefined;
  const sum = (of: (talk: Talk) => number) => talks.reduce((total, talk) => total + of(talk), 0);
  return {
    talks: talks.length,
    messages: sum(({ texts }) => texts.size),
    questions: sum(({ questions }) => Math.min(questions.length, input.questions)),
    unrelated: sum((talk) => unrelatedTo(talk, all, input.unrelated).length),
    rkat,
    ...(withoutRecall ? { withoutRecall } : {}),
  };
}

function talksOf(data: CoherenceInput["data"]): readonly Talk[] {
  if (typeof data === "number") return madeUpDataset(data).conversations.map(talkOf);
  const set = readDatasets(data.folder).find(({ name }) => name === data.set);
  return (set?.conversations ?? []).map(talkOf);
}

interface Measuring {
  readonly talk: Talk;
  readonly all: readonly Talk[];
  readonly way: Way;
  readonly input: CoherenceInput;
  readonly tally: Tally;
}

async function measureTalk(
  { talk, all, way, input, tally }: Measuring,
  say: SayProgress,
): Promise<void> {
  const { folder } = input;
  const summarise = summariserOf(talk);
  const open = (name: string) => new PlayedSession(join(folder, name), way, summarise);
  const name = `${talk.id.replaceAll(/\W/g, "-")}-${way.recallTokens ?? "default"}-${way.window}`;

  await say("playing");
  const session = open(`${name}.db`);
  await session.play(talk.exchanges);
  tally.compactions.push(session.compactions);
  tally.violations += session.violations;
  for (const [index, question] of spread(talk.questions, input.questions).entries()) {
    if (index % 10 === 0) await say(`question ${index}`);
    const asked = await session.ask(question.text);
    tally.tokens.push(asked.tokens);
    tally.recalledTokens.push(asked.recalledTokens);
    tally.violations += asked.violations;
    for (const id of question.relevant) {
      const text = oneSpaced(talk.texts.get(id) ?? "");
      const inRequest = asked.texts.includes(text);
      const bySearch = asked.found.includes(text);
      tally.inRequest.push(inRequest);
      tally.bySearch.push(bySearch);
      tally.byEither.push(inRequest || bySearch);
    }
  }
  await say("unrelated questions");
  for (const { text } of unrelatedTo(talk, all, input.unrelated)) {
    tally.unrelatedRecalls.push((await session.ask(text, false)).recalled);
  }

  await say("what was said in passing");
  const beginning = beginningOf(talk, WINDOWS * way.window);
  const short = open(`${name}-beginning.db`);
  await short.play(beginning);
  const { texts } = await short.ask("Where were we?", false);
  const passing = beginning
    .flatMap(({ asked }) => asked)
    .filter(({ text }) => text.length <= SHORT_CHARACTERS);
  tally.shortWords.push(...passing.map(({ text }) => texts.includes(oneSpaced(text))));
}

async function measureWishes(
  way: Way,
  { folder, data }: CoherenceInput,
  tally: Tally,
): Promise<void> {
  // A store of its own for each set: what an earlier session said would come back.
  const set = typeof data === "number" ? "generated" : data.set;
  const path = join(folder, `wishes-${set}-${way.recallTokens ?? "default"}-${way.window}.db`);
  const session = new PlayedSession(path, way, (given) => given.slice(0, 1000));
  await session.play(
    wishfulTalk(SEED),
    (compactions, turns) => compactions >= COMPACTIONS && turns >= TURNS_WITH_WISHES,
  );
  const { texts } = await session.ask("Where were we?", false);
  tally.wishes.push(...WISHES.map((wish) => texts.includes(wish)));
  tally.violations += session.violations;
}

/**
 * Questions about other talks, from all over them: nothing in this one answers. In some sets a person is in several talks. What
 * names a speaker of this one is about this one.
 */
function unrelatedTo(talk: Talk, all: readonly Talk[], count: number): readonly Question[] {
  const names = [...new Set(talk.exchanges.flatMap(speakersIn))].map((name) => name.toLowerCase());
  const others = all.filter(({ id }) => id !== talk.id).flatMap(({ questions }) => questions);
  return spread(
    others.filter(({ text }) => !names.some((name) => text.toLowerCase().includes(name))),
    count,
  );
}

function speakersIn({ asked, answered }: Exchange): readonly string[] {
  return [...asked, ...answered].flatMap(({ speaker }) => (speaker ? [speaker] : []));
}

/** At most so many of a list, evenly from all over it. */
function spread<Thing>(things: readonly Thing[], count: number): readonly Thing[] {
  const step = Math.max(1, things.length / count);
  return things.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

/** What was counted in all talks. */
class Tally {
  readonly inRequest: boolean[] = [];
  readonly bySearch: boolean[] = [];
  readonly byEither: boolean[] = [];
  readonly unrelatedRecalls: boolean[] = [];
  readonly shortWords: boolean[] = [];
  readonly wishes: boolean[] = [];
  readonly tokens: number[] = [];
  readonly recalledTokens: number[] = [];
  readonly compactions: number[] = [];
  violations = 0;

  result(): Coherence {
    return {
      inRequest: share(this.inRequest),
      bySearch: share(this.bySearch),
      byEither: share(this.byEither),
      tokens: mean(this.tokens),
      tokensMax: Math.max(0, ...this.tokens),
      recalledTokens: mean(this.recalledTokens),
      recalledTokensMax: Math.max(0, ...this.recalledTokens),
      compactions: mean(this.compactions),
      unrelatedRecalls: share(this.unrelatedRecalls),
      shortWords: share(this.shortWords),
      wishes: share(this.wishes),
      violations: this.violations,
    };
  }
}
