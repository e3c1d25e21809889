// Compaction alone: a plain array of messages in, a smaller one out. No session, no store, no model.
//
//   node examples/02-compact-any-history.ts
import assert from "node:assert/strict";
import { compactHistory, estimateTokens, type Message } from "rkat";

const messages: Message[] = [
  { role: "system", content: "You are a careful release engineer." },
  ...Array.from({ length: 30 }, (_, day): Message[] => [
    {
      role: "user",
      content: `Day ${day}: how did build ${1000 + day} go? ${"Details, please. ".repeat(30)}`,
    },
    {
      role: "assistant",
      content: `Build ${1000 + day} took ${day + 5} minutes. ${"All fine. ".repeat(30)}`,
    },
  ]).flat(),
];

const result = await compactHistory({
  messages,
  // Any async function: give `request.messages` to the model of your choice.
  summarize: async (request) => `A summary of about ${estimateTokens(request.messages)} tokens.`,
  autoCompactThreshold: 4000,
});

assert.equal(result.outcome, "compacted");
assert(result.tokensAfter < 4000);
console.log(`${messages.length} messages, ${result.tokensBefore} tokens`);
console.log(`→ ${result.messages.length} messages, ${result.tokensAfter} tokens`);
console.log(`${result.discarded.length} left the history, the first: ${result.discarded[0]?.why}`);

// A second compaction has nothing to do and calls no model.
const again = await compactHistory({
  messages: result.messages,
  summarize: () => assert.fail("no model is called"),
  autoCompactThreshold: 4000,
});
assert.equal(again.outcome, "unchanged");
