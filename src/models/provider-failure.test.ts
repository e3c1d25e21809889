import { expect, test } from "vitest";
import { providerFailure } from "./provider-failure.ts";

const KEY = `hunter-${"x".repeat(60)}`;
const failureOf = (message: string) =>
  providerFailure(new Error(message), { id: "test/model", secrets: [KEY] });

test.each([
  ["the beginning", `The prompt is too long. ${"request ".repeat(20_000)}`],
  ["the end", `${"request ".repeat(20_000)}The prompt is too long.`],
])("a request that is too long is known by %s of a long message", (_, message) => {
  expect(failureOf(message).code).toBe("CONTEXT_WINDOW_EXCEEDED");
});

test("a key that a long message is cut in is not shown", () => {
  for (let before = 7900; before < 8010; before += 1) {
    const long = `${"x".repeat(before)} ${KEY} ${"request ".repeat(20_000)}`;
    const failure = failureOf(` ${`${KEY} `.repeat(100)}${long}`);
    expect(failure.message).not.toContain("hunter");
  }
});

test("a long message is not kept as the cause, because not all of it was searched for keys", () => {
  expect(failureOf("short").cause).toBeInstanceOf(Error);
  expect(failureOf("word ".repeat(10_000)).cause).toBeUndefined();
});

test.each([
  ["sk-sk-sk-abcdefgh1", "[redacted]"],
  ["sk-abcdefgh1", "[redacted]"],
  [`sk-${"a".repeat(24)}1`, "[redacted]"],
  [`sk-${"a".repeat(25)}1`, `sk-${"a".repeat(25)}1`],
  ["key-of-the-model 1", "key-of-the-model 1"],
  [`AIza${"a".repeat(20)}, pk_abcdefgh1`, "[redacted], [redacted]"],
])("%s is shown as %s", (text, shown) => {
  expect(failureOf(text).message).toContain(`test/model: ${shown}`);
});
