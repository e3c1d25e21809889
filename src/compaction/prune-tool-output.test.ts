import { expect, test } from "vitest";
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

test("the log can repeat it from the ids and the bytes that were kept", () => {
  for (const { original, replacement, outputs } of pruneToolOutput(source, {
    targetTokens: 5000,
  })) {
    const repeated = outputs.reduce(
      (message, { toolUseId, keptBytes }) => withShortenedOutput(message, toolUseId, keptBytes),
      original,
    );
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
