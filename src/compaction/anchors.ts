import { asciiSet, asciiTable, isSpace, matchAt } from "../text/character-kinds.ts";
import { ANCHOR_FORMS, ANCHOR_KINDS, type AnchorForm, type AnchorKind } from "./anchor-forms.ts";
import { twoEnds } from "./cut-text.ts";
import { type NamedValue, namedValue } from "./named-value.ts";

/** A name or a number that cannot be said in other words. */
export interface Anchor {
  readonly kind: AnchorKind;
  /** The text that a reader would search for. */
  readonly text: string;
  /** A number with what it is the value of, because it says nothing alone: `port 7443`, `12 rows missing`. */
  readonly shown: string;
  /** Set on a number whose clause says what it is the value of. */
  readonly value?: Pick<NamedValue, "key">;
}

/** A longer one is data, not a name. */
const CHARACTERS_MAX = 120;

/** A longer text, such as a file that a tool has read, is searched at its two ends only. */
const TEXT_CHARACTERS_MAX = 100_000;

/** A text with more is a table of data. */
const ANCHORS_MAX = 6_000;

/**
 * Finds the anchors of a text, in order: paths, links, error codes, identifiers,
 * and numbers. Every mention counts.
 *
 * It knows forms, not words, so it works in every language. Credentials are left out.
 *
 * The time is linear in the text. Forms are tried where a word begins, and only those that can begin
 * with its first character and have in or behind the word what they need. Nearly all of them end
 * where the next word begins. The wide ones go on behind a `+`, so they are tried from a few places
 * of a run only.
 */
export function anchorsIn(text: string): Anchor[] {
  const source = twoEnds(text, TEXT_CHARACTERS_MAX);
  const anchors: Anchor[] = [];
  let run = NO_RUN;
  let digits = NO_RUN;
  let at = 0;
  while (at < source.length && anchors.length < ANCHORS_MAX) {
    const code = source.charCodeAt(at);
    const start = code < 128 ? START[code] : foreignStart(source, at);
    if (!start || !beginsWord(source, at)) {
      at += 1;
      continue;
    }
    let found: Found | undefined;
    if (start.wide) {
      if (at >= run.end) run = runAt(source, at);
      if (at < run.lastMark && run.tries < TRIES_MAX) {
        run.tries += 1;
        found = foundAt(start.wide, source, at);
      }
    }
    const end = wordEnd(source, at + 1);
    if (!found && start.forms.length > 0) {
      const narrow = narrowForms(start, source, at, end);
      if (narrow) found = foundAt(narrow, source, at);
    }
    if (found) {
      const anchor = anchorOf(found, source, at);
      if (anchor) anchors.push(anchor);
      at += found.text.length;
    } else if (IS_DIGIT[code] === 1) {
      if (at >= digits.end) digits = digitsAt(source, at);
      digits.tries += 1;
      at = digits.tries > TRIES_MAX ? Math.max(end, digits.end - AMOUNT_MAX) : end;
    } else at = IN_WORD[code] === 1 ? end : at + 1;
  }
  return anchors;
}

function anchorOf(found: Found, source: string, at: number): Anchor | undefined {
  const { kind } = found;
  const text = trimmed(found.text);
  if (text === "" || text.length > CHARACTERS_MAX || isCredential(text)) return undefined;
  const end = at + found.text.length;
  // Half a name, or a call such as `console.log(`, which only looks like a file.
  if (source.startsWith(" […]", end)) return undefined;
  if (kind === "paths" && source[end] === "(" && !text.includes("/")) return undefined;
  const value = kind === "numbers" ? namedValue(source, at, text) : undefined;
  if (!value) return { kind, text, shown: text };
  const { shown, key } = value;
  return { kind, text, shown, value: key === undefined ? {} : { key } };
}

/** Characters that the wide forms take, from one place on. */
interface Run {
  readonly end: number;
  /** Behind its last `/` or `@`, or the `://` behind it: every wide form needs one of them. */
  readonly lastMark: number;
  tries: number;
}

/** The most places of a run at which the wide forms are tried. */
const TRIES_MAX = 4;
const NO_RUN: Run = { end: 0, lastMark: 0, tries: 0 };

function runAt(text: string, at: number): Run {
  let end = at;
  let lastMark = 0;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (IN_RUN[code] !== 1) break;
    if (code === SLASH || code === AT_SIGN) lastMark = end + 1;
  }
  if (text.startsWith("://", end)) lastMark = end + 1;
  return { end, lastMark, tries: 0 };
}

/** The characters of an amount that a form looks at. */
const AMOUNT_MAX = 24;

/** Digits with dots and commas. The end of a long list of small numbers is enough. */
function digitsAt(text: string, at: number): Run {
  let end = at;
  while (end < text.length && IN_AMOUNT[text.charCodeAt(end)] === 1) end += 1;
  return { end, lastMark: 0, tries: 0 };
}

/** The forms that can begin with a character. Characters with the same forms share them. */
interface Start {
  readonly forms: readonly AnchorForm[];
  readonly wide: Pattern | undefined;
  /** Patterns by the kinds of characters in a word, as `narrowForms` counts them; `null` when nothing can fit. */
  readonly narrow: (Pattern | null | undefined)[];
}

/** The forms by the code of their first character. */
const START: readonly (Start | undefined)[] = startsOf(
  Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
);
const [FOREIGN] = startsOf(["€"]);

function foreignStart(text: string, at: number): Start | undefined {
  return "€£¥".includes(text[at] ?? "") ? FOREIGN : undefined;
}

function startsOf(characters: readonly string[]): (Start | undefined)[] {
  const known = new Map<string, Start>();
  return characters.map((character) => {
    const forms = ANCHOR_FORMS.filter(({ begins }) => new RegExp(begins).test(character));
    if (forms.length === 0) return undefined;
    const key = forms.map((form) => ANCHOR_FORMS.indexOf(form)).join();
    const wide = forms.filter((form) => form.wide);
    const start = known.get(key) ?? {
      forms: forms.filter((form) => !form.wide),
      wide: anyOf(wide),
      narrow: [],
    };
    known.set(key, start);
    return start;
  });
}

/** Kinds of characters inside a word, after its first, and of the character behind it: `?` is anything else. */
const INSIDE = ["A", "a", "0", "_"] as const;
const BEHIND = ["?", ".", "-", ":", "(", ",", "#", " ", "%", "`"] as const;

/** The pattern for a word from `at` to `end`; `null` when it cannot be an anchor. Most cannot. */
function narrowForms({ forms, narrow }: Start, text: string, at: number, end: number) {
  let inside = 0;
  for (let place = at + 1; place < end; place += 1) {
    inside |= INSIDE_BIT[text.charCodeAt(place)] ?? 0;
  }
  const behind = behindWord(text, at, end);
  const key = inside * BEHIND.length + behind;
  const known = narrow[key];
  if (known !== undefined) return known;
  const has = INSIDE.filter((_, bit) => inside & (1 << bit)).join("") + BEHIND[behind];
  const fitting = forms.filter(({ needs }) => needs === undefined || new RegExp(needs).test(has));
  const made = anyOf(fitting) ?? null;
  narrow[key] = made;
  return made;
}

/** The entry of `BEHIND` that stands behind a word. The full stop of a sentence is none. */
function behindWord(text: string, at: number, end: number): number {
  if (end === text.length) return 0;
  const code = text.charCodeAt(end);
  if (code >= 128) return code === 0xb0 || code === 0xb5 ? BEHIND.indexOf("%") : 0;
  const behind = BEHIND_OF[code] ?? 0;
  const isSign = behind > 0 && behind < SPACE_BEHIND && IS_DIGIT[text.charCodeAt(at)] !== 1;
  if (!isSign) return behind;
  if (end + 1 === text.length) return 0;
  const goesOn = code === COLON ? GOES_ON_BEHIND_COLON : GOES_ON;
  return goesOn[text.charCodeAt(end + 1)] === 1 ? behind : 0;
}

/** Several forms as one sticky pattern, with a group for each of their kinds. */
interface Pattern {
  readonly expression: RegExp;
  readonly kinds: readonly AnchorKind[];
}

function anyOf(forms: readonly AnchorForm[]): Pattern | undefined {
  if (forms.length === 0) return undefined;
  const kinds = ANCHOR_KINDS.filter((kind) => forms.some((form) => form.kind === kind));
  const groups = kinds.map((kind) => {
    const some = forms.filter((form) => form.kind === kind).map(({ form }) => form);
    return `(${some.join("|")})`;
  });
  return { expression: new RegExp(groups.join("|"), "y"), kinds };
}

/** A match of a pattern, with its kind. */
interface Found {
  readonly kind: AnchorKind;
  readonly text: string;
}

function foundAt(pattern: Pattern, source: string, at: number): Found | undefined {
  const { expression, kinds } = pattern;
  const [only] = kinds;
  if (only && kinds.length === 1) {
    expression.lastIndex = at;
    return expression.test(source)
      ? { kind: only, text: source.slice(at, expression.lastIndex) }
      : undefined;
  }
  const match = matchAt(expression, source, at);
  if (!match) return undefined;
  let group = 1;
  while (match[group] === undefined) group += 1;
  return { kind: kinds[group - 1] ?? "names", text: match[0] };
}

const QUOTE = "`".charCodeAt(0);
const SLASH = "/".charCodeAt(0);
const AT_SIGN = "@".charCodeAt(0);
const IN_WORD = asciiSet(/\w/);
const BEFORE_NONE = asciiSet(/[\w@./-]/);
const IN_RUN = asciiSet(/[\w.@+/~-]/);
const IN_AMOUNT = asciiSet(/[\d.,]/);
const IN_SENTENCE_END = asciiSet(/[.,;:!?]/);
const GOES_ON = asciiSet(/[\w:/\\.,+)-]/);
const COLON = ":".charCodeAt(0);
/** `std::vec`, `C:\`, `error:-5`, `error:code 5`. */
const GOES_ON_BEHIND_COLON = asciiSet(/[:\\\dc-]/);
const INSIDE_BIT = asciiTable((character) => {
  const sign = character.replace(/[A-Z]/, "A").replace(/[a-z]/, "a").replace(/\d/, "0");
  return INSIDE.reduce((bits, one, bit) => bits | (one === sign ? 1 << bit : 0), 0);
});
const SPACE_BEHIND = BEHIND.indexOf(" ");
const IS_DIGIT = asciiSet(/\d/);
const BEHIND_OF = asciiTable((character) =>
  Math.max(0, BEHIND.indexOf(character.replace(/\s/, " ") as ".")),
);

function beginsWord(text: string, at: number): boolean {
  return at === 0 || BEFORE_NONE[text.charCodeAt(at - 1)] !== 1;
}

function wordEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && IN_WORD[text.charCodeAt(end)] === 1) end += 1;
  return end;
}

/** Without the quotes around it and the full stop behind it. */
function trimmed(text: string): string {
  const start = text.charCodeAt(0) === QUOTE ? 1 : 0;
  let end = text.length - start;
  while (end > start && IN_SENTENCE_END[text.charCodeAt(end - 1)] === 1) end -= 1;
  if (end === text.length && !isSpace(text.charCodeAt(end - 1))) return text;
  return text.slice(start, end).trim();
}

/**
 * Forms of issued keys, links with a password, and words that are too random to be names. This is a
 * second net: a compaction redacts messages before it looks for anchors, and `findSecrets` for each anchor
 * would take several times as long as the search itself.
 */
function isCredential(text: string): boolean {
  if (text.length < 6) return false;
  const [, authority] = (text.includes("@") && AUTHORITY.exec(text)) || [];
  if (authority?.includes(":") || ISSUED.test(text)) return true;
  return (
    text.length >= 32 &&
    RANDOM.test(text) &&
    /[a-z]/.test(text) &&
    /[A-Z]/.test(text) &&
    /\d/.test(text)
  );
}

const AUTHORITY = /^[a-z][a-z0-9+.-]{0,30}:\/\/([^/@]{0,120})@/;
const ISSUED = /^(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox\w|npm|AKIA|ASIA|AIza|eyJ)[-_\w]{12,}/;
const RANDOM = /^[\w+/=-]{32,}$/;
