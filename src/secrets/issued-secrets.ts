import { asciiSet } from "../text/character-kinds.ts";
import { madeOnce } from "../text/made-once.ts";
import { SECRET_FORMS, type SecretForm } from "./secret-forms.ts";

/**
 * Calls `see` for each credential of a text that has a form which an issuer publishes. A form is tried
 * where no word goes on, or right behind another, if the first three characters fit.
 */
export function findIssuedSecrets(
  text: string,
  see: (kind: string, start: number, end: number) => void,
): void {
  const first = longRun(text, 0);
  // The tables of the forms take longer to make than most short texts to be read.
  if (first === text.length) return;
  const isMarked = MARKS.some((mark) => text.includes(mark.text));
  const beginnings = isMarked ? everyForm() : formsWithoutMark();
  let dot = -1;
  // A form begins where no word goes on.
  for (let at = first, runEnd = 0; ; ) {
    // The rest of a run may be too short.
    if (at + RUN_MIN > runEnd) {
      at = longRun(text, Math.max(at, runEnd));
      if (at === text.length) return;
      runEnd = endOfRun(text, at + RUN_MIN);
    }
    const code = text.charCodeAt(at);
    const tries = beginnings.firsts[code] === 1 ? triesAt(beginnings, code, text, at) : NO_TRIES;
    let match: RegExpExecArray | null = null;
    let forms: readonly SecretForm[] = [];
    for (const one of tries) {
      if (at + one.sizeMin > runEnd) continue;
      const { dot: near } = one;
      if (one.markAt > 0 && text.charCodeAt(at + one.markAt) !== one.markCode) continue;
      if (near) {
        if (dot < at) dot = placeOf(".", text, at);
        if (dot - at < near.min || dot - at > near.max) continue;
      }
      one.expression ??= anyOf(one.forms);
      one.expression.lastIndex = at;
      match = one.expression.exec(text);
      forms = one.forms;
      if (match) break;
    }
    if (!match) {
      at = IN_WORD[code] === 1 ? wordEnd(text, at + 1) : at + 1;
      continue;
    }
    const start = at;
    at += match[0].length;
    const group = match.findIndex((part, index) => index > 0 && part !== undefined);
    const form = forms[group - 1];
    // `sk-learn-and-more-words` has the form of a key and is none. Right behind a key, another may begin.
    if (form?.check?.(match[0]) !== false) see(form?.kind ?? "secret", start, at);
    else if (IN_WORD[text.charCodeAt(at - 1)] === 1) at = wordEnd(text, at);
  }
}

/** The characters of the shortest form. */
const RUN_MIN = 15;
/** The characters that forms consist of. */
const IN_RUN = asciiSet(/[\w./+=:~|$!%-]/);

/**
 * The start of the next run that is long enough for a form; the end of the text when there is none. It looks at the
 * last character that such a run would have first, and so skips most words.
 */
function longRun(text: string, from: number): number {
  for (let start = from; start + RUN_MIN <= text.length; ) {
    let last = start + RUN_MIN - 1;
    while (last >= start && IN_RUN[text.charCodeAt(last)] === 1) last -= 1;
    if (last < start) return start;
    start = last + 1;
  }
  return text.length;
}

/** The end of the run that a place is in. */
function endOfRun(text: string, at: number): number {
  let end = at;
  while (end < text.length && IN_RUN[text.charCodeAt(end)] === 1) end += 1;
  return end;
}

/** Behind the last character of the word that a place is in. */
function wordEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && IN_WORD[text.charCodeAt(end)] === 1) end += 1;
  return end;
}

/** The next place of a sign; the end of the text when there is none. */
function placeOf(sign: string, text: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at < 0 ? text.length : at;
}

/** The forms that begin with two characters. */
interface Beginning {
  readonly forms: readonly SecretForm[];
  /** Their third characters, each with a 1. */
  readonly thirds: Uint8Array;
  /** Made when it is first needed. */
  tries?: readonly Try[];
}

/** Forms that are tried together, in their order: one pattern with a group for each. */
interface Try {
  readonly forms: readonly SecretForm[];
  /** The place of a mark's first character, and its code: 0 without one. */
  readonly markAt: number;
  readonly markCode: number;
  readonly dot: SecretForm["dot"];
  /** No form has fewer characters. */
  readonly sizeMin: number;
  /** Made when it is first tried. */
  expression?: RegExp;
}

interface Beginnings {
  /** The first characters of forms, each with a 1. */
  readonly firsts: Uint8Array;
  readonly byFirst: ReadonlyMap<number, readonly Begun[]>;
  /** Entries by the codes of two ASCII characters, at `first * 128 + second`. Each is made when it is first needed. */
  readonly byPair: (Beginning | undefined)[];
}

/** A form, and what its second and third characters may be. */
interface Begun {
  readonly form: SecretForm;
  readonly second: string;
  readonly third: string;
}

const NO_TRIES: readonly Try[] = [];

/** The forms that can begin with an ASCII character and the two behind it. */
function triesAt(beginnings: Beginnings, first: number, text: string, at: number): readonly Try[] {
  const second = text.charCodeAt(at + 1);
  const third = text.charCodeAt(at + 2);
  if (second >= 128 || third >= 128) return NO_TRIES;
  const beginning =
    beginnings.byPair[first * 128 + second] ?? beginningAt(beginnings, first, second);
  if (beginning.thirds[third] !== 1) return NO_TRIES;
  beginning.tries ??= triesOf(beginning.forms);
  return beginning.tries;
}

/** A form with a mark or a full stop is tried alone, because its place is checked before. */
function triesOf(forms: readonly SecretForm[]): readonly Try[] {
  const groups: SecretForm[][] = [];
  for (const form of forms) {
    const last = groups.at(-1);
    const [before] = last ?? [];
    if (!last || isPlaced(form) || (before && isPlaced(before))) groups.push([form]);
    else last.push(form);
  }
  return groups.map((together) => ({
    forms: together,
    markAt: together[0]?.mark?.at ?? 0,
    markCode: together[0]?.mark?.text.charCodeAt(0) ?? 0,
    dot: together[0]?.dot,
    sizeMin: Math.min(...together.map(({ form }) => sizeMinOf(form))),
  }));
}

function isPlaced({ mark, dot }: SecretForm): boolean {
  return mark !== undefined || dot !== undefined;
}

/** The minimum length of a form. Its groups are not counted. */
function sizeMinOf(form: string): number {
  const alone = form.replace(/\((?:[^()]|\([^()]*\))*\)\??/g, "").replaceAll("\\b", "");
  const atoms = alone.matchAll(/(?:\[[^\]]{1,60}\]|\\.|.)(?:\{(\d{1,5})[,\d]{0,6}\}|(\?))?/g);
  let size = 0;
  for (const [, times = "1", optional] of atoms) size += optional ? 0 : Number(times);
  return size;
}

function anyOf(forms: readonly SecretForm[]): RegExp {
  return new RegExp(forms.map(({ form }) => `(${form})`).join("|"), "y");
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const CODES = new Map<string, readonly number[]>();
const IN_WORD = asciiSet(/\w/);
/** A literal or a class, and how often it is repeated at least. */
const ATOM = /^(\[[^\]]{1,99}\]|\\?[^(])(?:\{(\d{1,4})(?:,\d{1,4})?\})?/;

function formsByBeginning(forms: readonly SecretForm[]): Beginnings {
  const byFirst = new Map<number, Begun[]>();
  const firsts = new Uint8Array(0x10000);
  for (const form of forms) {
    for (const [first, second, third] of beginningsOf(form.form)) {
      for (const code of codesMatching(first)) {
        firsts[code] = 1;
        const begun = byFirst.get(code) ?? [];
        begun.push({ form, second, third });
        byFirst.set(code, begun);
      }
    }
  }
  return { firsts, byFirst, byPair: new Array(128 * 128).fill(undefined) };
}

function beginningAt({ byFirst, byPair }: Beginnings, first: number, second: number): Beginning {
  const begun = (byFirst.get(first) ?? []).filter((one) =>
    codesMatching(one.second).includes(second),
  );
  const thirds = new Uint8Array(128);
  for (const { third } of begun) for (const code of codesMatching(third)) thirds[code] = 1;
  const beginning = { forms: [...new Set(begun.map(({ form }) => form))], thirds };
  byPair[first * 128 + second] = beginning;
  return beginning;
}

/** The possible first three characters of each alternative of a form: literals and classes. */
function beginningsOf(form: string): readonly (readonly [string, string, string])[] {
  const alternatives = /^\(\?:([^()]+)\)/.exec(form)?.[1]?.split("|") ?? [form];
  return alternatives.map((alternative) => {
    const atoms: string[] = [];
    for (let rest = alternative; atoms.length < 3; ) {
      const [taken, atom = "", times = "1"] = ATOM.exec(rest) ?? ["", ".", "3"];
      for (let time = 0; time < Number(times) && time < 3; time += 1) atoms.push(atom);
      rest = rest.slice(taken.length);
    }
    const [first = "", second = "", third = ""] = atoms;
    return [first, second, third];
  });
}

/** The codes of the ASCII characters that a literal or a class stands for. */
function codesMatching(atom: string): readonly number[] {
  const known = CODES.get(atom);
  if (known) return known;
  const pattern = new RegExp(atom);
  const codes = [...ASCII.keys()].filter((code) => pattern.test(ASCII[code] ?? ""));
  CODES.set(atom, codes);
  return codes;
}

const MARKS = SECRET_FORMS.flatMap(({ mark }) => mark ?? []);
const everyForm = madeOnce(() => formsByBeginning(SECRET_FORMS));
const formsWithoutMark = madeOnce(() => formsByBeginning(SECRET_FORMS.filter(({ mark }) => !mark)));
