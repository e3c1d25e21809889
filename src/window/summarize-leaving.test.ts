import { expect, test } from "vitest";
import { type Message, summaryMessage } from "../core/message.ts";
import { summarizeLeaving } from "./summarize-leaving.ts";

const read = (id: string): Message[] => [
  { role: "assistant", content: "", tool_calls: [{ id, name: "read", args: { path: id } }] },
  {
    role: "tool_results",
    results: [{ tool_use_id: id, content: `Berth of ${id}. `.repeat(60), is_error: false }],
  },
];
const user = (content: string): Message => ({ role: "user", content });
const done: Message = { role: "assistant", content: "The berths are counted." };

/** The text for messages that leave within the turn of the last of `typed`. */
async function textFor(leaving: readonly Message[], typed: readonly string[]): Promise<string> {
  const written = await summarizeLeaving({
    ...{ leaving, typed, staying: read("kept") },
    contextWindow: 8_000,
    summarize: async () => "Files were read, and berths were counted: a, b, c and d.",
  });
  return written?.text ?? "";
}

test("a request that was being worked on at a compaction is among the words of the user at the next ones", async () => {
  const [one, two, three] = ["Count the berths.", "Now the cranes, please.", "And the ships?"];
  const first = await textFor([user(one), ...read("a")], [one]);
  expect(first.split(one)).toHaveLength(2);
  const again = await textFor([summaryMessage(first), ...read("b")], [one]);
  expect(again.split(one)).toHaveLength(2);
  const left = [summaryMessage(again), ...read("c"), done, user(two), ...read("d")];
  const second = await textFor(left, [one, two]);
  expect(second).toContain(`\n• ${one}`);
  expect(second.split(one)).toHaveLength(2);
  const rest = [summaryMessage(second), done, user(three), ...read("e")];
  const third = await textFor(rest, [one, two, three]);
  for (const request of [one, two, three]) expect(third.split(request)).toHaveLength(2);
  expect(third).toContain(`\n• ${one}\n• ${two}`);
});
