import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, type ModelMessage, tool, wrapLanguageModel } from "ai";
import { rkatMiddleware } from "rkat/ai-sdk";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

type Body = Readonly<Record<string, unknown>> & {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
};

interface Asked {
  readonly body: Body;
  readonly beta: string;
}

const WORDS = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  8,
);
const SUMMARY =
  "The crane lifts the cargo over the quay, and the pilot waits for the tide: harbour duty, task by task.";
const OWN =
  "The user and the assistant talked of the crane, the cargo, the quay, the pilot and the tide.";

/** A server of Anthropic's messages: its own summaries are `summary`, and `cached` says how much of a request it has. */
async function serve({
  summary,
  cached,
}: {
  readonly summary: object | undefined;
  readonly cached: number;
}) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Body;
    asked.push({ body, beta: String(request.headers["anthropic-beta"]) });
    const isOwn = body.compaction !== undefined;
    const isRecord = JSON.stringify(body.messages).includes("<record>");
    const said = { type: "text", text: isRecord ? OWN : `Done. ${WORDS}` };
    const tokens = Math.ceil(JSON.stringify(body.messages).length / 4);
    const read = Math.floor(tokens * cached);
    const answer = {
      type: "message",
      role: "assistant",
      model: "claude",
      id: `msg_${asked.length}`,
      content: [isOwn && summary ? summary : said],
      stop_reason: isOwn && summary ? "compaction" : "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: tokens - read,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: 0,
        output_tokens: 20,
      },
    };
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const anthropic = createAnthropic({ apiKey: "local", baseURL: `http://127.0.0.1:${port}/v1` });
  return { asked, anthropic };
}

const tools = {
  read: tool({
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => `${path} is empty.`,
  }),
};

async function talk({ asked, anthropic }: Awaited<ReturnType<typeof serve>>, turns = 16) {
  const model = wrapLanguageModel({
    model: anthropic("claude-sonnet-4-5"),
    middleware: rkatMiddleware({ contextWindow: 6_000, compaction: "provider" }),
  });
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const rule = turn === 0 ? "Never start the crane by night. " : "";
    messages.push({ role: "user", content: `${rule}Task ${turn}: ${WORDS}` });
    const { response } = await generateText({
      model,
      messages,
      tools,
      system: "You are a harbour pilot.",
      maxRetries: 0,
    });
    messages.push(...response.messages);
  }
  return asked;
}

const isOwn = ({ body }: Asked) => body.compaction !== undefined;
const isRecord = ({ body }: Asked) => JSON.stringify(body.messages).includes("<record>");

test("Anthropic's own summary of the cached request stands in the place of what left, with people's words", async () => {
  const block = { type: "compaction", content: SUMMARY, signature: "signed" };
  const asked = await talk(await serve({ summary: block, cached: 0.95 }));
  const own = asked.findIndex(isOwn);
  expect(own).toBeGreaterThan(0);
  expect(asked.filter(isRecord)).toEqual([]);
  const [before, request, after] = asked.slice(own - 1, own + 2);
  expect(request?.beta).toContain("compact-2026-09-04");
  // The provider has all of it in its cache: it is what was sent before.
  expect(request?.body).toMatchObject({
    system: before?.body.system,
    tools: before?.body.tools,
    messages: before?.body.messages,
  });
  const sent = JSON.stringify(after?.body.messages);
  expect(sent.length).toBeLessThan(JSON.stringify(before?.body.messages).length);
  expect(sent).toContain(SUMMARY);
  expect(sent).toContain("Never start the crane by night.");
  // It is a text, which every provider reads.
  expect(sent).not.toContain('"compaction"');
});

test("a request that is not in the provider's cache is summarised as without the setting", async () => {
  const block = { type: "compaction", content: SUMMARY };
  const asked = await talk(await serve({ summary: block, cached: 0 }));
  expect(asked.filter(isOwn)).toEqual([]);
  expect(asked.filter(isRecord).length).toBeGreaterThan(0);
});

test.each([
  ["an answer without a summary", undefined],
  ["a summary that says nothing", { type: "compaction", content: "I cannot help with that." }],
])("after %s, the own summariser is asked", async (_, summary) => {
  const asked = await talk(await serve({ summary, cached: 0.95 }));
  const own = asked.findIndex(isOwn);
  expect(own).toBeGreaterThan(0);
  expect(isRecord(asked[own + 1] as Asked)).toBe(true);
  expect(JSON.stringify(asked[own + 2]?.body.messages)).toContain(OWN);
});
