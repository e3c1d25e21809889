import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { looksLikeError, worthlessness } from "./worthless-text.ts";

test("repetitions and echoes are those that a comparison of strings finds", () => {
  const telling = fc.constantFrom(
    ..."a b c Ab aB É é 1 . , ' \n 東 京 あ ส \u0301 \u{20000} 𝐀 \ud800 \udc00".split(" "),
    " ",
  );
  const some = fc.array(telling, { maxLength: 40 }).map((units) => units.join(""));
  const repeated = fc
    .tuple(some, fc.integer({ min: 1, max: 12 }))
    .map(([text, times]) => `${text} `.repeat(times));
  const long = fc
    .nat({ max: 400 })
    .map((count) => Array.from({ length: count }, (_, index) => `w${index % 300}`).join(" "));
  const texts = fc.oneof(some, repeated, long);
  const own = fc.tuple(texts, texts, texts, fc.integer({ min: 0, max: 7 }));
  fc.assert(
    fc.property(own, ([text, asked, source, same]) => {
      const texts = [
        text,
        same & 1 ? text : asked,
        same & 2 ? `${source} ${text}` : source,
      ] as const;
      expect(worthlessness(...texts)).toBe(plainly(...texts));
    }),
    { numRuns: trials(40, 2000) },
  );
});

function plainly(text: string, asked: string, source: string) {
  const words = wordsPlainly(text);
  if (words.join("").length < 3) return "wordless";
  const pieces = piecesPlainly(words);
  const known = piecesPlainly(wordsPlainly(source));
  if (pieces.length >= 8 && distinct(pieces) < 0.4) {
    if (distinct(known) > distinct(pieces) * 1.5 || common(pieces, known) < 0.5)
      return "repetition";
  }
  return common(pieces, piecesPlainly(wordsPlainly(asked))) >= 0.5 ? "echo" : undefined;
}

function wordsPlainly(text: string): readonly string[] {
  const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}`;
  const word = new RegExp(String.raw`[${unspaced}]|[[\p{L}\p{M}\p{N}]--[${unspaced}]]+`, "gv");
  return text.toLowerCase().match(word) ?? [];
}

function piecesPlainly(words: readonly string[]): readonly string[] {
  return words.slice(2).map((_, index) => words.slice(index, index + 3).join(" "));
}

function distinct(pieces: readonly string[]): number {
  return new Set(pieces).size / Math.max(1, pieces.length);
}

function common(pieces: readonly string[], other: readonly string[]): number {
  return pieces.filter((piece) => other.includes(piece)).length / Math.max(1, pieces.length);
}

test.each([
  "Error: 429 Too Many Requests",
  "TypeError: Cannot read properties of undefined (reading 'text')",
  "Error generating summary: connect ECONNREFUSED 127.0.0.1:11434",
  "An error occurred while summarizing the conversation.",
  "[Summary unavailable]",
  "Request failed with status code 500",
  "HTTP 503 Service Unavailable",
  "Failed to generate a summary.",
  '{"error":{"type":"overloaded_error","message":"Overloaded"}}',
  '{"type":"error","error":{"type":"api_error"}}',
  "Rate limit exceeded. Try again in 20 s.",
  "Traceback (most recent call last):\n  File",
  "[object Object]",
  "undefined",
  "  null\n",
])("an error's text is no summary: %s", (text) => {
  expect(looksLikeError(text)).toBe(true);
});

test.each([
  "Short.",
  "次はテスト",
  "🎉",
  '"\\\n',
  "Error handling was moved into `core/errors.ts`; the table has 17 codes.",
  "Errors so far: none. Next: write the tests.",
  "Rate limit handling was added to the client; its tests are next.",
  "Nothing failed. The parser is done.",
  "The request for a summary of errors was answered: 404 is now a code of its own.",
  `Error: the build fails with TS2345. ${"What was tried, step by step. ".repeat(50)}`,
])("a summary may speak of errors: %s", (text) => {
  expect(looksLikeError(text)).toBe(false);
});
