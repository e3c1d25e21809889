import { expect, test } from "vitest";
import { looksLikeError } from "./looks-like-error.ts";

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
