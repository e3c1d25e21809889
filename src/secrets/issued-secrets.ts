import { asciiSet } from "../core/character-codes.ts";
import { SECRET_FORMS } from "./secret-forms.ts";

/**
 * Calls `see` for each credential of a text that has a form which an issuer publishes. A form is tried
 * where no word goes on and the first three characters fit.
 */
export function seeIssued(
  text: string,
  see: (kind: string, start: number, end: number) => void,
): void {
  const isMarked = MARKS.some((mark) => text.includes(mark));
  if (isMarked) everyForm ??= formsByBeginning(SECRET_FORMS);
  const { patterns, thirds } = (isMarked ? everyForm : undefined) ?? FORMS_WITHOUT_MARK;
  let isInWord = false;
  // A form has more than two characters, and begins where no word goes on.
  for (let at = 0; at + 2 < text.length; ) {
    const code = text.charCodeAt(at);
    const begins: boolean = !isInWord && code < 128 && mayBegin(thirds, code, text, at);
    const pattern: IssuedPattern | undefined = begins ? patterns[code] : undefined;
    if (pattern) pattern.expression.lastIndex = at;
    const match = pattern?.expression.exec(text);
    if (!pattern || !match) {
      isInWord = IN_WORD[code] === 1;
      at += 1;
      continue;
    }
    const start = at;
    at += match[0].length;
    isInWord = IN_WORD[text.charCodeAt(at - 1)] === 1;
    const group = match.findIndex((part, index) => index > 0 && part !== undefined);
    const kind = pattern.kinds[group - 1] ?? "secret";
    // `sk-learn-and-more-words` has the form of a key and is none.
    if (kind === "OpenAI key" && !/[A-Z\d]/.test(match[0])) continue;
    see(kind, start, at);
  }
}

/** Whether a form can begin with an ASCII character and the two behind it. */
function mayBegin(thirds: IssuedForms["thirds"], first: number, text: string, at: number): boolean {
  const second = text.charCodeAt(at + 1);
  const third = text.charCodeAt(at + 2);
  return second < 128 && third < 128 && thirds[first * 128 + second]?.[third] === 1;
}

/** The forms that begin with a character, as one pattern with a group for each. */
interface IssuedPattern {
  readonly expression: RegExp;
  readonly kinds: readonly string[];
}

/** Forms by how they begin, so that few are tried at a place. */
interface IssuedForms {
  /** By the code of the first character. */
  readonly patterns: readonly (IssuedPattern | undefined)[];
  /** At `first * 128 + second`: the third characters of forms that begin so, each with a 1. */
  readonly thirds: readonly (Uint8Array | undefined)[];
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const SETS = new Map<string, Uint8Array>();
const IN_WORD = asciiSet(/\w/);
/** A literal or a class, and how often it is repeated at least. */
const ATOM = /^(\[[^\]]{1,99}\]|\\?[^(])(?:\{(\d{1,4})(?:,\d{1,4})?\})?/;

function formsByBeginning(forms: typeof SECRET_FORMS): IssuedForms {
  const byFirst = new Map<number, Set<(typeof SECRET_FORMS)[number]>>();
  const thirds: (Uint8Array | undefined)[] = new Array(128 * 128).fill(undefined);
  for (const issued of forms) {
    for (const [firsts, seconds, third] of beginningsOf(issued.form)) {
      for (const first of codesIn(firsts)) {
        byFirst.set(first, (byFirst.get(first) ?? new Set()).add(issued));
        for (const second of codesIn(seconds)) {
          const place = first * 128 + second;
          const known = thirds[place];
          thirds[place] = known ? known.map((is, code) => is | (third[code] ?? 0)) : third;
        }
      }
    }
  }
  const patterns: (IssuedPattern | undefined)[] = new Array(128).fill(undefined);
  for (const [first, some] of byFirst) {
    const expression = new RegExp([...some].map(({ form }) => `(${form})`).join("|"), "y");
    patterns[first] = { expression, kinds: [...some].map(({ kind }) => kind) };
  }
  return { patterns, thirds };
}

function codesIn(set: Uint8Array): readonly number[] {
  return [...set.keys()].filter((code) => set[code] === 1);
}

/** What the first three characters of each alternative of a form can be: literals and classes. */
function beginningsOf(form: string): readonly (readonly [Uint8Array, Uint8Array, Uint8Array])[] {
  const alternatives = /^\(\?:([^()]+)\)/.exec(form)?.[1]?.split("|") ?? [form];
  return alternatives.map((alternative) => {
    const atoms: string[] = [];
    for (let rest = alternative; atoms.length < 3; ) {
      const [taken, atom = "", times = "1"] = ATOM.exec(rest) ?? ["", ".", "3"];
      for (let time = 0; time < Number(times) && time < 3; time += 1) atoms.push(atom);
      rest = rest.slice(taken.length);
    }
    const [first = "", second = "", third = ""] = atoms;
    return [setOf(first), setOf(second), setOf(third)];
  });
}

/** The ASCII characters that a literal or a class stands for, each with a 1. */
function setOf(atom: string): Uint8Array {
  const pattern = new RegExp(atom);
  const set =
    SETS.get(atom) ?? Uint8Array.from(ASCII, (character) => Number(pattern.test(character)));
  SETS.set(atom, set);
  return set;
}

const MARKS = SECRET_FORMS.flatMap(({ mark }) => mark ?? []);
const FORMS_WITHOUT_MARK = formsByBeginning(SECRET_FORMS.filter(({ mark }) => mark === undefined));
/** Made for the first text that has a mark. */
let everyForm: IssuedForms | undefined;
