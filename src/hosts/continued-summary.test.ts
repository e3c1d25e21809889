import { expect, test } from "vitest";
import { middlewareWith } from "./ai-sdk-middleware.ts";

const WORDS = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  30,
);
const SUMMARY =
  "The user and the assistant talked of the crane, the cargo, the quay, the pilot and the tide.";

const TURNS = 30;

interface Call {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly maxOutputTokens?: number;
  readonly toolChoice?: { readonly type: string };
}

interface Chat {
  /** Part of a request for a summary that the provider says it had in its cache. */
  readonly met?: number;
  /** The summaries that the model gives, in order; then `SUMMARY`. */
  readonly summaries?: readonly string[];
  readonly provider?: string;
  readonly toolChoice?: { readonly type: string };
  /** Text of the first question. */
  readonly first?: string;
  readonly contextWindow?: number;
}

/** A chat through the middleware. Returns the requests for summaries. */
async function requestsOf({
  met = 0.9,
  summaries = [],
  provider = "openai.responses",
  toolChoice,
  first = "",
  contextWindow = 8_000,
}: Chat): Promise<readonly Call[]> {
  const asked: Call[] = [];
  const left = [...summaries];
  const doGenerate = async (call: Call) => {
    const tokens = Math.ceil(JSON.stringify(call.prompt).length / 4);
    const isSummary = JSON.stringify(call.prompt.at(-1)).includes("CONTEXT COMPACTION");
    if (isSummary) asked.push(call);
    const text = isSummary ? (left.shift() ?? SUMMARY) : `Done. ${WORDS}`;
    const cacheRead = Math.floor(tokens * (isSummary ? met : 0.9));
    return {
      content: [{ type: "text", text }],
      usage: { inputTokens: { total: tokens, cacheRead } },
    };
  };
  const model = { provider, modelId: "gpt-5", doGenerate };
  const middleware = middlewareWith({ contextWindow });
  const prompt: Call["prompt"][number][] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const text = `Task ${turn}: what about the tide? ${turn === 0 ? first : ""}`;
    prompt.push({ role: "user", content: [{ type: "text", text }] });
    const given = { prompt: [...prompt], ...(toolChoice ? { toolChoice } : {}) } as never;
    const params = await middleware.transformParams({ params: given, model });
    const answer = await middleware.wrapGenerate({
      params,
      model: { doGenerate: doGenerate as never },
      doGenerate: () => doGenerate(params as Call),
    });
    prompt.push({ role: "assistant", content: (answer as { content: unknown }).content });
  }
  return asked;
}

const isRecord = (call: Call) => JSON.stringify(call).includes("<record>");

test("a summary is asked for at the end of the conversation, without the prompt that has no answer yet", async () => {
  const asked = await requestsOf({});
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.some(isRecord)).toBe(false);
  for (const { prompt, maxOutputTokens = 0 } of asked) {
    expect(prompt.at(-2)?.role).toBe("assistant");
    // The answer has room in the window, too.
    expect(Math.ceil(JSON.stringify(prompt).length / 5) + maxOutputTokens).toBeLessThan(8_000);
  }
});

test("a provider that turns out not to have the conversation in its cache is not asked so again", async () => {
  const asked = await requestsOf({ met: 0.1 });
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.map(isRecord)).toEqual(asked.map((_, index) => index > 0));
});

test("the record is sent after a worthless answer", async () => {
  const [refused, again] = await requestsOf({ summaries: ["I'm sorry, I can't help with that."] });
  expect([refused, again].map((call) => call && isRecord(call))).toEqual([false, true]);
});

test("a summary is a request of its own where nothing is known of a cache, or a tool has to be called", async () => {
  for (const chat of [{ provider: "mine.chat" }, { toolChoice: { type: "required" } }]) {
    const asked = await requestsOf(chat);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.every(isRecord)).toBe(true);
  }
});

test("a summary is a request of its own where the conversation has a credential", async () => {
  const asked = await requestsOf({ first: "The password is hunter2-Emden-48x, use that." });
  expect(asked.slice(0, 1).map(isRecord)).toEqual([true]);
  expect(JSON.stringify(asked)).not.toContain("hunter2");
});
