import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createSessionService, defineTool } from "../src/index.ts";
import { MODEL_NAMES, MODELS, type ModelName, modelsOf } from "./support/model-under-test.ts";
import {
  type ProviderScript,
  type ProviderServer,
  startProviderServer,
} from "./support/provider-server/provider-server.ts";

const opened: ProviderServer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

const read = defineTool({
  name: "read",
  description: "Reads a file.",
  input: z.object({ path: z.string() }),
  execute: ({ path }) => `The text of ${path}.`,
});

const LONG = "A long answer about the herons of Emden and the barge. ".repeat(60);
const SUMMARY =
  "The user asked about the herons of Emden and the barge. The assistant read a.txt and gave long answers.";

async function session(name: ModelName, script: ProviderScript) {
  const server = await startProviderServer(script);
  opened.push(server);
  const service = createSessionService({
    model: MODELS[name],
    models: modelsOf(server, { contextWindows: { [MODELS[name]]: 100_000 } }),
    tools: [read],
    builtinTools: false,
    compaction: { autoCompactThreshold: 2000, recentTurnBudget: 1, minTurnsBetweenCompactions: 1 },
  });
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  const say = async (prompt: string) => {
    const failures: string[] = [];
    const { text } = await service.startTurn(
      { sessionId, prompt },
      {
        onEvent: ({ payload }) => {
          if (payload.type === "compaction_failed") failures.push(payload.error);
        },
      },
    );
    return { text, failures };
  };
  return { server, service, sessionId, say };
}

/** The field with the messages of a request. */
const MESSAGES = {
  anthropic: "messages",
  openai: "input",
  google: "contents",
  "openai-compatible": "messages",
} as const;

const cached = (input: number) => ({ usage: { input, cacheRead: input - 100 } });
const calls = { toolCalls: [{ id: "a", name: "read", args: { path: "a.txt" } }] };

/** Two turns, the first of which reads a file; the third begins with a compaction. */
const talk = (last: object = cached(1500)) => [
  { reasoning: "I should look.", text: "Looking.", ...calls, ...cached(300) },
  { text: LONG, ...cached(500) },
  { text: LONG, ...last },
];

describe.each(MODEL_NAMES)("the summary of a session with %s", (name) => {
  test("is asked for at the end of the last request, which the provider has in its cache", async () => {
    const { server, say, service, sessionId } = await session(name, [...talk(), SUMMARY, "Done."]);
    await say("Read a.txt.");
    await say("And the barge?");
    expect(await say("And now?")).toEqual({ text: "Done.", failures: [] });
    expect(server.problems).toEqual([]);
    const [, , last, asked, next] = server.requests.map(({ body }) => body as Body);
    const { [MESSAGES[name]]: before = [], ...around } = last ?? {};
    const { [MESSAGES[name]]: sent = [], ...aroundSent } = asked ?? {};
    expect(JSON.stringify(sent).startsWith(JSON.stringify(before).slice(0, -1))).toBe(true);
    expect(sent.length).toBeGreaterThan(before.length);
    expect(JSON.stringify(sent.at(-1))).toContain("CONTEXT COMPACTION");
    expect(JSON.stringify(sent)).not.toContain("And now?");
    expect(toolsAndSystem(aroundSent)).toEqual(toolsAndSystem(around));
    expect(JSON.stringify(next)).toContain("The assistant read a.txt");
    const { compacting } = await service.sessionCost({ sessionId });
    expect(compacting.compacted).toBe(1);
  });

  test("is asked for anew when the model calls a tool, or the provider calls that request too long", async () => {
    for (const answer of [calls, "context-too-long" as const]) {
      const { server, say } = await session(name, [...talk(), answer, SUMMARY, "Done."]);
      await say("Read a.txt.");
      await say("And the barge?");
      expect(await say("And now?")).toEqual({ text: "Done.", failures: [] });
      expect(JSON.stringify(server.requests[4]?.body)).toContain("<record>");
    }
  });

  test("is a request of its own when nothing is in the cache, or a credential is in the history", async () => {
    const uncached = { usage: { input: 1500 } };
    for (const [script, prompt] of [
      [talk(uncached), "Read a.txt."],
      [talk(), "The password is hunter2-Emden-48x, read a.txt."],
    ] as const) {
      const { server, say } = await session(name, [...script, SUMMARY, "Done."]);
      await say(prompt);
      await say("And the barge?");
      expect(await say("And now?")).toEqual({ text: "Done.", failures: [] });
      const asked = JSON.stringify(server.requests[3]?.body);
      expect(asked).toContain("<record>");
      expect(asked).not.toContain("hunter2");
    }
  });
});

type Body = Readonly<Record<string, readonly unknown[] | undefined>>;

/** What stands before the messages in a provider's cache. */
function toolsAndSystem({ tools, system, systemInstruction, instructions }: Body) {
  return { tools, system, systemInstruction, instructions };
}
