import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { latePatterns } from "./late-patterns.ts";

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

test("no file of the package has V8 look up sets of characters while it loads", () => {
  const files = globSync(join(inject("packageFolder"), "dist/*.js"));
  expect(files.length).toBeGreaterThan(100);
  for (const file of files.filter((name) => !/(?:drawing|zod)-[\w-]+\.js$/.test(name))) {
    const code = readFileSync(file, "utf8");
    expect(latePatterns(file, code) === code, file).toBe(true);
  }
});
