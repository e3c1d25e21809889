import { asciiSet } from "../text/character-kinds.ts";
import { wordSet } from "../text/word-set.ts";
import { ANCHOR_KINDS } from "./anchor-forms.ts";
import { isFunctionWord } from "./content-words.ts";

/** A number with what it is the value of, in the words of its text. */
export interface NamedValue {
  /** `statement timeout: 5 s`, `48,216 events missing`. */
  readonly shown: string;
  /** The words before it, when a `:` or `=` says that this is its value, as in settings and output. */
  readonly key?: string;
}

/** Characters looked at on each side of a number, and the most that a name has. */
const AROUND = 64;
const NAME_MAX = 48;

/** Words of a name: `statement timeout`, `raw archive bucket`. */
const NAME_WORDS_MAX = 3;

/** Words between a name and its value: `timeout is 5 s`, `Wartezeit von 30 s`, `latency went above 190 ms`. */
const LINKS_MAX = 3;

/**
 * What a number at a place of a text is the value of: the name before it, the thing that it counts, or
 * both. Undefined when its clause does not say it, when it is the place of something (`main.ts:152`, line 152,
 * a time of day), and when it stands in a row of numbers, as in a table or in a longer number.
 *
 *     the statement timeout is 5 s      statement timeout is 5 s
 *     48,216 events missing since noon  48,216 events missing
 *     "batch_size": 250                 batch_size: 250
 *     before Thursday 13:31             nothing
 */
export function namedValue(source: string, at: number, number: string): NamedValue | undefined {
  const end = at + number.length;
  const before = source.slice(Math.max(0, at - AROUND), at);
  const after = source.slice(end, end + AROUND);
  if (IN_A_ROW_BEFORE.test(before) || IN_A_ROW_AFTER.test(after)) return undefined;
  const isTime = TIME.test(number);
  const name = nameBefore(before, at > AROUND, isTime);
  if (name === "place") return undefined;
  const counted = isTime ? "" : thingAfter(after, end + AROUND < source.length, number);
  if (!name && counted === "" && !(COUNTS.test(number) && !isTime)) return undefined;
  const shown = `${name?.shown ?? ""}${number}${counted}`;
  return { shown, ...(name?.key === undefined ? {} : { key: name.key }) };
}

const IN_A_ROW_BEFORE = /\d[ \t|]{1,8}[$€£¥-]?$/;
const IN_A_ROW_AFTER = /^[ \t|]{1,8}-?\d/;
export const TIME = /^\d{4}-\d{2}-\d{2}|^\d{1,2}:\d{2}/;

/** Numbers that their form takes with the thing that they count. A second or a percent is a part of something. */
const COUNTS = /\d\s?(?:token|byte|row|user|mile)s?$/;

/** The end of a clause, or of what quotes and brackets hold. */
function endsClause(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < 128 ? ENDS[code] === 1 : FOREIGN_ENDS.includes(text[at] ?? "");
}

const ENDS = asciiSet(/[\n\r\t.,;:!?()[\]{}<>|"'`*=]/);
const FOREIGN_ENDS = "“”„«»。、，；：！？（）「」—–…→•";

interface Name {
  /** Up to the number. */
  readonly shown: string;
  readonly key?: string;
}

function nameBefore(before: string, isCut: boolean, isTime: boolean): Name | "place" | undefined {
  const [mark = ""] = MARK.exec(before) ?? [];
  // `main.ts:152`, `12:5`: a place in a file.
  if (/^:$/.test(mark)) return "place";
  const marked = mark !== "";
  const text = marked ? before.slice(0, -mark.length) : before;
  const clause = lastClause(text, isCut);
  const spaceless = spacelessBefore(clause);
  if (spaceless !== "" && !isTime)
    return { shown: `${spaceless}${marked ? ": " : spacesAt(text)}` };
  if (!marked && !/\s$/.test(text)) return undefined;
  const words = clause.split(/\s+/).filter(Boolean);
  const links = marked ? [] : linksAtEnd(words);
  const end = words.length - links.length;
  const first = words[end - 1];
  if (first !== undefined && POSITIONS.has(first.toLowerCase())) return "place";
  let start = end;
  const wordsMax = mark.includes("=") ? 1 : NAME_WORDS_MAX;
  while (start > 0 && end - start < wordsMax && isNaming(words[start - 1], marked && start === end))
    start -= 1;
  if (start === end) return undefined;
  if (!marked) {
    // `took 5 s` has lost what took it, `they put 250` what was put, and `timeout than 5 s` what was compared.
    const isAlone = end - start === 1;
    if (isAction(first, words[start - 1]) && (isAlone || links.length === 0)) return undefined;
    if (isAlone && !links.every(isShort)) return undefined;
    if (isTime && (links.length === 0 || !links.every(isShort))) return undefined;
  }
  const named = words.slice(start, end).join(" ");
  if (named.length > NAME_MAX || (marked && HEADINGS.has(named))) return undefined;
  const linked = words
    .slice(end)
    .map((word) => ` ${word}`)
    .join("");
  const sign = /=/.test(mark) ? "=" : ":";
  if (!marked) return { shown: `${named}${linked} ` };
  return { shown: sign === "=" ? `${named}=` : `${named}: `, key: named };
}

/** A colon or an equals sign before a value, and the quotation marks of a key or a value. A bare `:` is a place's. */
const MARK = /(?:["'`]\s?[:=]\s?["'`]?|\s?[:=]>?\s["'`]?|=["'`]?|：|:)$/;

/** The headings of anchors in an earlier summary. */
const HEADINGS: ReadonlySet<string> = new Set(ANCHOR_KINDS);

/** The words of a clause that stand at the end of a text, each whole. */
function lastClause(text: string, isCut: boolean): string {
  let start = text.length;
  while (start > 0 && !endsClause(text, start - 1)) start -= 1;
  const clause = text.slice(start);
  return isCut && start === 0 ? clause.replace(/^\S*\s?/, "") : clause;
}

function spacesAt(text: string): string {
  return /\s$/.test(text) ? " " : "";
}

const SPACELESS = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー]`;
const SPACELESS_BEFORE = new RegExp(`(?<!${SPACELESS})${SPACELESS}{2,16}\\s?$`, "u");
const SPACELESS_AFTER = new RegExp(`^\\s?${SPACELESS}{1,8}`, "u");
const ANY_SPACELESS = new RegExp(SPACELESS, "u");

/** In a script without spaces, the words between a number and the clause's beginning. */
function spacelessBefore(clause: string): string {
  const last = clause.trimEnd().at(-1) ?? "";
  if (last < "\u0e00" || !ANY_SPACELESS.test(last)) return "";
  return SPACELESS_BEFORE.exec(clause)?.[0].trim() ?? "";
}

/** The words at the end that only link: `timeout is`, `batch of`, `latency went above`. */
function linksAtEnd(words: readonly string[]): readonly string[] {
  let from = words.length;
  while (from > 0 && words.length - from < LINKS_MAX && isLink(words[from - 1] ?? "")) from -= 1;
  return words.slice(from);
}

function isLink(word: string): boolean {
  return (
    isShort(word) || (/^\p{Ll}+$/u.test(word) && (isFunctionWord(word) || NEVER_NAMES.has(word)))
  );
}

/** In most languages the words between a name and its value are the shortest ones. */
function isShort(word: string): boolean {
  return /^\p{Ll}{1,3}$/u.test(word) && !NEVER_LINKS.has(word);
}

function isNaming(word: string | undefined, marked: boolean): boolean {
  if (word === undefined || !NAME_WORD.test(word)) return false;
  return marked || isThing(word);
}

const NAME_WORD = /^-{0,2}(?:\d{1,9}-)?\p{L}[\p{L}\p{M}\p{N}_’/-]{0,40}$/u;

/** A word that says something: long enough, or a name by its capitals, digits or underscores. */
function isThing(word: string | undefined): boolean {
  if (word === undefined || !NAME_WORD.test(word)) return false;
  const small = word.toLowerCase();
  if (isFunctionWord(small) || NEVER_NAMES.has(small) || TIME_WORDS.has(small)) return false;
  return word.length > 3 || /\d|_|\p{Lu}.*\p{Lu}/u.test(word);
}

/** A verb that has lost its subject. English shows it by its end, or by being common. */
function isAction(word = "", before = ""): boolean {
  const small = word.toLowerCase();
  if (ARTICLES.has(before.toLowerCase())) return false;
  return /(?:[^e]ed|\w{2}ing)$/.test(small) || ACTIONS.has(small);
}

/** The thing that a number counts, with the spaces before it: ` events missing`, ` % of the volume`. */
function thingAfter(after: string, isCut: boolean, number: string): string {
  const [spaceless] = SPACELESS_AFTER.exec(after) ?? [];
  if (spaceless !== undefined) return spaceless;
  if (!/^[ \u00a0]\S/.test(after)) return "";
  let ends = 0;
  while (ends < after.length && !endsClause(after, ends)) ends += 1;
  const clause = after.slice(0, ends);
  const words = clause.split(/\s+/).filter(Boolean);
  // `38,116 parcel.touched messages`: a word that goes on is half a name.
  const goesOn = clause.length === after.length ? isCut : /^.\w/.test(after.slice(clause.length));
  if (goesOn) words.pop();
  let from = 0;
  // `0.6 % of the volume`; but `5 s with the index` is no value of the index.
  if (GENITIVES.has(words[0]?.toLowerCase() ?? "")) from = 1 + Number(isShort(words[1] ?? ""));
  else if (MEASURE.test(number)) return "";
  let to = from;
  while (to < words.length && to - from < NAME_WORDS_MAX - 1 && isThing(words[to])) to += 1;
  if (to === from || (to - from === 1 && isAction(words[from]))) return "";
  return ` ${words.slice(0, to).join(" ")}`;
}

/** A number with a unit, and not a count of things. */
const MEASURE = /[^\d.,]$/;

const GENITIVES = wordSet("of de du del des di da do av af van von der");
const ARTICLES = wordSet("a an the my our your his her its their");
const NEVER_LINKS = wordSet(
  "and or but if so we he she you i it und oder et ou y e o put got ran saw cut hit did let use see has had",
);

/** Words beside a number that only place it: `line 152`, `Zeile 152`. */
const POSITIONS = wordSet(
  "line lines zeile zeilen ligne lignes línea líneas linha linhas riga righe regel rad строка col column columns spalte offset page seite message turn step",
);

/** Longer words that say nothing of what they stand beside, besides function words. */
const NEVER_NAMES = wordSet(
  "almost nearly roughly exactly maybe today tomorrow yesterday tonight morning evening night noon times more less least most first last next next only total later earlier than already still even here just till past since ungefähr etwa rund über unter nach mehr weniger genau heute gestern morgen menos desde hasta sobre environ moins plus depuis vers vous nous avec pour para come circa",
);

/** Verbs that often stand before a number. Other past forms end in `ed`. */
const ACTIONS = wordSet(
  "took take takes went goes made makes make gave gives kept keeps keep put puts held holds left found find finds cost costs says said told tell rose fell came come comes need needs want wants show shows gets runs sees saw read reads sent sends spent wrote writes used uses like with",
);

/** Days and months in some languages. `Thursday at 13:31` says nothing of what happened. */
const TIME_WORDS: ReadonlySet<string> =
  wordSet(`abril agosto août april aprile august augusti augustus avril czerwiec czwartek december dezember dezembro dicembre
  diciembre dienstag dimanche dinsdag domenica domingo donderdag donnerstag décembre enero febbraio febrero februar
  februari february fevereiro fredag freitag friday février gennaio giovedì giugno grudzień janeiro januar januari
  january janvier jeudi jueves juillet juin julho juli julio july june junho juni junio kwiecień lipiec listopad
  luglio lundi lunedì lunes luty lördag maandag maart maggio mai maio maj march mardi mars martedì martes marzec marzo
  março may mayo mei mercoledì mercredi mittwoch miércoles monday montag märz måndag niedziela november novembre
  novembro noviembre october octobre octubre oktober onsdag ottobre outubro październik piątek poniedziałek
  quarta-feira quinta-feira sabato samedi samstag saturday segunda-feira september septembre septiembre setembro
  settembre sexta-feira sierpień sobota sonntag styczeń sunday sábado söndag terça-feira thursday tisdag torsdag
  tuesday vendredi venerdì viernes vrijdag wednesday woensdag wrzesień wtorek zaterdag zondag środa`);
