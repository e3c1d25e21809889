import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, inject, test } from "vitest";
import { sampled } from "../test/support/trials.ts";
import { inAscii, latePatterns } from "./late-patterns.ts";

const WAYS = String.raw`
const WORD = /\p{L}+/u, END = new RegExp("[" + /\p{P}/u.source + "]$", "u"), SHORT = /a/u;
const ALL = /\p{L}+|\/["\\]/gu;
const SHARED = /\p{Lu}/u;
const RULES = [/\p{N}/u, { pattern: WORD, SHORT }];
const HIDDEN = /\p{Z}/u;
class Reader { static #ends = /\p{Zs}/u; WORD(text) { return Reader.#ends.test(text); } }
const isWord = (text, pattern = WORD) => pattern.test(text);
const given = { WORD, END: 1, ["x" + WORD.source]: 2 };
function hides(HIDDEN) { return HIDDEN + 1; }
function next(text) {
  const pattern = /\p{L}/gu;
  pattern.exec(text);
  return [pattern.lastIndex, /\p{N}/y.test(text), text.replace(/\p{L}/gu, (letter) => letter + text.match(/\p{L}/gu).length)];
}
WORD: for (const text of ["ab1 c", "Ä /\"\\ é."]) {
  results.push(text.match(WORD)?.[0], END.test(text), text.match(ALL), next(text), next(text));
  results.push(isWord(text), RULES[0].test(text), RULES[1].pattern === WORD, given.WORD === WORD, Object.keys(given));
  results.push(hides(text), HIDDEN.test(text), SHARED.test(text), new Reader().WORD(text), ALL.lastIndex);
  if (!SHORT.test(text)) break WORD;
}
export { SHARED as shared };
`;

/** What the module puts into `results` when it is loaded. */
async function resultsOf(code: string): Promise<unknown> {
  const module = `export const results = []; ${code}`;
  const { results } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
  return results;
}

test("the program does the same, and makes its patterns when it first uses them", async () => {
  const late = latePatterns("code.js", WAYS);
  expect(await resultsOf(late)).toEqual(await resultsOf(WAYS));
  expect(late).toContain("const WORD = ()=>WORD$made??=new RegExp(");
  expect(late).toContain('SHARED = new RegExp("\\\\p{Lu}","u")');
  expect(late).toContain("SHORT = /a/u");
  expect(late).toContain('const pattern = new RegExp("\\\\p{L}","gu")');
});

const QUESTIONS = String.raw`
const ASKS = /^\P{L}*(?:who|wer)(?!\p{L})/u;
const WORDS = /[\p{L}\p{M}]+/gu;
const PLACED = /\p{L}\p{N}/gu;
for (const text of ["Who is it?", "wer spät kommt", "who".repeat(200)]) {
  results.push(ASKS.test(text), ASKS.test(text + "é"), ASKS.source, text.match(WORDS));
  results.push(PLACED.exec("a1 b2")?.index, text.match(PLACED));
}
`;

test("a pattern with several sets is a smaller one for texts in ASCII, which answers the same", async () => {
  const late = latePatterns("code.js", QUESTIONS);
  expect(await resultsOf(late)).toEqual(await resultsOf(QUESTIONS));
  expect(late).toContain("ASKS(text).test(text)");
  expect(late).toContain("text.match(WORDS(text))");
  // It remembers where it is.
  expect(late).toContain("text.match(PLACED())");
  expect(inAscii({ pattern: String.raw`\P{Lu}|[^\p{L}_\p{M}]\[`, flags: "u" })?.pattern).toBe(
    String.raw`[\x00-\x40\x5b-\x7f]|[^A-Za-z_]\[`,
  );
});

test("each of them finds the same in all texts of ASCII", () => {
  const random = randomNumbers(7);
  const pairs = patternsOf(globSync("src/**/*.ts")).flatMap((whole) => {
    const found = inAscii(whole);
    return found ? [{ whole, found }] : [];
  });
  expect(pairs.length).toBeGreaterThan(100);
  for (const { whole, found } of sampled(pairs, { of: 8, at: 0 }, "cases")) {
    const words = [...(whole.pattern.match(/[\x20-\x7e]{1,8}/g) ?? []), ...PIECES];
    const [all, small] = [everywhere(whole), everywhere(found)];
    for (let trial = 0; trial < 20; trial += 1) {
      const pieces = Array.from({ length: 6 }, () => words[Math.floor(random() * words.length)]);
      const text = pieces.join(trial % 2 ? " " : "");
      expect(foundIn(text, small), `${whole.pattern} in ${text}`).toEqual(foundIn(text, all));
    }
  }
});

const PIECES = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), "A name 1"];

interface Pattern {
  readonly pattern: string;
  readonly flags: string;
}

function everywhere({ pattern, flags }: Pattern): RegExp {
  return new RegExp(pattern, flags.replace(/[gy]/g, "").concat("g"));
}

function foundIn(text: string, pattern: RegExp): string {
  return JSON.stringify(Array.from(text.matchAll(pattern), (match) => [match.index, ...match]));
}

function patternsOf(files: readonly string[]): readonly Pattern[] {
  const found: Pattern[] = [];
  for (const file of files) {
    const code = readFileSync(file, "utf8");
    if (!/\\p\{/i.test(code)) continue;
    const visitor = new Visitor({
      Literal: (node) => void ("regex" in node && found.push(node.regex)),
    });
    visitor.visit(parseSync(file, code).program);
  }
  return found;
}

/** The same numbers from 0 to 1 each time. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test("no file of the package has V8 look up sets of characters while it loads", () => {
  const files = globSync(join(inject("packageFolder"), "dist/*.js"));
  expect(files.length).toBeGreaterThan(100);
  for (const file of files.filter((name) => !/(?:drawing|zod)-[\w-]+\.js$/.test(name))) {
    const code = readFileSync(file, "utf8");
    expect(latePatterns(file, code) === code, file).toBe(true);
  }
});
