import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AssistantBlock,
  type ContentBlock,
  type Message,
  summaryMessage,
  type ToolUse,
  toolUses,
} from "../src/core/message.ts";
import { ask, MODEL_NAMES, MODELS, modelsOf, user } from "./support/model-under-test.ts";
import {
  type ProviderServer,
  startProviderServer,
} from "./support/provider-server/provider-server.ts";
import { trials } from "./support/trials.ts";

let server: ProviderServer;

beforeAll(async () => {
  server = await startProviderServer(() => "ok");
});

afterAll(async () => {
  await server.close();
});

/** What the server refused of a history, sent to a model. */
async function problemsWith(name: keyof typeof MODELS, messages: readonly Message[]) {
  const before = server.problems.length;
  await ask(await modelsOf(server)(MODELS[name]), messages).catch(() => {});
  return server.problems.slice(before);
}

function lastBody(): string {
  return JSON.stringify(server.requests.at(-1)?.body);
}

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const call = (id: string): Message => ({
  role: "block_assistant",
  blocks: [{ block_type: "tool_use", data: { id, name: "read", args: {} } }],
  stop_reason: "tool_use",
});
const result = (...ids: string[]): Message => ({
  role: "tool_results",
  results: ids.map((tool_use_id) => ({
    tool_use_id,
    content: `of ${tool_use_id}`,
    is_error: false,
  })),
});
const says = (text: string): Message => ({ role: "assistant", content: text });
const system = (content: string): Message => ({ role: "system", content });

const HISTORIES: Readonly<Record<string, readonly Message[]>> = {
  "with nothing in it": [],
  "with only a system message": [system("Be kind.")],
  "with system messages in the middle": [
    system("Be kind."),
    user("hi"),
    says("ho"),
    system("Now."),
    user("go"),
  ],
  "with neighbours of one role": [user("a"), user("b"), says("c"), says("d"), user("e"), user("f")],
  "that begins with the assistant": [says("Welcome!"), user("hi")],
  "that ends with the assistant": [user("hi"), says("ho  ")],
  "with blank texts": [user(" "), user("hi"), says("\n"), user(""), says(""), user("\t")],
  "with a summary": [system("Be kind."), summaryMessage("It was long."), user("go on")],
  "with an image": [
    { role: "user", content: [{ type: "image", media_type: "image/png", data: PIXEL }] },
    says("A pixel."),
    { role: "user", content: [{ type: "text", text: "" }] },
  ],
  "with a call that nobody answered": [user("hi"), call("a"), user("well?")],
  "with a result that nobody asked for": [user("hi"), result("x"), says("ho"), user("well?")],
  "with a user between call and result": [
    user("hi"),
    call("a"),
    user("quick!"),
    result("a"),
    says("done"),
    user("ok"),
  ],
  "with results in parts, in another order": [
    user("hi"),
    {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: "a", name: "read", args: {} },
        { id: "b", name: "read", args: null },
      ],
    },
    result("b"),
    result("a"),
  ],
  "with one id for every call": [
    user("hi"),
    call("call_0"),
    result("call_0"),
    call("call_0"),
    result("call_0"),
  ],
  "with ids as another provider makes them": [
    user("hi"),
    call("functions.read:0"),
    result("functions.read:0"),
  ],
  "with calls of tools that the model made up": [
    user("hi"),
    ...["functions.read", "", "read a file", "9.lives", "x".repeat(200)].flatMap((name, index) => [
      {
        role: "assistant" as const,
        content: "",
        tool_calls: [{ id: `call_${index}`, name, args: {} }],
      },
      result(`call_${index}`),
    ]),
  ],
  "with a failure that says nothing": [
    user("hi"),
    call("a"),
    { role: "tool_results", results: [{ tool_use_id: "a", content: " ", is_error: true }] },
  ],
  "with halves of characters, as a cut leaves them": [
    system("Be kind \ud83d"),
    user("hi \ude00"),
    {
      role: "assistant",
      content: "\ud83d",
      tool_calls: [{ id: "a", name: "read", args: { path: ["\ud83d"], "\ude00": 1 } }],
    },
    {
      role: "tool_results",
      results: [{ tool_use_id: "a", content: "cut \ud83d", is_error: false }],
    },
  ],
  "with a very long id": [user("hi"), call("x".repeat(200)), result("x".repeat(200))],
  "with a very long id, twice": [
    user("hi"),
    ...[1, 2].flatMap(() => [call("x".repeat(64)), result("x".repeat(64))]),
  ],
  "with arguments that are no object": [
    user("hi"),
    { role: "assistant", content: "", tool_calls: [{ id: "a", name: "read", args: ["a"] }] },
    result("a"),
  ],
  "with an answer that was cut while it thought": [
    user("hi"),
    {
      role: "block_assistant",
      blocks: [reasoning("anthropic", { signature: "x" })],
      stop_reason: "cancelled",
    },
    user("again"),
  ],
  "with reasoning that OpenAI was to keep": [
    user("hi"),
    {
      role: "block_assistant",
      blocks: [
        reasoning("open_ai", { itemId: "rs_0" }),
        { block_type: "text", data: { text: "Ho." } },
      ],
      stop_reason: "end_turn",
    },
    user("again"),
  ],
};

function reasoning(provider: string, fields: object): AssistantBlock {
  return { block_type: "reasoning", data: { text: "Hm.", meta: { provider, ...fields } } };
}

describe.each(MODEL_NAMES)("%s accepts a history", (name) => {
  test.each(Object.entries(HISTORIES))("%s", async (_, messages) => {
    expect(await problemsWith(name, messages)).toEqual([]);
  });

  test("of any kind", { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(history, async (messages) => {
        expect(await problemsWith(name, messages)).toEqual([]);
      }),
      { numRuns: trials(3, 2000) },
    );
  });
});

describe("a session that changes its model", () => {
  test.each(MODEL_NAMES.flatMap((from) => MODEL_NAMES.map((to) => [from, to] as const)))(
    "from %s to %s goes on, without what the other one signed",
    async (from, to) => {
      const toolCalls = [{ name: "read", args: { path: "a" } }];
      const first = await startProviderServer([
        { reasoning: "Secret thought.", text: "Look:", toolCalls },
      ]);
      const { message } = await ask(await modelsOf(first)(MODELS[from]), [user("hi")]);
      await first.close();
      const answers = result(...toolUses(message).map(({ id }) => id));
      const history = [user("hi"), message, answers, user("and now?")];
      const problems = await problemsWith(to, history);
      expect(lastBody()).toContain("Look:");
      // The second server has not signed anything: a signature that reaches it is refused.
      if (from === to && from !== "openai-compatible") expect(problems).toHaveLength(1);
      else expect(problems).toEqual([]);
      if (from !== to) expect(lastBody()).not.toContain("Secret thought.");
    },
  );
});

describe("what only some servers refuse is no end of a session", () => {
  /** The request that arrives in the end, of a history that is sent twice; the second time, it is accepted at once. */
  async function accepted(name: string, messages: readonly Message[]) {
    const model = await modelsOf(server)(name);
    await ask(model, messages);
    const before = server.problems.length;
    await ask(model, messages);
    expect(server.problems.slice(before)).toEqual([]);
    return lastBody();
  }

  test("reasoning that it does not take back", async () => {
    const blocks = [
      reasoning("openai-compatible", {}),
      { block_type: "text" as const, data: { text: "ho" } },
    ];
    const answer: Message = { role: "block_assistant", blocks, stop_reason: "end_turn" };
    const sent = await accepted("openai-compatible/cerebras", [user("hi"), answer, user("go")]);
    expect(sent).not.toContain("Hm.");
    expect(await accepted("openai-compatible/local", [user("hi"), answer, user("go")])).toContain(
      "Hm.",
    );
  });

  test("calls of another model, without the reasoning that it wants back", async () => {
    const messages = [user("hi"), call("a"), result("a"), says("done"), user("go")];
    const sent = await accepted("openai-compatible/deepseek", messages);
    expect(sent).toContain("of a");
    expect(sent).toContain("done");
  });

  test("ids of calls that are not its own, and some twice", async () => {
    const calls = ["toolu_01A", "call_0", "call_0", "abcdefgh1", "abcdefgh1"];
    const messages = [user("hi"), ...calls.flatMap((id) => [call(id), result(id)]), user("go")];
    const sent = await accepted("openai-compatible/mistral", messages);
    for (const id of calls) expect(sent).toContain(`of ${id}`);
  });

  test.each(MODEL_NAMES)("%s: a prompt and a result that a filter refuses", async (name) => {
    const messages = [
      summaryMessage("It was long."),
      user("before"),
      says("answer"),
      user("[forbidden]"),
      user("also unanswered"),
      call("a"),
      { ...result("a"), results: [{ tool_use_id: "a", content: "[forbidden]", is_error: false }] },
      user("and now?"),
    ] as const;
    const sent = await accepted(MODELS[name], messages);
    for (const kept of ["It was long.", "before", "answer", "and now?", "the provider refused"]) {
      expect(sent).toContain(kept);
    }
  });

  test.each(MODEL_NAMES)("%s: files that its package does not send", async (name) => {
    const files = ["text/csv", "audio/ogg", "application/zip", "image/*", ""].map(
      (media_type): Message => ({
        role: "user",
        content: [{ type: "file", media_type, data: "AAAA" }],
      }),
    );
    const messages = files.flatMap((file) => [file, says("I see.")]);
    expect(await accepted(MODELS[name], [...messages, user("go on")])).toContain("go on");
  });
});

test("texts of neighbours keep apart", async () => {
  for (const name of MODEL_NAMES) {
    await problemsWith(name, [user("a"), user("b"), says("c"), says("d"), user("e")]);
    expect(lastBody(), name).toMatch(/a.*\\n\\nb.*c.*\\n\\nd/);
  }
});

test("all that was said arrives, in its order", async () => {
  const said = ["one", "two", "three", "four"] as const;
  const [one, two, three, four] = said;
  const messages = [system(one), user(two), call("a"), user(four), result("a"), system("last")];
  for (const name of MODEL_NAMES) {
    expect(await problemsWith(name, [...messages, says(three)])).toEqual([]);
    const body = lastBody();
    for (const text of [...said, "of a", "last"]) expect(body, name).toContain(text);
    expect(body.indexOf("of a"), name).toBeLessThan(body.indexOf(four));
  }
});

const text = fc.oneof(
  fc.constantFrom("", " ", "\n\n", "ok", "世界", "half \ud83d", "\ude00 half"),
  fc.string({ maxLength: 20 }),
);

const content = fc.oneof(
  text,
  fc.array(
    fc.oneof(
      text.map((text): ContentBlock => ({ type: "text", text })),
      fc.constant<ContentBlock>({ type: "image", media_type: "image/png", data: PIXEL }),
    ),
    { maxLength: 3 },
  ),
);

const args = fc.oneof(
  fc.json().map((json) => JSON.parse(json) as unknown),
  fc.constant("{broken"),
);

const id = fc.oneof(
  fc.constantFrom("call_0", "functions.read:0", ""),
  fc.uuid(),
  fc.string({ maxLength: 80 }),
);

const toolUse: fc.Arbitrary<ToolUse> = fc.record({
  id,
  name: fc.oneof(fc.constantFrom("read", "write", "", "functions.read", "9"), fc.string()),
  args,
});

const meta = fc.constantFrom(
  undefined,
  { provider: "mistral", signature: "foreign" },
  { provider: "gone", thoughtSignature: "foreign" },
);

const block: fc.Arbitrary<AssistantBlock> = fc.oneof(
  fc.record({ text, meta }).map(({ text, meta }) => ({
    block_type: "text" as const,
    data: { text, ...(meta ? { meta } : {}) },
  })),
  fc.record({ text, meta }).map(({ text, meta }) => ({
    block_type: "reasoning" as const,
    data: { text, ...(meta ? { meta } : {}) },
  })),
  toolUse.map((data) => ({ block_type: "tool_use" as const, data })),
);

const message: fc.Arbitrary<Message> = fc.oneof(
  text.map(system),
  content.map((content): Message => ({ role: "user", content })),
  text.map(summaryMessage),
  fc.record({
    role: fc.constant("assistant" as const),
    content: text,
    tool_calls: fc.array(toolUse, { maxLength: 2 }),
  }),
  fc.record({
    role: fc.constant("block_assistant" as const),
    blocks: fc.array(block, { maxLength: 4 }),
    stop_reason: fc.constantFrom("end_turn" as const, "cancelled" as const, "max_tokens" as const),
  }),
);

/** Results follow their calls nearly always; histories come from everywhere. */
const history = fc
  .array(fc.tuple(message, fc.integer({ min: 0, max: 9 })), { maxLength: 14 })
  .map((entries) =>
    entries.flatMap(([message, luck]): Message[] => {
      const ids = toolUses(message).map(({ id }) => id);
      return ids.length === 0 || luck === 0 ? [message] : [message, result(...ids)];
    }),
  );
