import { join } from "node:path";
import type { SayProgress } from "../bench.ts";
import { mean, share } from "../measuring.ts";
import { groupTalk, type MadeTalk, sentencesIn, severalSessions, type Told } from "./made-talk.ts";
import { openTasks } from "./open-requests.ts";
import { textsOf, type Way } from "./played-session.ts";
import { PlayedStore, type PlayedTalk } from "./played-store.ts";
import { PlayedWindow } from "./played-window.ts";
import { pickFrom } from "./talk.ts";
import { says, saysWhen, saysWho } from "./told-judge.ts";

export interface ToldInput {
  readonly folder: string;
  readonly kind: "group" | "sessions";
  readonly window: number;
  readonly talks: number;
  /** Messages of a group, or sessions of a person. */
  readonly length: number;
}

/** What was measured of made-up talks, with one way of keeping the history. Shares are from 0 to 1. */
export interface Heard {
  /** Of the questions: those whose answer is in the request, among the results of one search, or in either. */
  readonly inRequest: number;
  readonly bySearch: number;
  readonly byEither: number;
  /** The same in the request, with the name of who said it, or with its session and the day. */
  readonly withSource: number;
  /** Of the questions: those with an answer that a later one replaced, without the later one. */
  readonly outdated: number;
  /** Of the requests that need an instruction: those that have it, word for word, and with who said it. */
  readonly instructed: number;
  readonly instructedBy: number;
  /** Of the requests after an instruction was taken back: those that still tell it as one. */
  readonly takenBack: number;
  readonly obeyedAgain: number;
  /** Of the questions that nothing answers: those for which anything was recalled. */
  readonly unrelatedRecalls: number;
  /** Of the questions to a window that has messages of people only: those answered, and those with who said it. */
  readonly aloneInRequest: number;
  readonly aloneWithSource: number;
  readonly aloneTokens: number;
  /** Of what a misled summariser says: what the request has in the end. */
  readonly turnedAround: number;
  readonly tokens: number;
  readonly cost: number;
  readonly summaries: number;
  readonly violations: number;
}

export interface ToldOutput {
  readonly talks: number;
  readonly messages: number;
  readonly questions: number;
  readonly unrelated: number;
  readonly rkat: Heard;
  readonly withoutRecall: Heard;
  /** With a summariser that leaves out every third sentence, and turns around what it says of each answer. */
  readonly misled: Heard;
}

type Summariser = (given: string) => string;

/** Plays talks of several people, or of several sessions, asks questions at their end, and looks at what the model was sent. */
export async function toldTask(input: ToldInput, say: SayProgress): Promise<ToldOutput> {
  const { kind, window, length } = input;
  const talks = Array.from({ length: input.talks }, (_, index) =>
    kind === "group" ? groupTalk(index + 1, length) : severalSessions(index + 1, length),
  );
  const measured = async (name: string, way: Way, summariserOf: (talk: MadeTalk) => Summariser) => {
    const tally = new Tally();
    for (const [index, talk] of talks.entries()) {
      const path = join(input.folder, `${kind}-${name.replaceAll(" ", "-")}-${window}-${index}.db`);
      const store = new PlayedStore(path, way, summariserOf(talk));
      await measureTalk(talk, store, tally, (text) => say(`${name}, talk ${index + 1}, ${text}`));
      if (kind !== "group") continue;
      await say(`${name}, talk ${index + 1}, people alone`);
      const alone = new PlayedWindow(`${path}.alone`, way, summariserOf(talk));
      await measureAlone(talk, alone, tally);
    }
    return tally.result();
  };
  const sum = (of: (talk: MadeTalk) => number) => talks.reduce((all, talk) => all + of(talk), 0);
  return {
    talks: talks.length,
    messages: sum(({ sessions }) => sessions.flat().length),
    questions: sum(({ questions }) => questions.length),
    unrelated: sum(({ unrelated }) => unrelated.length),
    rkat: await measured("rkat", { window }, faithful),
    withoutRecall: await measured("without recall", { window, recallTokens: 0 }, faithful),
    misled: await measured("misled", { window }, misleading),
  };
}

async function measureTalk(
  talk: MadeTalk,
  store: PlayedStore,
  tally: Tally,
  say: SayProgress,
): Promise<void> {
  const played: PlayedTalk[] = [];
  for (const [session, spoken] of talk.sessions.entries()) {
    await say(`session ${session + 1} of ${talk.sessions.length}`);
    const one = await store.play(spoken);
    played.push(one);
    tally.violations += one.violations;
    noteRequests(talk, session, one, tally);
  }
  tally.costs.push(played.reduce((sum, { cost }) => sum + cost, 0));
  tally.summaries.push(played.reduce((sum, { summaries }) => sum + summaries, 0));
  await say("questions");
  const last = talk.asksInNewSession ? undefined : played.at(-1)?.id;
  for (const told of talk.questions) {
    const { texts, found, violations } = await store.ask(told.query, last);
    const inRequest = says(texts, told.said);
    const bySearch = says(found, told.said);
    tally.violations += violations;
    tally.inRequest.push(inRequest);
    tally.bySearch.push(bySearch);
    tally.byEither.push(inRequest || bySearch);
    tally.withSource.push(hasSource(texts, told, played));
    if (told.before) tally.outdated.push(!inRequest && says(texts, told.before));
    tally.turnedAround.push(told.untrue.some((text) => says(texts, text)));
  }
  for (const query of talk.unrelated) {
    tally.unrelatedRecalls.push((await store.ask(query, last)).recalled);
  }
}

/** The same people without a bot, in a window that has user messages only. */
async function measureAlone(talk: MadeTalk, window: PlayedWindow, tally: Tally): Promise<void> {
  await window.play(talk.sessions.flat());
  for (const { query, said, by = "" } of talk.questions) {
    const { texts, tokens } = await window.ask(query);
    tally.aloneInRequest.push(says(texts, said));
    tally.aloneWithSource.push(saysWho(texts, said, by));
    tally.aloneTokens.push(tokens);
  }
}

function hasSource(texts: string, { said, by, session, day }: Told, played: readonly PlayedTalk[]) {
  if (by !== undefined) return saysWho(texts, said, by);
  return saysWhen(texts, said, { session: played[session]?.id ?? "", day });
}

/** What is true of each request while a session goes on. */
function noteRequests(
  { sessions, instructions }: MadeTalk,
  session: number,
  { requests }: PlayedTalk,
  tally: Tally,
): void {
  for (const { messages, turn } of requests) {
    const texts = messages.flatMap(textsOf).join("\n");
    tally.tokens.push(texts.length / 4);
    const asked = /Task (\d+):/.exec(sessions[session]?.[turn]?.text ?? "")?.[1];
    tally.obeyedAgain.push([...openTasks(messages)].some((task) => `${task}` !== asked));
    for (const { text, by, from, holds } of instructions) {
      if (session < from.session || (session === from.session && turn < from.place)) continue;
      if (!holds) {
        tally.takenBack.push(says(texts, text));
        continue;
      }
      const gone = instructions.find((one) => one.text === text && !one.holds)?.from;
      // The session in which it is taken back may still have it.
      if (gone && session >= gone.session - 1) continue;
      tally.instructed.push(says(texts, text));
      tally.instructedBy.push(by === undefined ? says(texts, text) : saysWho(texts, text, by));
    }
  }
}

/** Sentences from all over what it is given, and no word of its own. */
function faithful(talk: MadeTalk): Summariser {
  const sentences = sentencesIn(talk);
  return (given) => pickFrom(sentences, given).join("\n");
}

function misleading(talk: MadeTalk): Summariser {
  const sentences = sentencesIn(talk);
  const untrue = new Map(
    talk.questions.map(({ said, untrue }, at) => [said, untrue[at % 2] ?? ""]),
  );
  return (given) =>
    pickFrom(sentences, given)
      .filter((_, index) => index % 3 !== 2)
      .map((sentence) => untrue.get(sentence) ?? sentence)
      .join("\n");
}

/** What was counted in all talks. */
class Tally {
  readonly inRequest: boolean[] = [];
  readonly bySearch: boolean[] = [];
  readonly byEither: boolean[] = [];
  readonly withSource: boolean[] = [];
  readonly outdated: boolean[] = [];
  readonly instructed: boolean[] = [];
  readonly instructedBy: boolean[] = [];
  readonly takenBack: boolean[] = [];
  readonly obeyedAgain: boolean[] = [];
  readonly unrelatedRecalls: boolean[] = [];
  readonly aloneInRequest: boolean[] = [];
  readonly aloneWithSource: boolean[] = [];
  readonly aloneTokens: number[] = [];
  readonly turnedAround: boolean[] = [];
  readonly tokens: number[] = [];
  readonly costs: number[] = [];
  readonly summaries: number[] = [];
  violations = 0;

  result(): Heard {
    return {
      inRequest: share(this.inRequest),
      bySearch: share(this.bySearch),
      byEither: share(this.byEither),
      withSource: share(this.withSource),
      outdated: share(this.outdated),
      instructed: share(this.instructed),
      instructedBy: share(this.instructedBy),
      takenBack: share(this.takenBack),
      obeyedAgain: share(this.obeyedAgain),
      unrelatedRecalls: share(this.unrelatedRecalls),
      aloneInRequest: share(this.aloneInRequest),
      aloneWithSource: share(this.aloneWithSource),
      aloneTokens: mean(this.aloneTokens),
      turnedAround: share(this.turnedAround),
      tokens: mean(this.tokens),
      cost: mean(this.costs),
      summaries: mean(this.summaries),
      violations: this.violations,
    };
  }
}
