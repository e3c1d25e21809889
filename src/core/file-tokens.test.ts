import { expect, test } from "vitest";
import { fileTokens } from "./file-tokens.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

test("a PDF counts by its pages, or by its size where it does not show them", () => {
  const pages = "/Type /Pages /Count 3 ".concat("/Type /Page ".repeat(3));
  expect(fileTokens("application/pdf", base64(pages))).toBe(6000);
  expect(fileTokens("application/pdf", base64("x".repeat(99_000)))).toBe(4000);
});

test("a text counts as text, a recording by its length, and what is elsewhere as some pages", () => {
  expect(fileTokens("text/plain", base64("four score and seven years ago"))).toBeLessThan(12);
  expect(fileTokens("audio/mpeg", base64("x".repeat(16_000)))).toBe(33);
  expect(fileTokens("application/pdf", "https://example.com/a.pdf")).toBe(10_000);
});
