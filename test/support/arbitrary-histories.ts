import fc from "fast-check";
import { COMPACTION_PROMPT } from "../../src/compaction/summary-request.ts";
import { type Message, summaryMessage, type ToolUse } from "../../src/core/message.ts";

/** Texts of many scripts, some of which take six times their length in JSON. */
const PIECES = [
  "a plain sentence about the build. ",
  "ok",
  "日本語の文章です。",
  "한국어 ",
  "👩‍👩‍👧 emoji 🎉",
  'quotes " and \\ and\nlines\t',
  "\u0000\u0001\u001f",
  "\ud800",
  "\udc00x",
  "é̂combining",
  "</record>",
  " ",
];

const text = (times: readonly number[]) =>
  fc
    .tuple(fc.constantFrom(...PIECES), fc.constantFrom(...times))
    .map(([piece, count]) => piece.repeat(count));

const shortText = text([0, 1, 1, 1, 3, 12]);
const anyText = text([0, 1, 1, 2, 2, 8, 8, 40, 120]);
const output = text([0, 1, 1, 5, 5, 40, 40, 40, 120, 400]);

const user: fc.Arbitrary<Message> = fc.oneof(
  { weight: 8, arbitrary: shortText.map((content): Message => ({ role: "user", content })) },
  { weight: 2, arbitrary: anyText.map((content): Message => ({ role: "user", content })) },
  {
    weight: 1,
    arbitrary: fc.tuple(shortText, text([1, 40, 600])).map(
      ([words, data]): Message => ({
        role: "user",
        content: [
          { type: "text", text: words },
          { type: "image", media_type: "image/png", data },
        ],
      }),
    ),
  },
);

const answer: fc.Arbitrary<Message> = fc.oneof(
  anyText.map((content): Message => ({ role: "assistant", content })),
  fc.tuple(shortText, anyText).map(
    ([reasoning, words]): Message => ({
      role: "block_assistant",
      blocks: [
        {
          block_type: "reasoning",
          data: { text: reasoning, meta: { provider: "anthropic", signature: "c2lnbmF0dXJl" } },
        },
        { block_type: "text", data: { text: words } },
      ],
      stop_reason: "end_turn",
    }),
  ),
);

const system = shortText.map((content): Message => ({ role: "system", content }));

/** Few ids, so that some are used again and again. */
const call: fc.Arbitrary<ToolUse> = fc.record({
  id: fc.oneof(
    fc.constantFrom("call_1", "call_2", "call_3"),
    fc.nat(1e6).map((id) => `toolu_${id}`),
  ),
  name: fc.constantFrom("read_file", "run", "検索"),
  args: fc.oneof(
    fc.constant({}),
    anyText.map((path) => ({ path })),
  ),
});

/** Calls and their results: all in one message, one message each, in part, or not yet. */
const round: fc.Arbitrary<Message[]> = fc
  .record({
    calls: fc.uniqueArray(call, {
      minLength: 1,
      maxLength: 3,
      selector: ({ id }) => id,
    }),
    outputs: fc.tuple(output, output, output),
    blocks: fc.boolean(),
    results: fc.constantFrom("together", "together", "together", "together", "apart", "some"),
  })
  .map(({ calls, outputs, blocks, results }) => {
    const request: Message = blocks
      ? {
          role: "block_assistant",
          blocks: [
            { block_type: "reasoning", data: { text: "I need to see it." } },
            ...calls.map((data) => ({ block_type: "tool_use" as const, data })),
          ],
          stop_reason: "tool_use",
        }
      : { role: "assistant", content: "", tool_calls: calls };
    const all = calls.map(({ id }, index) => ({
      tool_use_id: id,
      content: outputs[index] ?? "",
      is_error: index === 2,
    }));
    const answers: Message[] =
      results === "apart"
        ? all.map((result) => ({ role: "tool_results", results: [result] }))
        : [{ role: "tool_results", results: results === "some" ? all.slice(1) : all }];
    return [request, ...answers];
  });

const orphan: fc.Arbitrary<Message> = output.map((content) => ({
  role: "tool_results",
  results: [{ tool_use_id: "call_lost", content, is_error: false }],
}));

const turn: fc.Arbitrary<Message[]> = fc
  .tuple(user, fc.array(round, { maxLength: 3 }), fc.option(answer))
  .map(([asked, rounds, answered]) => [asked, ...rounds.flat(), ...(answered ? [answered] : [])]);

const hugeTurn: fc.Arbitrary<Message[]> = fc
  .tuple(user, fc.array(round, { minLength: 5, maxLength: 15 }))
  .map(([asked, rounds]) => [asked, ...rounds.flat()]);

const stretch: fc.Arbitrary<Message[]> = fc.oneof(
  { weight: 12, arbitrary: turn },
  { weight: 1, arbitrary: hugeTurn },
  { weight: 1, arbitrary: round },
  { weight: 1, arbitrary: system.map((message) => [message]) },
  { weight: 1, arbitrary: answer.map((message) => [message]) },
  { weight: 1, arbitrary: orphan.map((message) => [message]) },
  { weight: 1, arbitrary: anyText.map((words) => [summaryMessage(words)]) },
);

/** What a session adds to its history until the next compaction. */
export const arbitraryContinuation: fc.Arbitrary<Message[]> = fc
  .array(stretch, { maxLength: 4 })
  .map((stretches) => stretches.flat());

/**
 * Histories as agents leave them, and as nobody should: tool loops, parallel
 * calls, huge turns, images, empty texts, ids used again, results without calls
 * and calls without results, system messages and summaries anywhere, endings in
 * the middle of a loop, and the same object more than once.
 */
export const arbitraryHistory: fc.Arbitrary<Message[]> = fc
  .record({
    system: fc.option(system),
    leading: fc.oneof(
      { weight: 5, arbitrary: fc.constant<Message[]>([]) },
      { weight: 1, arbitrary: round },
    ),
    stretches: fc.array(stretch, { maxLength: 9 }),
    cut: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) }),
    again: fc.option(fc.tuple(fc.nat(), fc.nat()), { freq: 6 }),
  })
  .map(({ system, leading, stretches, cut, again }) => {
    const messages = [...(system ? [system] : []), ...leading, ...stretches.flat()];
    if (cut > 0) messages.splice(-cut);
    if (!again || messages.length === 0) return messages;
    const [from, to] = again;
    const repeated = messages[from % messages.length];
    return repeated ? messages.toSpliced(to % messages.length, 0, repeated) : messages;
  });

/** What a scripted summariser does. */
export type ScriptedSummary =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bad"; readonly text: string }
  | { readonly kind: "worthless"; readonly text: string }
  | { readonly kind: "throws" };

export const arbitrarySummary: fc.Arbitrary<ScriptedSummary> = fc.oneof(
  fc.constantFrom("Short.", "Work goes on: next, the tests.", "次はテスト", "🎉").map((text) => ({
    kind: "text" as const,
    text,
  })),
  fc
    .constantFrom("Everything so far, at length. ", "長い要約。", '"\\\n', "\u0001x", "\ud800")
    .map((piece) => ({ kind: "text" as const, text: `S${piece.repeat(2000)}` })),
  fc
    .constantFrom("", " \n\t", "\u200b", "Error: 429 Too Many Requests", "[object Object]")
    .map((text) => ({ kind: "bad" as const, text })),
  fc
    .constantFrom(
      ".",
      "— …",
      "I'm sorry, but I can't help with that.",
      "Lo siento, no puedo ayudar con eso.",
      "Please provide the conversation you would like me to summarise.",
      COMPACTION_PROMPT,
      "All is well and work goes on. ".repeat(60),
    )
    .map((text) => ({ kind: "worthless" as const, text })),
  fc.constant({ kind: "throws" as const }),
);

export const arbitraryThreshold = fc.constantFrom(1, 40, 150, 400, 1000, 1000, 4000, 4000, 15_000);
