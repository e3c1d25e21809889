import { wordSet } from "../text/word-set.ts";
import { anchorsIn } from "./anchors.ts";

/** A fact: what one clause says of one thing. A part is missing where the clause does not say it plainly. */
export interface Clause {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Paths, links, codes and identifiers, in small letters. */
  readonly anchors: readonly string[];
  /** The one anchor, or the words of a clause without anchors, if they are two at least. */
  readonly subject: string | undefined;
  readonly state: State | undefined;
  readonly value: Value | undefined;
  /** 1 for a plain statement or demand, -1 for a negated one, 0 where that is not plain. */
  readonly polarity: -1 | 0 | 1;
  /** The words that carry it, without negation and reporting words. */
  readonly words: ReadonlySet<string>;
  /** States and numbers that it mentions, plainly or not. */
  readonly mentioned: readonly string[];
  /** It tells what was, or why. */
  readonly isHistory: boolean;
}

export interface State {
  readonly dimension: string;
  readonly value: -1 | 1;
  /** The word, and the word for the opposite; none where a negation stands beside it. */
  readonly word: string;
  readonly opposite: string | undefined;
}

export interface Value {
  readonly unit: string;
  /** The same for `1,000`, `1.000` and `1000`. */
  readonly number: string;
  /** The value as it is written. */
  readonly shown: string;
}

/** The words of a state with those of the opposite, in the same form. */
const STATES: readonly (readonly [string, -1 | 1, string, string])[] = [
  ["outcome", 1, "passed", "failed"],
  ["outcome", 1, "passes", "fails"],
  ["outcome", 1, "passing", "failing"],
  ["outcome", 1, "succeeded", "failed"],
  ["outcome", 1, "succeeds", "fails"],
  ["outcome", -1, "failed", "passed"],
  ["outcome", -1, "fails", "passes"],
  ["outcome", -1, "failing", "passing"],
  ["progress", 1, "done", "open"],
  ["progress", 1, "finished", "unfinished"],
  ["progress", 1, "completed", "pending"],
  ["progress", 1, "resolved", "unresolved"],
  ["progress", 1, "closed", "open"],
  ["progress", -1, "open", "done"],
  ["progress", -1, "pending", "done"],
  ["progress", -1, "unfinished", "finished"],
  ["progress", -1, "unresolved", "resolved"],
  ["switch", 1, "enabled", "disabled"],
  ["switch", -1, "disabled", "enabled"],
  ["switch", 1, "on", "off"],
  ["switch", -1, "off", "on"],
  ["outcome", 1, "green", "red"],
  ["outcome", -1, "red", "green"],
  ["progress", 1, "fixed", "open"],
  ["vacancy", 1, "free", "booked"],
  ["vacancy", 1, "available", "unavailable"],
  ["vacancy", -1, "booked", "free"],
  ["vacancy", -1, "unavailable", "available"],
  ["part", 1, "included", "excluded"],
  ["part", -1, "excluded", "included"],
  ["answer", 1, "approved", "rejected"],
  ["answer", 1, "allowed", "forbidden"],
  ["answer", -1, "rejected", "approved"],
  ["answer", -1, "forbidden", "allowed"],
  ["access", 1, "public", "private"],
  ["access", -1, "private", "public"],
  ["access", 1, "unlocked", "locked"],
  ["access", -1, "locked", "unlocked"],
  ["run", 1, "running", "stopped"],
  ["run", 1, "online", "offline"],
  ["run", -1, "stopped", "running"],
  ["run", -1, "offline", "online"],
];
const STATE_OF = new Map(STATES.map((state) => [state[2], state]));

/** Words that are a state only behind one of these, and `on` and `off` only at the end too. */
const NEEDS_VERB = wordSet(
  "open done closed on off green red fixed free available public private locked running stopped",
);
const VERBS =
  /^(is|are|was|were|be|been|remains?|stays?|still|left|turned|switched|set|to|not|now|fully|completely|already|currently)$/;

const NEGATIONS =
  /^(not|never|cannot|dont|.{1,12}n['’]t|nicht|niemals|keine?[mnrs]?|pas|jamais|nunca)$/;
/** With these, a clause is no plain statement, or no plain negation. */
const UNSURE =
  /^(should|could|may|might|would|maybe|perhaps|probably|possibly|likely|seems?|appears?|apparently|if|unless|whether|suppose|think|guess|hope|hopefully|expect|expected|try|tried|trying|plan|planned|no|none|nothing|neither|nor|without|avoid|except|instead|rather|only|stop|hardly|barely|some|partly|partially|almost|nearly|mostly|half|sometimes|flaky|it|they|them|he|she|him|this|these|those|its|their|both|which|who|ask|either|soll(?:te|ten)?|könnten?|würden?|vielleicht|wohl|wenn|falls|ob|ohne|statt|nur|kaum|fast|teils|noch|er|sie|es|ihn|ihm|das|dies|diese|si|peut-être|devrait|pourrait|sans|sauf|presque|seulement|encore|il|elle|ça|sin|excepto|casi|quizás|podría|debería|solo|sólo|lo|eso|esto)$/;
/** With these, a state is demanded or expected, not told. */
const MODALS = /^(must|need|needs|will|shall|have|let|make|make|until|once|when|after|before|to)$/;
/** Before a number: it is no exact one. */
export const APPROXIMATE =
  /^(about|around|roughly|approximately|least|most|than|over|under|up|nearly|from|per|between|or)$/;
const HISTORY =
  /^(initially|before|first|originally|previously|earlier|formerly|used|was|were|had|until|old|former|yesterday|reported|because|since|then|when)$/;
/** Words that carry nothing of a statement. */
const EMPTY =
  /^(the|a|an|of|in|on|at|to|for|with|by|and|or|as|is|are|was|were|be|been|being|do|does|did|has|have|had|will|must|that|user|users|asked|asks|said|says|wants?|wanted|demand(?:s|ed)|insist(?:s|ed)|stated?|states|mentioned|noted|confirmed|requested|told|wrote|assistant|agent|please|now|also|still|then|so|we|i|you|your|my|our|me|us|not|never|cannot|need|needs|shall|can|too|just|very|fully|completely|entirely|already|currently|finally|successfully|nicht|niemals|keine?[mnrs]?|ne|pas|jamais|nunca)$/;

/** A longer text is read at its two ends only. */
export const TEXT_CHARACTERS_MAX = 20_000;

/** More of them are a table, and say nothing of one thing. */
const WORDS_MAX = 40;

/** The clauses of a text. A clause ends at a full stop, a comma, a semicolon, a line, and before `but`. */
export function clausesIn(text: string): Clause[] {
  const clauses: Clause[] = [];
  let start = 0;
  for (const { index, 0: mark } of text.matchAll(CLAUSE_END)) {
    clauses.push(...clauseOf(text, start, index, mark));
    start = index + mark.length;
  }
  clauses.push(...clauseOf(text, start, text.length, ""));
  return clauses;
}

const CLAUSE_END =
  /[.!?;,](?=\s|$)|[。、\n\uff01\uff0c\uff1b\uff1f]|\b(?:but|however|although|though|while|whereas|yet|because)\b/giu;
/** A comma between digits belongs to the number. */
const WORD = /(?:[\p{L}\p{M}\p{N}_'’%.:/-]|(?<=\d),(?=\d))+/gu;
const CLAUSE_CHARACTERS_MAX = 400;

function clauseOf(text: string, from: number, to: number, mark: string): Clause[] {
  const start = from + (text.slice(from, to).match(/^[\s*>•-]*/)?.[0].length ?? 0);
  const own = text.slice(start, to).trimEnd();
  if (own === "" || own.length > CLAUSE_CHARACTERS_MAX) return [];
  const isQuestion = mark === "?" || mark === "\uff1f";
  const found = anchorsIn(own).filter(({ kind }) => kind !== "numbers");
  const anchors = [...new Set(found.map((anchor) => anchor.text.toLowerCase()))];
  let rest = own;
  for (const anchor of found) rest = rest.replace(anchor.text, " ");
  const counted = wordsOf(rest);
  const all = counted.some((word) => STATE_OF.has(word))
    ? wordsOf(rest.replace(DURATION, " "))
    : counted;
  if (all.length > WORDS_MAX) return [];
  const isPlain = !isQuestion && anchors.length < 2 && !all.some((word) => UNSURE.test(word));
  const numbers = all.filter((word) => /^\d/.test(word));
  const words = new Set(all.filter((word) => !EMPTY.test(word)).map(stem));
  for (const anchor of anchors) words.add(anchor);
  const named = [...words].filter((word) => !isStateOrNumber(word));
  const subject = anchors[0] ?? (named.length > 1 ? `=${named.sort().join(" ")}` : undefined);
  const negations = all.filter((word) => NEGATIONS.test(word)).length;
  return [
    {
      start,
      end: start + own.length,
      text: own,
      anchors,
      subject,
      state: isPlain ? stateOf(all, negations) : undefined,
      value: isPlain && negations === 0 ? plainValue(all, numbers) : undefined,
      polarity: !isPlain || negations > 1 ? 0 : negations === 1 ? -1 : 1,
      words,
      mentioned: [...numbers.map(plainNumber), ...all.filter((word) => STATE_OF.has(word))],
      isHistory: all.some((word) => HISTORY.test(word)),
    },
  ];
}

/** Whether it is a value, and not what has one. */
export function isStateOrNumber(word: string): boolean {
  return /^\d/.test(word) || STATE_OF.has(word);
}

/** "passed in 38 s": how long it took is no count of what passed. */
const DURATION =
  /\b(?:in|within) \d[\d.,]{0,12} ?(?:ms|s|sec|seconds?|min|minutes?|h|hours?|days?)\b/gi;

function wordsOf(text: string): readonly string[] {
  const found: readonly string[] = text.toLowerCase().match(WORD) ?? [];
  const isSpanish = found.some((word) => SPANISH.test(word));
  const words = isSpanish ? found.map((word) => (word === "no" ? "nunca" : word)) : found;
  return words.map((word) => bare(word).replace(ELISION, "")).filter((word) => word !== "");
}

/** Beside these, "no" negates. */
const SPANISH = /^(?:el|la|los|las|del|que|por|con|para|una?)$/;

/** The French negation before a vowel: `n'est`. */
const ELISION = /^n['’](?=\p{L}{3})/u;

function stem(word: string): string {
  return isStateOrNumber(word) ? word : word.replace(/(?<=\w{3})s$/, "").slice(0, 6);
}

function stateOf(all: readonly string[], negations: number): State | undefined {
  const places = all.flatMap((word, at) => (STATE_OF.has(word) && isState(all, at) ? [at] : []));
  const place = places[0];
  if (place === undefined || places.length > 1 || negations > 1) return undefined;
  if (all.some((word) => MODALS.test(word) || /^\d/.test(word))) return undefined;
  const [dimension, value, word, opposite] = STATE_OF.get(all[place] ?? "") ?? [];
  if (dimension === undefined || value === undefined || word === undefined) return undefined;
  return negations === 0
    ? { dimension, value, word, opposite }
    : { dimension, value: value === 1 ? -1 : 1, word, opposite: undefined };
}

function isState(all: readonly string[], at: number): boolean {
  const word = all[at] ?? "";
  if (!NEEDS_VERB.has(word)) return true;
  if (!VERBS.test(all[at - 1] ?? "")) return false;
  return (word !== "on" && word !== "off") || at === all.length - 1;
}

function plainValue(all: readonly string[], numbers: readonly string[]): Value | undefined {
  const [number] = numbers;
  if (number === undefined || numbers.length > 1) return undefined;
  if (all.some((word) => APPROXIMATE.test(word))) return undefined;
  const at = all.indexOf(number);
  const digits = /^[\d.,]+/.exec(number)?.[0] ?? "";
  const own = number.slice(digits.length);
  const next = all[at + 1] ?? "";
  const label =
    at > 0 ? `before ${all.slice(0, at).findLast((word) => !EMPTY.test(word)) ?? ""}` : "";
  const unit = own || (next !== "" && !EMPTY.test(next) ? next.replace(/(?<=\w{2})s$/, "") : label);
  return digits === "" ? undefined : { unit, number: plainNumber(digits), shown: bare(digits) };
}

/** A number without the marks between its digits. */
export function plainNumber(text: string): string {
  const digits = bare(/^[\d.,]+/.exec(text)?.[0] ?? "");
  return digits.replace(/[.,](?=\d{3}(?!\d))/g, "").replace(",", ".");
}

/** A word without the marks around it. */
export function bare(word: string): string {
  let start = 0;
  let end = word.length;
  while (start < end && MARKS.includes(word[start] ?? "")) start += 1;
  while (end > start && MARKS.includes(word[end - 1] ?? "")) end -= 1;
  return word.slice(start, end);
}

const MARKS = "'’.,:/-";
