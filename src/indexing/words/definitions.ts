import { STOP_WORDS } from "./english.ts";

/** Two ways to say the same, as a person defined them: `k8s` and `Kubernetes`. */
interface Definition {
  readonly short: string;
  readonly long: string;
}

/** A question in the words of a definition. */
export interface OtherWay {
  readonly text: string;
  /** The definition, for people: `k8s = Kubernetes`. */
  readonly means: string;
}

/** An entry that may teach: a person's own words. */
interface Said {
  readonly content: string;
  readonly role?: string | undefined;
  readonly speaker?: string | undefined;
  readonly kind?: string | undefined;
}

const WAYS_MAX = 2;
const READ_MAX = 4000;
const SENTENCE_MAX = 300;

/**
 * The questions in other words, by what people defined in entries that are found for them:
 *
 *     when was k8s upgraded      k8s = Kubernetes              when was Kubernetes upgraded
 *     who wrote the RFC          request for comments (RFC)    who wrote the request for comments
 *     what runs on staging       Staging is hel-db-3.          what runs on hel-db-3
 *
 * What a file, a tool or a model says defines nothing. Nothing is kept: a text that is forgotten is no longer found.
 */
export function otherWays(texts: readonly string[], found: readonly Said[]): readonly OtherWay[] {
  const teachers = found.filter((said) => isOwnWords(said) && MAY_DEFINE.test(said.content));
  if (teachers.length === 0) return [];
  const ways = new Map<string, OtherWay>();
  for (const { short, long } of teachers.flatMap(({ content }) => definitionsIn(content))) {
    for (const text of texts) {
      const other = inPlace(text, short, long) ?? inPlace(text, long, short);
      if (other !== undefined && !ways.has(other)) {
        ways.set(other, { text: other, means: `${short} = ${long}` });
      }
      if (ways.size === WAYS_MAX) return [...ways.values()];
    }
  }
  return [...ways.values()];
}

/** A guess counts less than what was asked. */
const GUESS_COUNTS = 0.9;

interface ScoredHit {
  readonly id: string;
  readonly score: number;
  readonly match?: number;
  readonly explanation?: { readonly parts: readonly { readonly name: string }[] };
}

/** The hits together with those of another way, best first. */
export function withOtherWay<Hit extends ScoredHit>(
  hits: readonly Hit[],
  others: readonly Hit[],
  means: string,
): readonly Hit[] {
  const best = new Map(hits.map((hit) => [hit.id, hit]));
  for (const hit of others) {
    const score = GUESS_COUNTS * hit.score;
    if (score <= (best.get(hit.id)?.score ?? 0)) continue;
    const part = { name: "defined", of: means, times: GUESS_COUNTS };
    const explanation = hit.explanation && { parts: [...hit.explanation.parts, part] };
    const match = GUESS_COUNTS * (hit.match ?? hit.score);
    best.set(hit.id, { ...hit, score, match, ...(explanation ? { explanation } : {}) });
  }
  return [...best.values()].sort((one, other) => other.score - one.score);
}

const NOT_PEOPLE: ReadonlySet<string | undefined> = new Set(["file", "program", "tool"]);

function isOwnWords({ role, speaker, kind }: Said): boolean {
  return (role === undefined || role === "user") && !NOT_PEOPLE.has(speaker) && kind !== "fact";
}

function definitionsIn(content: string): readonly Definition[] {
  const sentences = content.slice(0, READ_MAX).split(/(?<=[.!?;])(?=\s)|\n/);
  return sentences.flatMap((sentence) => {
    if (!MAY_DEFINE.test(sentence)) return [];
    const plain = sentence.trim();
    if (plain.length > SENTENCE_MAX || plain.endsWith("?") || CODE.test(plain)) return [];
    const said = plain.replace(/[.!;]$/, "");
    const found = inBrackets(said) ?? byCue(said) ?? byName(said);
    return found && !found.long.split(/\s+/).includes(found.short) ? [found] : [];
  });
}

const CODE = /[{}[\]<>`]/;

/** `request for comments (RFC)`, `RFC (request for comments)`, `k8s (short for Kubernetes)` */
function inBrackets(said: string): Definition | undefined {
  const open = said.indexOf(" (");
  const close = said.indexOf(")", open);
  if (open < 0 || close < 0) return undefined;
  const inside = said.slice(open + 2, close).trim();
  const before = said.slice(0, open).split(/\s+/);
  const last = before.at(-1) ?? "";
  if (isShort(inside)) {
    const words = before.slice(-Math.min(inside.length + 5, 2 * inside.length));
    const long = longFormOf(inside, words.join(" "));
    return long === undefined ? undefined : { short: inside, long };
  }
  const long = inside.replace(SHORT_FOR, "");
  const isRight = long !== inside || longFormOf(last, long) === long;
  return isShort(last) && isRight && isPhrase(long) ? { short: last, long } : undefined;
}

const SHORT_FOR = /^(?:short for|kurz für|stands for|steht für) /i;

/** An abbreviation: some letters, with two capitals or a digit. */
function isShort(word: string): boolean {
  return (
    /^[\p{L}\p{N}][\p{L}\p{N}&/-]{1,9}$/u.test(word) &&
    (/\p{Lu}.*\p{Lu}/u.test(word) || /\p{N}/u.test(word)) &&
    /\p{L}/u.test(word)
  );
}

/**
 * The end of a text that an abbreviation stands for: its letters are in the text in their order, the first of them at the
 * beginning of a word (Schwartz and Hearst 2003).
 */
function longFormOf(short: string, text: string): string | undefined {
  const [letters, all] = [short.toLowerCase(), text.toLowerCase()];
  const words = text.split(" ").slice(-short.length);
  // "Time to Interactive" has the letters of TTI twice.
  if (words.map((word) => word[0]?.toLowerCase()).join("") === letters) return words.join(" ");
  let at = all.length;
  for (let index = letters.length - 1; index >= 0; index -= 1) {
    const letter = letters[index] as string;
    if (!/[\p{L}\p{N}]/u.test(letter)) continue;
    do at -= 1;
    while (
      at >= 0 &&
      (all[at] !== letter || (index === 0 && /[\p{L}\p{N}]/u.test(all[at - 1] ?? " ")))
    );
    if (at < 0) return undefined;
  }
  const long = text.slice(at);
  return long.length > short.length && isPhrase(long) ? long : undefined;
}

/** Words between an abbreviation and what it stands for, in the languages that the index knows. */
const CUES =
  " = | stands for | is short for | short for | aka | also known as | means | steht für | ist kurz für | ist die Abkürzung für | bedeutet | signifie | veut dire | significa | sta per | staat voor | betekent | står för | står for | betyder | означает | это ".split(
    "|",
  );

/** Verbs that say more than what a word stands for: "friendship means a lot to me". */
const VAGUE: ReadonlySet<string> = new Set([
  " means ",
  " bedeutet ",
  " signifie ",
  " veut dire ",
  " significa ",
  " betekent ",
  " betyder ",
  " означает ",
  " это ",
]);

/** No variable of a program. */
const NAME = /^(?!.*\p{Ll}\p{Lu})[\p{L}\p{N}-]{2,30}$/u;

function byCue(said: string): Definition | undefined {
  for (const cue of CUES) {
    const at = said.indexOf(cue);
    if (at <= 0) continue;
    const [left, right] = [said.slice(0, at), said.slice(at + cue.length)].map(withoutArticle);
    if (left === undefined || right === undefined || right.includes(cue)) return undefined;
    const isNamed = isShort(left) || (!VAGUE.has(cue) && NAME.test(left));
    if (isNamed && isPhrase(left) && isPhrase(right)) return { short: left, long: right };
    return undefined;
  }
  return undefined;
}

/** `Staging is hel-db-3`: the name of one thing, which is written like a name of a machine. */
function byName(said: string): Definition | undefined {
  const words = withoutArticle(said).split(/\s+/);
  const [is = "", name = ""] = words.slice(-2);
  const left = words.slice(0, -2).join(" ");
  if (words.length > 4 || !IS.has(is) || !isPhrase(left)) return undefined;
  const isMachine =
    /^\p{L}[\p{L}\p{N}]*[-.][\p{L}\p{N}.-]{1,60}$/u.test(name) && /\p{N}|\./u.test(name);
  return isMachine ? { short: left, long: name } : undefined;
}

const IS_WORDS = ["is", "ist", "est", "es", "è", "é", "är", "er"];
const IS: ReadonlySet<string> = new Set(IS_WORDS);

/** Signs of a definition. Most sentences lack them, and are not read further. */
const MAY_DEFINE = new RegExp(
  ` \\(|${CUES.join("|")}| (?:${IS_WORDS.join("|")}) [^\\s.-]{1,30}[.-][^\\s]`,
  "u",
);

function withoutArticle(text: string): string {
  return text.trim().replace(/^(?:the|our|an?|der|die|das|unser|le|la|el|il|de|het) /i, "");
}

/** A few words that say something by themselves. */
function isPhrase(text: string): boolean {
  const words = text.split(/\s+/);
  const says = words.some(
    (word) => /\p{L}{2}|\p{L}\p{N}/u.test(word) && !STOP_WORDS.has(word.toLowerCase()),
  );
  return words.length <= 6 && text.length <= 60 && says && !/["'=()]/.test(text);
}

/** The text with `other` in place of `word`; `undefined` without it. A short word has to be written as it was defined. */
function inPlace(text: string, word: string, other: string): string | undefined {
  const isExact = word.length <= 3 || STOP_WORDS.has(word.toLowerCase());
  const [all, asked] = isExact ? [text, word] : [text.toLowerCase(), word.toLowerCase()];
  const at = all.indexOf(asked);
  const [before, behind] = [all[at - 1] ?? " ", all[at + asked.length] ?? " "];
  // Lower case may have another length.
  if (at < 0 || all.length !== text.length || /[\p{L}\p{N}]/u.test(before + behind))
    return undefined;
  if (all.includes(isExact ? other : other.toLowerCase())) return undefined;
  return text.slice(0, at) + other + text.slice(at + asked.length);
}
