import fc from "fast-check";
import { expect, test } from "vitest";
import { SessionError } from "../core/errors.ts";
import { type Message, summaryMessage } from "../core/message.ts";
import { jsonTextBytes } from "./cut-text.ts";
import { smartFallbackSummary } from "./smart-fallback-summary.ts";

const conversation: Message[] = [
  { role: "user", content: "Fix the parser." },
  {
    role: "assistant",
    content: "I read it first.",
    tool_calls: [{ id: "c1", name: "read_file", args: {} }],
  },
  {
    role: "tool_results",
    results: [
      { tool_use_id: "c1", content: `export function\n parse${"x".repeat(200)}`, is_error: false },
    ],
  },
  { role: "user", content: "Keep the old error codes." },
  { role: "assistant", content: "Decided: the table stays." },
  { role: "user", content: "Good. Now the tests." },
];

test("it has the start, the tools, the messages in between, and the latest", () => {
  expect(smartFallbackSummary(conversation, 2000)).toBe(
    [
      "[Start] Fix the parser.",
      "[Assistant] I read it first.",
      "[Tool: read_file]",
      `[Result: export function parse${"x".repeat(53)} […]]`,
      "[User] Keep the old error codes.",
      "[Assistant] Decided: the table stays.",
      "[Latest] Good. Now the tests.",
    ].join("\n"),
  );
});

test("with little room the start, the tools and the latest come first", () => {
  expect(smartFallbackSummary(conversation, 160)).toBe(
    [
      "[Start] Fix the parser.",
      "[Tool: read_file]",
      "[User] Keep […] codes.",
      "[Assistant] Decided […] stays.",
      "[Latest] Good. Now the tests.",
    ].join("\n"),
  );
});

test("a very long message is shown by its beginning and its end", () => {
  const content = `Begin here. ${"filler\n\n ".repeat(2_000_000)}And end there.`;
  const told = smartFallbackSummary(
    [{ role: "user", content: "Go." }, { role: "assistant", content }, ...conversation],
    2000,
  );
  expect(told).toMatch(
    /^\[Assistant\] Begin here\. filler filler .* \[…\] .* filler And end there\.$/m,
  );
});

test("every tool is named, however often the others were called since", () => {
  const calls = ["deploy", ...Array.from({ length: 500 }, () => "read_file")];
  const messages = calls.map((name, index): Message => {
    const tool_calls = [{ id: `c${index}`, name, args: {} }];
    return { role: "assistant", content: "", tool_calls };
  });
  expect(smartFallbackSummary([...conversation, ...messages], 1000)).toContain("[Tool: deploy]");
});

test("it includes the previous summary, marked once", () => {
  const once = smartFallbackSummary([summaryMessage("Older."), ...conversation], 2000);
  expect(once).toMatch(/^\[Earlier\] Older\.\n\[Start\]/);
  const twice = smartFallbackSummary([summaryMessage(once), ...conversation], 2000);
  expect(twice).toMatch(/^\[Earlier\] Older\.\n\[Start\]/);
});

test("nothing makes an empty summary, and messages without text are counted", () => {
  expect(smartFallbackSummary([], 500)).toBe("");
  expect(smartFallbackSummary([{ role: "user", content: " " }], 500)).toBe("[1 messages]");
});

test("without a number it takes at most what a summary may have by default", () => {
  const long = conversation.map((message): Message => {
    return message.role === "user" ? { ...message, content: "word ".repeat(5000) } : message;
  });
  expect(smartFallbackSummary(conversation)).toBe(smartFallbackSummary(conversation, 16_384));
  expect(smartFallbackSummary(long, undefined).length).toBeGreaterThan(4000);
  expect(jsonTextBytes(smartFallbackSummary(long))).toBeLessThanOrEqual(16_384);
  expect(smartFallbackSummary(conversation, 0)).toBe("");
});

test("what is no number of bytes is refused by the argument's name", () => {
  const refused: unknown[] = [Number.NaN, -1, -0.5, Infinity, -Infinity, "8000", "", null, true];
  for (const bytesMax of [...refused, {}, [], 8000n, () => 1]) {
    for (const messages of [conversation, []]) {
      const thrown = catching(() => smartFallbackSummary(messages, bytesMax as number));
      expect(thrown).toBeInstanceOf(SessionError);
      expect(thrown).toMatchObject({
        code: "INVALID_PARAMS",
        message: expect.stringContaining("bytesMax"),
      });
    }
  }
});

function catching(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

test("it stays within its size in any script, and is never blank", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("plain text ", "長い文章", "🎉👩‍👩‍👧", '"\n', "\u0001"), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.nat(400),
      fc.integer({ min: 1, max: 3000 }),
      (pieces, times, bytesMax) => {
        const messages = pieces.map((piece, index): Message => {
          const content = piece.repeat(times);
          return index % 3 === 2
            ? { role: "tool_results", results: [{ tool_use_id: "c", content, is_error: false }] }
            : { role: index % 2 === 0 ? "user" : "assistant", content };
        });
        const text = smartFallbackSummary(messages, bytesMax);
        expect(jsonTextBytes(text)).toBeLessThanOrEqual(bytesMax);
        expect(text.trim()).not.toBe("");
        expect(text.isWellFormed()).toBe(true);
      },
    ),
  );
});
