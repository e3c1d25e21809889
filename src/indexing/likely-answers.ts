import type { MemoryHit } from "../core/memory-store.ts";
import { isPerson } from "./passages/indexed-passages.ts";
import { readQuestion } from "./score/question.ts";
import { type AskedName, askedName, lacksName } from "./words/asked-name.ts";
import { type AskedValue, askedValue, lacksValue } from "./words/asked-value.ts";
import { isNearMiss } from "./words/near-misses.ts";

/** The number of first results that are the same for each limit, and that tell what a question is about. */
export const FIRST = 5;

/**
 * The hits of questions that may answer them: those with little of a question are left out if it asks for a number, a
 * time or a name and they have none. Of hits that are as good as the first, one in letters like those of the questions comes first.
 * Whether there is an answer at all is told from the first of them, however many there are.
 */
export function likelyAnswers(
  questions: readonly string[],
  hits: readonly MemoryHit[],
  at?: string,
): readonly MemoryHit[] {
  const asked = questions.map((question) => askedOf(question, at));
  const lacks = ({ content }: MemoryHit) =>
    asked.every(
      ({ value, name, question }) =>
        lacksValue(value, content) || lacksName(name, question, content),
    );
  const isLikely = (hit: MemoryHit) => hasMuch(hit) || !lacks(hit);
  const first = hits.slice(0, FIRST).filter(isLikely);
  if (first.length === 0 || haveNone(asked, first, lacks) || areNearMisses(questions, first))
    return [];
  return inLettersOf(questions, hits.filter(isLikely));
}

interface AskedFor {
  readonly question: string;
  readonly value: AskedValue;
  readonly name: AskedName;
}

/** A question that names a time asks for no name: what was said then may answer it in any words. */
function askedOf(question: string, at: string | undefined): AskedFor {
  const value = askedValue(question);
  const mayName = value === undefined && readQuestion(question, at).time === undefined;
  return { question, value, name: mayName ? askedName(question) : undefined };
}

/** Whether all questions ask for values that are surely said in one way, and no hit that comes first has one. */
function haveNone(
  asked: readonly AskedFor[],
  hits: readonly MemoryHit[],
  lacks: (hit: MemoryHit) => boolean,
): boolean {
  const canCount = () =>
    hits.length >= COUNTED || hits.some(({ content }) => LIST.test(content.toLowerCase()));
  const isSure = ({ value, name }: AskedFor) =>
    value === "count" ? !canCount() : SURE.includes(value ?? name);
  const isOther = (hit: MemoryHit) => (hit.match ?? 1) < SAME_MATCH && lacks(hit);
  const best = (hits[0]?.match ?? 1) >= VALUE_MATCH ? hits.filter(hasMuch) : hits;
  return asked.every(isSure) && best.every(isOther);
}

/**
 * Whether each of the hits that are about as good as the best answers another question than each of these. In a talk between
 * people, the words of a question may be in what was said before.
 */
function areNearMisses(questions: readonly string[], hits: readonly MemoryHit[]): boolean {
  const least = NEARLY_AS_GOOD * (hits[0]?.match ?? 1);
  return hits
    .filter(({ match = 1 }) => match >= least)
    .every(
      ({ match = 1, content, speaker }) =>
        match < SAME_MATCH &&
        !isPerson(speaker) &&
        questions.every((question) => isNearMiss(question, content)),
    );
}

function hasMuch({ match = 1 }: MemoryHit): boolean {
  return match >= VALUE_MATCH;
}

const SURE: readonly (AskedValue | AskedName)[] = [
  "age",
  "amount",
  "colour",
  "e-mail",
  "phone",
  "address",
  "birthday",
  "birthplace",
  "money",
  "name",
  "surname",
];
/** The most texts that are counted. */
const COUNTED = 2;
/** The things that one text lists, in small letters, may be counted too: "ada has a son and a daughter." */
const LIST =
  /(?<!\p{L})(?:and|und|et|y|e|och|og|en|и|ve)(?!\p{L})|,(?! (?:never|but|so|then|because|since|which|who|where|when|not|the|its?|he|she|we|they|i|you)(?!\p{L}))|[&、，和と与및]/u;
/** From here on, a hit has so much of a question that it needs no value. */
const VALUE_MATCH = 0.4;
/** The question itself. */
const SAME_MATCH = 0.95;
/** The part of the first one's match with which another is as good, or about as good. */
const AS_GOOD = 0.85;
const NEARLY_AS_GOOD = 0.6;

function inLettersOf(questions: readonly string[], hits: readonly MemoryHit[]) {
  const isOther = questions.some((question) => OTHER_LETTER.test(question));
  const isAlike = ({ content }: MemoryHit) =>
    OTHER_LETTER.test(content.slice(0, LETTERS_READ)) === isOther;
  const [first] = hits;
  const alike = hits.slice(0, FIRST).find(isAlike);
  const least = AS_GOOD * (first?.match ?? 1);
  if (!first || !alike || alike === first || (alike.match ?? 0) < least) return hits;
  return [{ ...alike, score: first.score }, ...hits.filter((hit) => hit !== alike)];
}

/** The beginning of a text tells its script. */
const LETTERS_READ = 400;

/** In other scripts than Latin. */
const OTHER_LETTER = /[^\P{L}\p{Script=Latin}]/u;
