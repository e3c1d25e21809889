import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { type Message, toolResults } from "../core/message.ts";
import { estimateTokens, withShortenedOutput } from "../core/tokens.ts";
import { pruneToolOutput, withShortened } from "./prune-tool-output.ts";

const user = (content: string): Message => ({ role: "user", content });

function round(id: string, ...outputs: string[]): Message[] {
  const ids = outputs.map((_, index) => `${id}_${index}`);
  return [
    {
      role: "assistant",
      content: "",
      tool_calls: ids.map((id) => ({ id, name: "run", args: {} })),
    },
    {
      role: "tool_results",
      results: outputs.map((content, index) => ({
        tool_use_id: ids[index] ?? "",
        content,
        is_error: false,
      })),
    },
  ];
}

const lengths = (messages: readonly Message[]) =>
  messages.flatMap((message) => toolResults(message).map(({ content }) => content.length));

const long = "x".repeat(8000);
const source = [user("u"), ...round("a", long), ...round("b", long, "short"), ...round("c", long)];

test("old output is shortened; the newest group and short output are not", () => {
  const shortened = pruneToolOutput(source, { targetTokens: 5000 });
  const pruned = withShortened(source, shortened);
  expect(shortened.map(({ index }) => index)).toEqual([2, 4]);
  expect(lengths(pruned).map((length) => length < 500)).toEqual([true, true, true, false]);
  expect(estimateTokens(pruned)).toBeLessThan(4000);
});

test("the newest output is spared up to a quarter of the target", () => {
  const rounds = [..."abcdefgh"].flatMap((id) => round(id, "y".repeat(2000)));
  const messages = [user("u"), ...rounds, ...round("big", long)];
  const small = pruneToolOutput(messages, { targetTokens: 5000 });
  expect(small).toHaveLength(8);
  const messagesOfTwo = [user("u"), ...round("old", long), ...rounds];
  const some = pruneToolOutput(messagesOfTwo, { targetTokens: 5000 });
  expect(some.map(({ index }) => index)).toEqual([2, 4, 6, 8, 10, 12, 14]);
});

/** A call that reads a file, and its result. */
function read(id: string, path: string, content: string, isError = false): Message[] {
  return [
    { role: "assistant", content: "", tool_calls: [{ id, name: "read", args: { path } }] },
    { role: "tool_results", results: [{ tool_use_id: id, content, is_error: isError }] },
  ];
}

const outputs = (messages: readonly Message[]) =>
  messages.flatMap((message) => toolResults(message).map(({ content }) => content));

test("what the same call has read again leaves first, and alone if that is enough", () => {
  const messages = [
    user("u"),
    ...read("1", "a.ts", `first ${long}`),
    ...read("2", "b.ts", long),
    ...read("3", "a.ts", `second ${long}`),
    ...read("4", "c.ts", long),
  ];
  const pruned = withShortened(messages, pruneToolOutput(messages, { targetTokens: 8_000 }));
  expect(outputs(pruned)).toEqual([
    "[8006 bytes of old tool output pruned]",
    long,
    `second ${long}`,
    long,
  ]);
  // With less room, old output follows.
  const more = withShortened(messages, pruneToolOutput(messages, { targetTokens: 5_000 }));
  expect(lengths(more).map((length) => length < 500)).toEqual([true, true, true, false]);
  expect(outputs(more)[0]).toBe("[8006 bytes of old tool output pruned]");
  expect(outputs(more)[1]).toMatch(/^x+\n\[7744 bytes of old tool output pruned\]\nx+$/);
});

test("a later error, and a call without arguments, replace no earlier result", () => {
  const ofErrors = [
    user("u"),
    ...read("1", "a.ts", "a".repeat(900)),
    ...read("2", "a.ts", "No such file.", true),
    ...read("3", "b.ts", long),
    ...read("4", "c.ts", long),
  ];
  expect(
    outputs(withShortened(ofErrors, pruneToolOutput(ofErrors, { targetTokens: 4_000 })))[0],
  ).toBe("a".repeat(900));
  const next = (id: string) => round(id, "n".repeat(900));
  const ofLists = [
    user("u"),
    ...next("1"),
    ...next("2"),
    ...read("3", "b.ts", long),
    ...read("4", "c.ts", long),
  ];
  const kept = outputs(withShortened(ofLists, pruneToolOutput(ofLists, { targetTokens: 4_000 })));
  expect(kept.slice(0, 2)).toEqual(["n".repeat(900), "n".repeat(900)]);
});

test("the newest group stays whole, even where its calls are the same", () => {
  const calls = ["1", "2"].map((id) => ({ id, name: "read", args: { path: "a.ts" } }));
  const results = calls.map(({ id }) => ({
    tool_use_id: id,
    content: "r".repeat(2_000),
    is_error: false,
  }));
  const messages: Message[] = [
    user("u"),
    ...read("0", "b.ts", long),
    { role: "assistant", content: "", tool_calls: calls },
    { role: "tool_results", results },
  ];
  expect(pruneToolOutput(messages, { targetTokens: 2_500 }).map(({ index }) => index)).toEqual([2]);
});

test("where the ends of old output are too much, a line stays of it, with all that left", () => {
  const rounds = Array.from({ length: 100 }, (_, index) =>
    round(`r${index}`, "y".repeat(2_000)),
  ).flat();
  const messages = [user("u"), ...rounds];
  const ends = withShortened(messages, pruneToolOutput(messages, { targetTokens: 22_000 }));
  expect(outputs(ends)[0]).toMatch(/^y{128}\n\[1744 bytes of old tool output pruned\]\ny{128}$/);
  const lines = withShortened(ends, pruneToolOutput(ends, { targetTokens: 14_000 }));
  expect(outputs(lines)[0]).toBe("[2000 bytes of old tool output pruned]");
  expect(outputs(lines).at(-1)).toHaveLength(2_000);
  expect(pruneToolOutput(lines, { targetTokens: 4_000 })).toEqual([]);
});

test("the log can repeat it from the ids and the bytes that were kept", () => {
  for (const { original, replacement, outputs } of pruneToolOutput(source, {
    targetTokens: 5000,
  })) {
    const repeated = outputs.reduce(withShortenedOutput, original);
    expect(repeated).toEqual(replacement);
  }
});

test("below the target there is nothing to prune", () => {
  expect(pruneToolOutput(source, { targetTokens: 50_000 })).toEqual([]);
});

test("pruning that would not free enough is left to a compaction", () => {
  expect(pruneToolOutput([user("z".repeat(40_000)), ...source], { targetTokens: 5000 })).toEqual(
    [],
  );
  expect(pruneToolOutput([user("z".repeat(10_000)), ...source], { targetTokens: 5000 })).toEqual(
    [],
  );
});

test("pinned output stays whole", () => {
  const shortened = pruneToolOutput(source, { targetTokens: 6000, pinned: new Set([1]) });
  expect(shortened.map(({ index }) => index)).toEqual([4]);
});

test("the second time there is nothing to prune", () => {
  const once = withShortened(source, pruneToolOutput(source, { targetTokens: 5000 }));
  expect(pruneToolOutput(once, { targetTokens: 5000 })).toEqual([]);
});

const reads = fc.array(
  fc.record({
    path: fc.constantFrom("a.ts", "b.ts", "c.ts"),
    size: fc.oneof(fc.integer({ max: 900, min: 1 }), fc.integer({ min: 1_100, max: 9_000 })),
    isError: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
  }),
  { minLength: 2, maxLength: 30 },
);

test("in any history, output leaves in its order, only as far as needed, and never twice", () => {
  const promises = fc.property(
    reads,
    fc.integer({ min: 300, max: 12_000 }),
    (given, targetTokens) => {
      const messages = [
        user("u"),
        ...given.flatMap(({ path, size, isError }, index) =>
          read(`${index}`, path, "z".repeat(size), isError),
        ),
      ];
      const shortened = pruneToolOutput(messages, { targetTokens });
      if (shortened.length === 0) return;
      const after = withShortened(messages, shortened);
      expect(estimateTokens(after)).toBeLessThan(targetTokens);
      expect(pruneToolOutput(after, { targetTokens })).toEqual([]);
      const kept = outputs(after);
      const isRead = (path: string) => (other: (typeof given)[number]) =>
        other.path === path && !other.isError;
      const last = kept.length - 1;
      const isRepeated = given.map(
        ({ path, isError }, index) =>
          !isError && index < last && given.slice(index + 1).some(isRead(path)),
      );
      const isSame = kept.map((output, index) => output === "z".repeat(given[index]?.size ?? 0));
      const isOtherGone = isSame.some((same, index) => !same && !isRepeated[index] && index < last);
      for (const [index, { size }] of given.entries()) {
        if (isRepeated[index] && size > 128) {
          expect(kept[index]).toBe(`[${size} bytes of old tool output pruned]`);
        }
        // A line stays of large output alone.
        if (!isRepeated[index] && size < 1_024 && index < last) expect(isSame[index]).toBe(true);
      }
      // No other output left where that of repeated calls would have been enough.
      if (isOtherGone) {
        const alone = given.flatMap(({ path, size, isError }, index) =>
          read(
            `${index}`,
            path,
            isRepeated[index] ? (kept[index] ?? "") : "z".repeat(size),
            isError,
          ),
        );
        expect(estimateTokens([user("u"), ...alone])).toBeGreaterThan(0.8 * targetTokens - 1);
      }
    },
  );
  fc.assert(promises, { numRuns: trials(100, 10_000) });
});
