import { expect, test } from "vitest";
import { estimateTokens } from "../core/tokens.ts";
import { type AiSdkMessage, fromModelMessages } from "../models/model-messages.ts";
import { middlewareWith } from "./ai-sdk-middleware.ts";

const WINDOW = 16_000;
const NOTES = "Staging listens on port 4310, behind the old proxy. ".repeat(75);
const TALK = "The harbour was quiet, and the tide came in as it does each evening. ";

/** A chat with a model, whose memory has something for each prompt. */
function chat(recall: (text: string) => Promise<string | undefined>) {
  const middleware = middlewareWith(
    {
      contextWindow: WINDOW,
      summarize: async () => "Harbour, tide and evening were talked about.",
    },
    { recordOf: unnamed, close: async () => {}, recall },
  );
  return async (prompt: readonly AiSdkMessage[]) => {
    const sent = await middleware.transformParams({ params: { prompt }, model: {} });
    return sent.prompt;
  };
}

/** A chat without an id is not stored. */
function unnamed(): never {
  throw new Error("The chat has no id.");
}

const said = (role: "user" | "assistant", text: string): AiSdkMessage => {
  const part: { readonly type: string; readonly text: string } = { type: "text", text };
  return { role, content: [part] };
};
const user = (text: string) => said("user", text);
const answer = (text: string) => said("assistant", text);
const tokensOf = (prompt: readonly AiSdkMessage[]) => estimateTokens(fromModelMessages(prompt));

test("what memory adds never makes a long chat fail, and the newest prompts have it again after a compaction", async () => {
  const send = chat(async () => NOTES);
  const talk: AiSdkMessage[] = [{ role: "system", content: "Be brief." }];
  const additions: number[] = [];
  for (let turn = 0; turn < 80; turn += 1) {
    talk.push(user(`${turn}: ${TALK}`));
    const sent = await send(talk);
    expect(tokensOf(sent)).toBeLessThan(WINDOW);
    additions.push(JSON.stringify(sent).split("From memory, found").length - 1);
    talk.push(answer(TALK.repeat(20)));
  }
  expect(additions[0]).toBe(1);
  expect(Math.max(...additions)).toBeLessThanOrEqual(4);
  expect(Math.max(...additions.slice(40))).toBeGreaterThan(0);
});

test("beside a large system prompt nothing is added, and the call goes on", async () => {
  const send = chat(async () => NOTES);
  const system: AiSdkMessage = { role: "system", content: "Always be kind. ".repeat(3_030) };
  const sent = await send([system, user("Which port does staging listen on?")]);
  expect(JSON.stringify(sent).includes("From memory, found")).toBe(false);
  expect(sent.at(-1)).toEqual(user("Which port does staging listen on?"));
});

test("requests begin as the ones before, with what was added to them", async () => {
  const send = chat(async (text) => `found for ${text}`);
  const first = await send([user("one")]);
  const second = await send([user("one"), answer("1"), user("two")]);
  expect(second.slice(0, 1)).toEqual(first);
  expect(JSON.stringify(second)).toContain("found for two");
});
