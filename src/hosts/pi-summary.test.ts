import { describe, expect, test } from "vitest";
import type { PiApi, PiEntry } from "./pi-api.ts";
import { continuedSummaries } from "./pi-summary.ts";

const usage = { input: 200, output: 10, cacheRead: 1_800, cacheWrite: 0 };
const cost = { input: 1, output: 8, cacheRead: 0.1, cacheWrite: 0 };
const model = { provider: "mine", id: "sailor", contextWindow: 8_000, cost };
const prompt = { role: "user", content: "Load the ship.", timestamp: 1 };

const entry = (id: string, fields: object): PiEntry => ({
  ...{ id, type: "message", timestamp: "2026-01-01T00:00:00Z" },
  ...fields,
});
const asked = entry("a", { message: prompt });
const answered = entry("b", { message: { role: "assistant", usage, timestamp: Date.now() } });

interface Talk {
  /** The entries at the compaction, in the place of the prompt and its answer. */
  readonly entries?: readonly PiEntry[];
  readonly kept?: number;
  /** The last request in the words of a provider's API. */
  readonly payload?: object;
  /** What pi tells after the request. */
  readonly later?: readonly (readonly [event: string, told: object])[];
  /** The model at the compaction. */
  readonly now?: typeof model;
}

/** Has a summary written after one request. Returns what the model was sent at its end; nothing when it was asked in the own way. */
async function sentAfter({
  entries = [asked, answered],
  kept = 1,
  payload = { messages: ["system", "prompt"], tools: ["read"] },
  later = [],
  now = model,
}: Talk): Promise<unknown> {
  const handlers = new Map<string, (event: never, context: never) => unknown>();
  const continued = continuedSummaries({
    on: (event, handler) => handlers.set(event, handler),
  } as PiApi);
  const sessionManager = { getBranch: () => [asked] };
  const tell = (name: string, event: object) =>
    handlers.get(name)?.(event as never, { model, sessionManager } as never);
  tell("context_with_system", { messages: [prompt] });
  tell("before_provider_request", { payload });
  for (const [name, event] of later) tell(name, event);
  let sent: unknown;
  const ask = async (_: unknown, options: object) => {
    const { onPayload } = options as { onPayload: (end: object) => object };
    sent = onPayload({ messages: ["prompt for a summary"] });
    return { content: [{ type: "text", text: "At its end." }], stopReason: "stop", usage };
  };
  const summarize = continued(async () => "In the own way.", { entries, kept, model: now, ask });
  const summary = await summarize({
    messages: [{ role: "user", content: "The crane lifts the cargo. ".repeat(200) }],
    ...{ maxTokens: 1_000, signal: new AbortController().signal, closing: "Summarise." },
  });
  expect(summary).toBe(sent === undefined ? "In the own way." : "At its end.");
  return sent;
}

test("a summary is asked for at the end of the last request, byte for byte", async () => {
  const sent = { messages: ["system", "prompt", "prompt for a summary"], tools: ["read"] };
  expect(await sentAfter({})).toEqual(sent);
  // A request that only keeps a cache warm is not the last one.
  const warmed = await sentAfter({ later: [["before_provider_request", { payload: {} }]] });
  expect(warmed).toEqual(sent);
});

describe("a summary is asked for in the own way", () => {
  test.each<[string, Talk]>([
    ["when more leaves than the last request had", { kept: 2 }],
    [
      "when pi's session is on another branch",
      { entries: [entry("x", { message: prompt }), answered], kept: 0 },
    ],
    [
      "when something of the last request was changed",
      { entries: [asked, answered, entry("c", { type: "context_edit" })] },
    ],
    ["when another model answers now", { now: { ...model, id: "pilot" } }],
    ["after a compaction", { later: [["session_compact", {}]] }],
    ["when nobody knows where an API has its messages", { payload: { context: {} } }],
    ["when pi knows no price", { now: { ...model, cost: { ...cost, input: 0 } } }],
    ["when the request has no answer that was counted", { entries: [asked] }],
  ])("%s", async (_, talk) => {
    expect(await sentAfter(talk)).toBeUndefined();
  });
});
