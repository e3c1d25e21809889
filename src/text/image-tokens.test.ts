import { expect, test } from "vitest";
import { fileTokens, imageSize, imageTokens } from "./image-tokens.ts";

/** The heads of files of 1000 by 800 pixels. */
const HEADS: Record<string, readonly number[]> = {
  png: [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 3,
    0xe8, 0, 0, 3, 0x20,
  ],
  gif: [0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0xe8, 3, 0x20, 3],
  "jpeg, after a segment of another kind": [
    0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 17, 8, 3, 0x20, 3, 0xe8, 3,
  ],
  "jpeg, with bytes that fill up": [
    0xff, 0xd8, 0xff, 0xff, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xff, 0xc0, 0, 17, 8, 3, 0x20, 3, 0xe8, 3,
  ],
  "webp, lossy": [
    0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x20, 0, 0, 0, 0,
    0, 0, 0, 0x9d, 1, 0x2a, 0xe8, 3, 0x20, 3,
  ],
  "webp, lossless": [
    0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x4c, 0, 0, 0, 0,
    0x2f, 0xe7, 0xc3, 0xc7, 0,
  ],
  "webp, extended": [
    0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x58, 0, 0, 0, 0,
    0, 0, 0, 0, 0xe7, 3, 0, 0x1f, 3, 0,
  ],
};

for (const [kind, head] of Object.entries(HEADS)) {
  test(`the size of an image: ${kind}`, () => {
    const base64 = Buffer.from([...head, ...Array(200).fill(0)]).toString("base64");
    expect(imageSize(base64)).toEqual({ width: 1000, height: 800 });
    expect(imageSize(`data:image/x;base64,${base64}`)).toEqual({ width: 1000, height: 800 });
  });
}

test("data that is no image has no size, and counts as a screen", () => {
  for (const data of ["", "A", "!!!!", "AAAA".repeat(1000), "R0lGODlh", "/9j/4AAQ"]) {
    expect(imageSize(data)).toBeUndefined();
    expect(imageTokens(data, "anthropic/claude-sonnet-4-5")).toBeLessThanOrEqual(1568);
  }
});

test.each([
  // The tables of the providers' documentation.
  ["anthropic/claude-sonnet-4-5", 200, 200, 64],
  ["anthropic/claude-sonnet-4-5", 1000, 1000, 1296],
  ["anthropic/claude-opus-4-7", 1000, 1000, 1296],
  ["anthropic/claude-sonnet-4-5", 4000, 4000, 1568],
  ["anthropic/claude-opus-4-7", 4000, 4000, 4784],
  ["openai/gpt-4o", 1024, 1024, 765],
  ["openai/gpt-4o", 2048, 4096, 1105],
  ["openai/gpt-4.1-mini", 1024, 1024, 1659],
  ["google/gemini-2.5-pro", 300, 300, 258],
  ["google/gemini-2.5-pro", 960, 540, 1548],
  ["google/gemini-3-pro", 4000, 4000, 1120],
])("%s counts %i by %i pixels as %i tokens", (model, width, height, tokens) => {
  expect(imageTokens(png(width, height), model)).toBe(tokens);
});

test("for a model that is not known the rule counts that counts most", () => {
  expect(imageTokens(png(1024, 1024))).toBeGreaterThanOrEqual(1369);
  expect(imageTokens(png(1024, 1024))).toBeLessThan(2100);
});

test("the cost of an image depends on its pixels, not on the length of its data", () => {
  const long = png(640, 480) + "A".repeat(1_000_000);
  expect(imageTokens(long, "openai/gpt-4o")).toBe(imageTokens(png(640, 480), "openai/gpt-4o"));
});

function png(width: number, height: number): string {
  const head = Buffer.from(HEADS.png as readonly number[]);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString("base64");
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

test("a PDF counts by its pages, or by its size where it does not show them", () => {
  const pages = "/Type /Pages /Count 3 ".concat("/Type /Page ".repeat(3));
  expect(fileTokens("application/pdf", base64(pages))).toBe(6000);
  expect(fileTokens("application/pdf", base64("x".repeat(99_000)))).toBe(4000);
});

test("a text counts as text, a recording by its length, and a file elsewhere as some pages", () => {
  expect(fileTokens("text/plain", base64("four score and seven years ago"))).toBeLessThan(12);
  expect(fileTokens("audio/mpeg", base64("x".repeat(16_000)))).toBe(33);
  expect(fileTokens("application/pdf", "https://example.com/a.pdf")).toBe(10_000);
});
