import { below, oneOf, type Random, randomFrom } from "../data/random.ts";

/** A made-up conversation, in one session or in several of the same store. */
export interface MadeTalk {
  readonly sessions: readonly (readonly Spoken[])[];
  /** Whether the questions are asked in a session that was not there before. Otherwise they are asked in the last one. */
  readonly asksInNewSession: boolean;
  readonly questions: readonly Told[];
  /** Questions that nothing in it answers. */
  readonly unrelated: readonly string[];
  readonly instructions: readonly Instruction[];
}

/** What a person says, and what the model answers if it was asked. */
export interface Spoken {
  readonly text: string;
  /** Nobody is named in a talk of one person with a model. */
  readonly speaker?: string;
  /** ISO 8601. */
  readonly time: string;
  readonly answer?: string;
}

/** Something that was said once, with a question about it. */
export interface Told {
  readonly query: string;
  /** The sentence that answers. */
  readonly said: string;
  readonly by?: string;
  /** The number of the session in which it was said, and the day. */
  readonly session: number;
  readonly day: string;
  /** The sentence that it replaced. */
  readonly before?: string;
  /** What a misled summariser makes of it: that it is not so, and that it is another's. */
  readonly untrue: readonly [string, string];
}

/** Something that somebody asked for once, and that holds from then on or was taken back. */
export interface Instruction {
  readonly text: string;
  readonly by?: string;
  /** The session and the place in it from which on each request needs it, or must not have it. */
  readonly from: { readonly session: number; readonly place: number };
  readonly holds: boolean;
}

const words = (text: string) => text.split(" ");
const NOUNS = words(
  "anchor beacon buoy chart compass crane deck engine flag hatch keel lantern ledger mast oar pump rudder sail shutter siren tiller valve winch",
);
const PLACES = words(
  "Arbroath Brixham Cobh Deal Exmouth Fowey Gdansk Hull Ilfracombe Kiel Lowestoft",
);
/** Things and places that are in no talk, so that nothing answers questions about them. */
const OTHER_NOUNS = words("accordion balcony chimney dictionary garage kettle orchard piano");
const OTHER_PLACES = words("Toledo Uppsala Verona Wroclaw Zagreb");
const ADJECTIVES = words("old new red blue heavy light quiet loud broken clean northern southern");
const VERBS = words("lifts moves passes follows checks guards paints loads leaves meets holds");
const NAMES = words(
  "Ana Ben Cleo Dario Elif Femi Greta Hugo Ines Jonas Kira Leon Mona Nils Olga Pavel",
);

/** People in a group. */
const PEOPLE = 4;

/** The first of these is asked about, so that all of it was said long before. */
const TOLD_PART = 1 / 4;

const DAY_MS = 24 * 60 * 60 * 1000;
const START_MS = Date.parse("2026-03-02T09:00:00.000Z");

/** A time so many days and messages after the start. */
function timeAt(day: number, message: number): string {
  return new Date(START_MS + day * DAY_MS + message * 60_000).toISOString();
}

/** What talks are made of. */
class Wording {
  readonly random: Random;
  readonly #subjects = new Set<string>();

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  below(end: number): number {
    return below(end, this.random);
  }

  one<Item>(items: readonly Item[]): Item {
    return oneOf(items, this.random);
  }

  sentence(): string {
    return `The ${this.one(ADJECTIVES)} ${this.one(NOUNS)} ${this.one(VERBS)} the ${this.one(ADJECTIVES)} ${this.one(NOUNS)} of ${this.one(PLACES)}.`;
  }

  sentences(most: number): string {
    const count = 1 + this.below(most);
    return Array.from({ length: count }, () => this.sentence()).join(" ");
  }

  /** Something that no talk of this wording was about before. */
  subject(nouns = NOUNS, places = PLACES): string {
    for (;;) {
      const subject = `${this.one(nouns)} of ${this.one(places)}`;
      if (this.#subjects.has(subject)) continue;
      this.#subjects.add(subject);
      return subject;
    }
  }

  number(): number {
    return 1000 + this.below(9000);
  }
}

/**
 * People in a chat with a bot, which one message in four asks for something. Two people want other things for the same
 * subject, some change their mind, and one takes back what another one asked for. In every second talk the program puts the
 * name before the words too, so that the model sees who speaks.
 */
export function groupTalk(seed: number, messages: number): MadeTalk {
  const wording = new Wording(seed);
  const first = (seed * PEOPLE) % NAMES.length;
  const people = NAMES.slice(first, first + PEOPLE);
  const others = NAMES.filter((name) => !people.includes(name));
  const [ana = "", ben = "", cleo = ""] = people;
  const { told, lines } = wishesOf(people, wording);
  const instructions = [
    { by: ana, text: "Always write dates as year, month and day." },
    { by: cleo, text: "Always answer in French." },
    { by: ben, text: "Forget what I said about dates." },
    { by: ben, text: "Always answer in German." },
  ];
  const fixed = spreadOver(messages * TOLD_PART, [...instructions, ...lines]);
  let tasks = 0;
  const spoken = Array.from({ length: messages }, (_, place): Spoken => {
    const said = fixed.get(place);
    const speaker = said?.by ?? wording.one(people);
    const words = [wording.sentences(3), ...(said ? [said.text, wording.sentences(3)] : [])].join(
      " ",
    );
    const text = seed % 2 === 0 ? `${speaker}: ${words}` : words;
    const time = timeAt(0, place);
    if (place % 4 !== 3) return { text, speaker, time };
    const task = tasks++;
    const answer = `${wording.sentences(6)} Task ${task} is done.`;
    return { text: `${text} Task ${task}: what about it?`, speaker, time, answer };
  });
  const placeOf = (text: string) => spoken.findIndex((each) => each.text.includes(text));
  return {
    sessions: [spoken],
    asksInNewSession: false,
    questions: told,
    unrelated: unrelatedQuestions(wording, (subject) => {
      return `Which berth does ${wording.one(others)} want for the ${subject}?`;
    }),
    instructions: instructions
      .filter(({ text }) => !text.startsWith("Forget"))
      .map(({ by, text }) => ({
        by,
        text,
        holds: true,
        from: { session: 0, place: placeOf(text) },
      })),
  };
}

/** For each of six subjects what two people want, and for half of them what the first one wants later. */
function wishesOf(people: readonly string[], wording: Wording) {
  const told: Told[] = [];
  const early: Line[] = [];
  const late: Line[] = [];
  for (let index = 0; index < 6; index += 1) {
    const subject = wording.subject();
    const one = people[index % people.length] ?? "";
    const other = people[(index + 1) % people.length] ?? "";
    const [first, second, third] = [wording.number(), wording.number(), wording.number()];
    const wish = (berth: number) => `I want berth ${berth} for the ${subject}.`;
    const changed = `Now I want berth ${third} for the ${subject}, and not ${first}.`;
    early.push({ by: one, text: wish(first) }, { by: other, text: wish(second) });
    const isChanged = index % 2 === 0;
    if (isChanged) late.push({ by: one, text: changed });
    const query = (name: string) => `Which berth does ${name} want for the ${subject}?`;
    const untrue = (name: string, berth: number, others: string) =>
      [
        `${name} does not want berth ${berth} for the ${subject}.`,
        `${others} wants berth ${berth} for the ${subject}.`,
      ] as const;
    const place = { session: 0, day: timeAt(0, 0).slice(0, 10) };
    told.push(
      {
        ...place,
        query: query(one),
        said: isChanged ? changed : wish(first),
        by: one,
        ...(isChanged ? { before: wish(first) } : {}),
        untrue: untrue(one, isChanged ? third : first, other),
      },
      {
        ...place,
        query: query(other),
        said: wish(second),
        by: other,
        untrue: untrue(other, second, one),
      },
      {
        ...place,
        query: `Who wants berth ${second} for the ${subject}?`,
        said: wish(second),
        by: other,
        untrue: untrue(other, second, one),
      },
    );
  }
  return { told, lines: [...early, ...late] };
}

interface Line {
  readonly by?: string;
  readonly text: string;
}

/** Lines in their order, at places from 1 on that have the same distance. */
function spreadOver(end: number, lines: readonly Line[]): ReadonlyMap<number, Line> {
  const step = Math.max(1, end / lines.length);
  return new Map(lines.map((line, index) => [1 + Math.floor(index * step), line]));
}

/** Turns of each of several sessions. */
const TURNS = 24;

/**
 * One person with a model in several sessions, a day apart. Half of what is told changes in a later session. Three
 * instructions outlive their session, and a fourth is taken back in the last but one.
 */
export function severalSessions(seed: number, count: number): MadeTalk {
  const wording = new Wording(seed);
  const lasting = ["Always write dates as year, month and day.", "Never deploy on a Friday."];
  const taken = "Always indent with tabs.";
  const told: Told[] = [];
  const linesOf = Array.from({ length: count }, (): string[] => []);
  for (let index = 0; index < 2 * count; index += 1) {
    const subject = wording.subject();
    const [first, second] = [wording.number(), wording.number()];
    const begins = index % Math.max(1, count - 2);
    const later = begins + 1 + wording.below(count - begins - 1);
    const isChanged = index % 2 === 0;
    const said = `The ${subject} has the code ${first}.`;
    const changed = `The ${subject} has the code ${second} now, and not ${first}.`;
    linesOf[begins]?.push(said);
    if (isChanged) linesOf[later]?.push(changed);
    const session = isChanged ? later : begins;
    told.push({
      query: `Which code has the ${subject}?`,
      said: isChanged ? changed : said,
      session,
      day: timeAt(session, 0).slice(0, 10),
      ...(isChanged ? { before: said } : {}),
      untrue: [
        `The ${subject} does not have the code ${isChanged ? second : first}.`,
        `The ${subject} has the code ${wording.number()}.`,
      ],
    });
  }
  for (const [index, text] of lasting.entries()) linesOf[index]?.unshift(text);
  linesOf[0]?.push(taken);
  linesOf[count - 2]?.unshift("Forget what I said about tabs.");
  let tasks = 0;
  const sessions = linesOf.map((lines, session) => {
    const fixed = spreadOver(
      TURNS - 2,
      lines.map((text) => ({ text })),
    );
    return Array.from({ length: TURNS }, (_, place): Spoken => {
      const task = tasks++;
      const { text = "" } = fixed.get(place) ?? {};
      const prompt = `${text} ${wording.sentences(4)} Task ${task}: what about it?`;
      const answer = `${wording.sentences(24)} Task ${task} is done.`;
      return { text: prompt.trim(), time: timeAt(session, place), answer };
    });
  });
  return {
    sessions,
    asksInNewSession: true,
    questions: told,
    unrelated: unrelatedQuestions(wording, (subject) => `Which code has the ${subject}?`),
    instructions: [
      ...lasting.map((text, index) => ({
        text,
        holds: true,
        from: { session: index + 1, place: 0 },
      })),
      { text: taken, holds: true, from: { session: 1, place: 0 } },
      { text: taken, holds: false, from: { session: count - 1, place: 0 } },
    ],
  };
}

const UNRELATED = 20;

function unrelatedQuestions(wording: Wording, ask: (subject: string) => string): readonly string[] {
  return Array.from({ length: UNRELATED }, () => ask(wording.subject(OTHER_NOUNS, OTHER_PLACES)));
}

/** All sentences of a talk, in order. */
export function sentencesIn({ sessions }: MadeTalk): readonly string[] {
  const texts = sessions.flat().flatMap(({ text, answer = "" }) => [text, answer]);
  const all = texts.flatMap((text) => text.split(/(?<=\.) (?=[A-Z])/));
  return [...new Set(all.filter(({ length }) => length > 0))];
}
