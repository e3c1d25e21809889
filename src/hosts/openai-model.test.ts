import { expect, test } from "vitest";
import { ItemWindow, inputFilter } from "./openai-filter.ts";
import { type OpenAIItem, userItem } from "./openai-items.ts";
import { isSameModel, notedModel, requestsOf } from "./openai-model.ts";

const WORDS = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  9,
);

interface Asked {
  readonly input: readonly OpenAIItem[];
  readonly modelSettings?: { readonly maxTokens?: number };
}

/** A model with private fields, as the SDK has them. */
class OpenAIResponsesModel {
  _model = "gpt-5";
  readonly #asked: Asked[] = [];
  readonly #answer: (asked: Asked) => string;

  constructor(answer: (asked: Asked) => string = () => "Done.") {
    this.#answer = answer;
  }

  get asked(): readonly Asked[] {
    return this.#asked;
  }

  async getResponse(request: Asked) {
    this.#asked.push(request);
    const content = [{ type: "output_text", text: this.#answer(request) }];
    const output = [{ type: "message", role: "assistant", content }];
    const inputTokens = Math.ceil(JSON.stringify(request.input).length / 4);
    const inputTokensDetails = [{ cached_tokens: inputTokens - 100 }];
    return { output, usage: { inputTokens, inputTokensDetails } };
  }

  async *getStreamedResponse(request: Asked) {
    const { output, usage } = await this.getResponse(request);
    yield { type: "response_done", response: { output, usage } };
  }
}

/** One run of the SDK: the filter, and the model with copies of what it returned. */
async function runWith(
  filter: ReturnType<typeof inputFilter>,
  model: OpenAIResponsesModel,
  history: readonly OpenAIItem[],
  isStreamed = false,
) {
  const agent = { model, tools: [] };
  const { input } = await filter({ modelData: { input: [...history] }, agent });
  const request = { input: structuredClone(input), modelSettings: {}, outputType: "text" };
  if (!isStreamed) return (await model.getResponse(request)).output;
  const events = await Array.fromAsync(model.getStreamedResponse(request));
  return events.flatMap(({ response }) => response.output);
}

const tooLong = () => {
  throw Object.assign(new Error("This model's maximum context length is 1000 tokens."), {
    status: 400,
    code: "context_length_exceeded",
  });
};

test.each([false, true])(
  "a request that the provider calls too long is sent once more with less in it",
  async (isStreamed) => {
    const own = new OpenAIResponsesModel(({ input }) =>
      JSON.stringify(input).length > 12_000 ? tooLong() : "Done.",
    );
    const model = notedModel(own);
    const filter = inputFilter(new ItemWindow({ contextWindow: 100_000, summarize: "fallback" }));
    const history: OpenAIItem[] = [];
    for (let turn = 0; turn < 30; turn += 1) {
      history.push(userItem(`Task ${turn}: ${WORDS}`));
      history.push(...(await runWith(filter, model, history, isStreamed)));
    }
    expect(own.asked.length).toBeGreaterThan(30);
    // The filter goes on from what was sent instead.
    expect(own.asked.length).toBeLessThan(45);
  },
);

test("two chats at once that end with the same words keep their own requests", async () => {
  const model = notedModel(new OpenAIResponsesModel());
  const requests = requestsOf(model);
  const chats = ["crane", "quay"].map((name) => ({
    window: new ItemWindow({ contextWindow: 8_000, summarize: "fallback" }),
    history: [userItem(`About the ${name}.`), userItem("Go on.")],
  }));
  const agent = { model, tools: [] };
  const inputs = await Promise.all(
    chats.map(({ window, history: input }) =>
      inputFilter(window)({ modelData: { input: [...input] }, agent }),
    ),
  );
  for (const { input } of inputs.reverse()) {
    await model.getResponse({ input: structuredClone(input) } as never);
  }
  for (const { window, history } of chats) {
    expect(requests?.lastOf(window)).toMatchObject({ items: history, model: "openai/gpt-5" });
    expect(requests?.lastOf(window)?.counted?.tokens).toBeGreaterThan(0);
  }
});

test("a run without a filter gets its own request, even if it ends with the words of a chat", async () => {
  const own = new OpenAIResponsesModel();
  const model = notedModel(own);
  const window = new ItemWindow({ contextWindow: 8_000, summarize: "fallback" });
  await runWith(inputFilter(window), model, [userItem("About the crane."), userItem("Go on.")]);
  const { request } = requestsOf(model)?.lastOf(window) ?? {};
  const question = { input: [userItem("Go on.")] };
  await model.getResponse(question);
  expect(own.asked.at(-1)).toBe(question);
  expect(requestsOf(model)?.lastOf(window)?.request).toBe(request);
});

test("the model stays what it is for the SDK: its class, its fields, its methods", async () => {
  const own = Object.freeze(new OpenAIResponsesModel());
  const model = notedModel(own);
  expect(model).toBeInstanceOf(OpenAIResponsesModel);
  expect(model.constructor).toBe(OpenAIResponsesModel);
  await model.getResponse({ input: [userItem("Hello.")] });
  expect(model.asked).toHaveLength(1);
  expect(isSameModel(model, own)).toBe(true);
  expect(notedModel(model)).toBe(model);
});

test("a name of a model is refused, and says what to pass", () => {
  expect(() => notedModel("gpt-5" as never)).toThrow(
    'The model is "gpt-5", which cannot be asked: it has no getResponse().',
  );
});

test("calls are sent without the ids that the SDK's sessions drop, in the run and in the next one", async () => {
  const own = new OpenAIResponsesModel();
  const model = notedModel(own);
  const filter = inputFilter(new ItemWindow({ contextWindow: 8_000, summarize: "fallback" }));
  const call = { type: "function_call", callId: "c", name: "read", arguments: "{}" };
  const result = { type: "function_call_result", callId: "c", output: "All is well." };
  const inRun = [
    userItem("Read."),
    { ...call, id: "fc_1", providerData: { id: "fc_1", type: "function_call" } },
    result,
  ];
  const later = [
    userItem("Read."),
    { ...call, providerData: { type: "function_call" } },
    result,
    userItem("And now?"),
  ];
  await runWith(filter, model, inRun);
  await runWith(filter, model, later);
  const [first, second] = own.asked;
  expect(second?.input.slice(0, 3)).toEqual(first?.input);
});
