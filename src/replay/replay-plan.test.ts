import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { indexableText, type Message, toolResults, toolUses } from "../core/message.ts";
import { readTranscript } from "../transcripts/read-transcript.ts";
import { planReplay, type ReplayPlan } from "./replay-plan.ts";

type Line = Readonly<Record<string, unknown>>;

const system = (content: string): Line => ({ role: "system", content });
const user = (content: string): Line => ({ role: "user", content });
const assistant = (content: string, ...ids: string[]): Line => ({
  role: "assistant",
  content,
  ...(ids.length > 0 && {
    tool_calls: ids.map((id) => ({ id, function: { name: `tool_${id}`, arguments: "{}" } })),
  }),
});
const tool = (tool_call_id: string, content: string): Line => ({
  role: "tool",
  tool_call_id,
  content,
});

async function plan(...lines: readonly Line[]): Promise<ReplayPlan> {
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  return planReplay(await readTranscript([new TextEncoder().encode(text)], "talk"));
}

/** A plan in short: what each turn says, and how the model stops. */
function outline({ seed, turns }: ReplayPlan) {
  return [
    seed.map(textOf),
    ...turns.map(({ context, prompt, answers }) => [
      ...context.map(textOf),
      prompt,
      ...answers.flatMap(({ message, results }) => [
        `${textOf(message)} (${message.stop_reason})`,
        ...[...results].map(([id, { content }]) => `${id}: ${content}`),
      ]),
    ]),
  ];
}

function textOf(message: Message): string {
  if (message.role === "system") return message.content;
  return (
    indexableText(message) ||
    toolResults(message)
      .map(({ content }) => content)
      .join()
  );
}

test("a turn is a user line and its answers; messages before the first turn are the seed", async () => {
  expect(
    outline(
      await plan(
        system("be brief"),
        assistant("welcome"),
        user("one"),
        assistant("look", "a"),
        tool("a", "found"),
        assistant("done"),
        user("two"),
        user("three"),
        assistant("first"),
        assistant("second"),
      ),
    ),
  ).toEqual([
    ["be brief", "welcome"],
    ["one", "look (tool_use)", "a: found", "done (end_turn)"],
    ["two"],
    ["three", "first (pause_turn)", "second (end_turn)"],
  ]);
});

test("a system line midway holds from the next turn on; the last of all comes before the last turn", async () => {
  expect(outline(await plan(user("one"), system("new rule"), user("two"), system("last")))).toEqual(
    [[], ["one"], ["new rule", "last", "two"]],
  );
});

test("a result finds its call, late or without an id; a result without a call gets one", async () => {
  expect(
    outline(
      await plan(
        user("one"),
        assistant("look", "a", "b"),
        { role: "tool", content: "no id" },
        user("two"),
        tool("b", "late"),
        tool("b", "twice"),
        { role: "tool", name: "grep", content: "from nowhere" },
      ),
    ),
  ).toEqual([
    [],
    ["one", "look (tool_use)", "a: no id", "b: late"],
    ["two", " (tool_use)", "b-2: twice", " (tool_use)", "call: from nowhere"],
  ]);
});

test("a call without a result gets one that says so", async () => {
  expect(outline(await plan(user("one"), assistant("look", "a"), assistant("done")))).toEqual([
    [],
    ["one", "look (tool_use)", "a: The recording has no result for this call.", "done (end_turn)"],
  ]);
});

test("an id that is used again gets a number, and its result stays with the right call", async () => {
  expect(
    outline(
      await plan(
        user("one"),
        assistant("", "a", "a"),
        tool("a", "first"),
        tool("a", "second"),
        assistant("", "a"),
        tool("a", "third"),
      ),
    ),
  ).toEqual([[], ["one", " (tool_use)", "a: first", "a-2: second", " (tool_use)", "a-3: third"]]);
});

test("empty lines of a recording are left out", async () => {
  const empty = [
    system(""),
    user(""),
    assistant(""),
    { role: "user", content: [] },
    { role: "assistant" },
  ];
  expect(outline(await plan(...empty, user("one"), ...empty, assistant("done")))).toEqual([
    [],
    ["one", "done (end_turn)"],
  ]);
});

test("whatever the order of lines, each text is there once, alone, and each call has its result", async () => {
  const id = fc.constantFrom("a", "b", "");
  const kind = fc.oneof(
    fc.constant(system),
    fc.constant(user),
    fc.array(id, { maxLength: 3 }).map((ids) => (text: string) => assistant(text, ...ids)),
    id.map((of) => (text: string) => tool(of, text)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(kind, { minLength: 1, maxLength: 30 }), async (kinds) => {
      const lines = kinds.map((make, index) => make(`text ${index}`));
      const { seed, turns } = await plan(...lines);
      const answers = turns.flatMap((turn) => turn.answers);
      const outputs = [
        ...seed.flatMap(toolResults),
        ...answers.flatMap(({ results }) => [...results.values()]),
      ].filter(({ content }) => !content.startsWith("The recording"));
      const said = [
        ...seed.filter(({ role }) => role !== "tool_results").map(textOf),
        ...turns.flatMap(({ context, prompt }) => [...context.map(textOf), prompt]),
        ...answers.map(({ message }) => textOf(message)),
        ...outputs.map(({ content }) => content),
      ].filter((text) => text !== "");
      expect(said.toSorted()).toEqual(lines.map(({ content }) => content).toSorted());

      for (const { message, results } of answers) {
        expect([...results.keys()].toSorted()).toEqual(
          toolUses(message)
            .map((call) => call.id)
            .toSorted(),
        );
      }
      const ids = [...seed, ...answers.map(({ message }) => message)]
        .flatMap(toolUses)
        .map((call) => call.id);
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: trials(200, 1000) },
  );
});
