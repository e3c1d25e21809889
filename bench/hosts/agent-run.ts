import { readdirSync, readFileSync } from "node:fs";
import { below, oneOf, type Random, randomFrom } from "../data/random.ts";

/** A conversation with an agent, as the user and the model have it, whatever loop runs it. */
export interface AgentRun {
  readonly instructions: string;
  /** What the user says once at the beginning, and wants kept until the end. */
  readonly standing: string;
  readonly turns: readonly RunTurn[];
  /** Tools that are offered beside `read`, and never called. */
  readonly otherTools: readonly OtherTool[];
  /** What was said early on, once. */
  readonly questions: readonly Question[];
}

export interface RunTurn {
  readonly prompt: string;
  /** A picture beside the prompt, as a PNG in base64. */
  readonly picture?: string;
  readonly steps: readonly RunStep[];
  readonly answer: string;
}

export interface RunStep {
  readonly text: string;
  readonly reasoning?: string;
  readonly calls: readonly RunCall[];
}

/** A call of the tool `read`. */
export interface RunCall {
  readonly id: string;
  readonly path: string;
  readonly output: string;
}

export interface OtherTool {
  readonly name: string;
  readonly description: string;
}

/**
 * What a conversation has besides texts: a picture in two of three prompts, or a third of the window in definitions of
 * tools.
 */
export const KINDS = ["plain", "pictures", "tools"] as const;
export type Kind = (typeof KINDS)[number];

export interface Question {
  readonly query: string;
  /** What the answer is about, and the answer. */
  readonly subject: string;
  readonly answer: string;
}

/** One run in ten reads the pages and sources of this repository. The other runs read generated texts. */
const REAL_SHARE = 10;

/** The same runs each time. They have 8 to 12 turns, unless a number is given. */
export function agentRuns(
  count: number,
  kind: Kind = "plain",
  turns?: number,
): readonly AgentRun[] {
  return Array.from({ length: count }, (_, index) => {
    const random = randomFrom(index + 1);
    const lines = index % REAL_SHARE === 0 ? realLines(index / REAL_SHARE) : undefined;
    return withKind(runOf(random, lines, turns), kind, random);
  });
}

function withKind(run: AgentRun, kind: Kind, random: Random): AgentRun {
  if (kind === "plain") return run;
  if (kind === "tools") return { ...run, otherTools: otherTools() };
  const turns = run.turns.map((turn) =>
    below(3, random) === 0 ? turn : { ...turn, picture: PICTURE },
  );
  return { ...run, turns };
}

/** The beginning of a PNG of 1024 by 1024 pixels. Nobody here looks at more of it. */
const PICTURE = Buffer.concat([
  Buffer.from("89504e470d0a1a0a0000000d494844520000040000000400", "hex"),
  Buffer.alloc(120),
]).toString("base64");

/** 16 tools with 650 characters each: about 2 600 tokens. */
function otherTools(): readonly OtherTool[] {
  return Array.from({ length: 16 }, (_, index) => ({
    name: `harbour_tool_${index}`,
    description: `Tool ${index} of the harbour. `.repeat(26),
  }));
}

/** All sentences of a run, in order. */
export function sentencesOf({ turns }: AgentRun): readonly string[] {
  const texts = turns.flatMap(({ prompt, steps, answer }) => [
    prompt,
    ...steps.flatMap(({ text, calls }) => [text, ...calls.map(({ output }) => output)]),
    answer,
  ]);
  const lines = texts.flatMap((text) => text.split(/\n|(?<=\.) (?=[A-Z])/));
  return [...new Set(lines.filter((line) => line.length >= 12))];
}

function runOf(random: Random, lines: Iterator<string> | undefined, length?: number): AgentRun {
  const upTo = (end: number) => below(end, random);
  const one = <Item>(items: readonly Item[]) => oneOf(items, random);
  const sentence = () =>
    `The ${one(ADJECTIVES)} ${one(NOUNS)} ${one(VERBS)} the ${one(ADJECTIVES)} ${one(NOUNS)} of ${one(PLACES)}.`;
  const sentences = (number: number) => Array.from({ length: number }, sentence);
  const line = () => lines?.next().value ?? sentence();

  const subjects = new Set<string>();
  const fact = () => {
    let subject = "";
    while (subject === "" || subjects.has(subject)) {
      subject = `${one(NOUNS)} gauge of ${one(PLACES)}`;
    }
    subjects.add(subject);
    const answer = `${one(LETTERS)}${upTo(9)}-${1000 + upTo(9000)}`;
    const said = `The ${subject} has the code ${answer}.`;
    return { said, question: { query: `Which code has the ${subject}?`, subject, answer } };
  };
  const facts = Array.from({ length: 6 }, fact);
  const said = (index: number) => facts[index]?.said ?? "";
  const standing = one(STANDING);

  let calls = 0;
  const call = (lineCount: number, hidden?: string): RunCall => {
    calls += 1;
    const output = Array.from({ length: lineCount }, line);
    if (hidden) output.splice(upTo(lineCount), 0, hidden);
    return { id: `call_${calls}`, path: `${one(NOUNS)}-${calls}.md`, output: output.join("\n") };
  };
  const step = (hidden?: string): RunStep => {
    const parallel = 1 + upTo(3);
    const large = upTo(8) === 0 ? 0 : -1;
    return {
      text: upTo(2) === 0 ? "" : sentence(),
      ...(upTo(2) === 0 ? {} : { reasoning: sentences(2).join(" ") }),
      calls: Array.from({ length: parallel }, (_, index) =>
        call(index === large ? 60 + upTo(80) : 3 + upTo(15), index === 0 ? hidden : undefined),
      ),
    };
  };
  const turns = Array.from({ length: length ?? 8 + upTo(5) }, (_, index): RunTurn => {
    const hidden = index === 0 ? [said(0)] : index === 1 ? [said(1)] : [];
    const steps = [...hidden.map(step), ...Array.from({ length: upTo(5) }, () => step())];
    const told = index === 0 ? [standing, said(2)] : index === 2 ? [said(3)] : [];
    const learned = index === 1 ? [said(4)] : index === 2 ? [said(5)] : [];
    return {
      prompt: [...told, ...sentences(1 + upTo(3)), `Task ${index}: what about it?`].join(" "),
      steps,
      answer: [...learned, ...sentences(2 + upTo(4)), `Task ${index} is done.`].join(" "),
    };
  });
  return {
    instructions: "You are a careful harbour master. Read before you answer.",
    standing,
    turns,
    otherTools: [],
    questions: facts.map(({ question }) => question),
  };
}

/** Lines of this repository's own files, from another file for each number. */
function* realLines(number: number): Generator<string, undefined> {
  const files = ["docs", "src/window", "src/compaction", "src/agent"].flatMap((folder) => {
    const path = new URL(`../../${folder}/`, import.meta.url);
    const names = readdirSync(path).filter((name) => /\.(md|ts)$/.test(name));
    return names.sort().map((name) => new URL(name, path));
  });
  for (const index of files.keys()) {
    const text = readFileSync(files[(index + 3 * number) % files.length] as URL, "utf8");
    // Signs that JSON escapes would hide a line from a search for it.
    const lines = text.split("\n").map((line) => line.replaceAll(/["\\\t]/g, "").trim());
    // The first words of rkat's own request for a summary would make one of the request that has them.
    const said = lines.filter((line) => /\w+ \w+ \w+/.test(line) && !/COMPACTION/.test(line));
    for (const line of said) yield line.slice(0, 100);
  }
  return undefined;
}

const words = (text: string) => text.split(" ");
const STANDING = [
  "Never use the network.",
  "Only edit files under src/.",
  "Do not touch the folder migrations.",
  "Never delete a file without asking me.",
  "Always write dates as year, month and day.",
] as const;
const NOUNS = words(
  "anchor beacon buoy cargo chart compass crane deck ferry harbour hull keel lantern ledger lighthouse lock manifest mast pilot pier quay rope rudder sail seal ship signal storm tide winch",
);
const ADJECTIVES = words("old new red blue heavy light quiet loud broken clean northern southern");
const VERBS = words("lifts moves passes follows checks guards paints loads leaves meets holds");
const PLACES = words(
  "Arbroath Brixham Cobh Deal Exmouth Fowey Gdansk Hull Ilfracombe Kiel Lowestoft",
);
const LETTERS = words("B C D F G H J K L M N P Q R S T V W X Z");
