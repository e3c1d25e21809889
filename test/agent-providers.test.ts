import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  createSessionService,
  defineTool,
  type EventEnvelope,
  type SessionService,
} from "../src/index.ts";
import { MODEL_NAMES, MODELS, type ModelName, modelsOf } from "./support/model-under-test.ts";
import {
  type ProviderScript,
  type ProviderServer,
  startProviderServer,
} from "./support/provider-server/provider-server.ts";
import { trials } from "./support/trials.ts";

const opened: ProviderServer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

const read = defineTool({
  name: "read",
  description: "Reads a file.",
  input: z.object({ path: z.string() }),
  execute: ({ path }) => `the text of ${path}`,
});

type Prompt = Parameters<SessionService["startTurn"]>[0]["prompt"];

/** A session whose model is the real provider package, talking to a server that acts the provider. */
async function session(name: ModelName, script: ProviderScript) {
  const server = await startProviderServer(script);
  opened.push(server);
  const service = createSessionService({
    model: MODELS[name],
    models: modelsOf(server),
    tools: [read],
    builtinTools: false,
    compaction: { minTurnsBetweenCompactions: 1 },
    retry: { initialDelayMs: 1, maxDelayMs: 50 },
  });
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  const events: EventEnvelope["payload"][] = [];
  const say = (prompt: Prompt, signal?: AbortSignal) =>
    service.startTurn(
      { sessionId, prompt },
      { onEvent: ({ payload }) => events.push(payload), ...(signal ? { signal } : {}) },
    );
  return { server, service, say, events };
}

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const calls = (...ids: string[]) => ids.map((id) => ({ id, name: "read", args: { path: id } }));

describe.each(MODEL_NAMES)("an agent with %s", (name) => {
  test("reasons, calls tools side by side, and answers", async () => {
    const script = [
      { reasoning: "I should look.", text: "Looking.", toolCalls: calls("a", "b") },
      { reasoning: "Both are there.", text: "Done." },
      "And again.",
    ];
    const { say, server } = await session(name, script);
    expect(await say("look at a and b")).toMatchObject({
      text: "Done.",
      modelCalls: 2,
      toolCalls: 2,
    });
    expect((await say("and?")).text).toBe("And again.");
    expect(server.problems).toEqual([]);
    expect(JSON.stringify(server.requests[1]?.body)).toContain("the text of b");
  });

  test("gets over a limit, a server error and a cut connection in one turn", async () => {
    const script = [
      {
        status: 429,
        message: "slow down",
        code: "rate_limit_error",
        headers: { "retry-after": "0" },
      },
      { status: 500, message: "oops", code: "server_error" },
      { text: "half of an", interruption: "cut" as const },
      "whole answer",
    ];
    const { say, events } = await session(name, script);
    expect((await say("hi")).text).toBe("whole answer");
    expect(events.filter((event) => event.type === "retrying")).toHaveLength(3);
  });

  test("goes on without signatures that the provider no longer accepts, and keeps those that it gives then", async () => {
    const signed = { reasoning: "I should look.", text: "Looking.", toolCalls: calls("a") };
    const replies = [signed, "Done.", signed, "Again.", "Yes."];
    const { say, server, service } = await session(name, () => replies.shift() ?? "ok");
    await say("look at a");
    server.forgetSignatures();
    expect((await say("look again")).text).toBe("Again.");
    const refused = server.problems.length;
    // A server that signs nothing refuses nothing.
    expect(refused).toBe(name === "openai-compatible" ? 0 : 1);
    expect((await say("and?")).text).toBe("Yes.");
    expect(server.problems).toHaveLength(refused);
    // What was said without a signature is still there.
    const last = JSON.stringify(server.requests.at(-1)?.body);
    expect(last.split("Looking.")).toHaveLength(3);
    expect(last.split("the text of a")).toHaveLength(3);
    await service.close();
  });

  test.each([
    "Could not process image",
    "The image data you provided does not represent a valid image.",
    "Unable to process input image. Please retry or report.",
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
  ])(
    "goes on without an image that the provider refuses, after it has said so: %s",
    async (message) => {
      const { say, server, service } = await session(name, ({ body }) =>
        JSON.stringify(body).includes(PIXEL)
          ? { status: 400, message, code: "bad_request" }
          : "Yes.",
      );
      const image = { type: "image", media_type: "image/png", data: PIXEL } as const;
      await say("Hello.");
      for (const _ of [1, 2]) {
        const sent = say([{ type: "text", text: "What is this?" }, image]);
        await expect(sent).rejects.toThrow(message);
      }
      expect((await say("Never mind.")).text).toBe("Yes.");
      const asked = server.requests.length;
      expect((await say("And now?")).text).toBe("Yes.");
      expect(server.requests).toHaveLength(asked + 1);
      const last = JSON.stringify(server.requests.at(-1)?.body);
      expect(last.split("(An image was here, which the provider refused.)")).toHaveLength(3);
      expect(last.split("What is this?")).toHaveLength(3);
      expect(server.problems).toEqual([]);
      await service.close();
    },
  );

  test("compacts and tries once more when the provider calls the history too long", async () => {
    const long = "A long answer about many things. ".repeat(40);
    const script = [long, long, long, "context-too-long" as const, "In short.", "It fits."];
    const { say, events, server } = await session(name, script);
    for (const prompt of ["one", "two", "three"]) await say(prompt);
    expect((await say("four")).text).toBe("It fits.");
    expect(events.map((event) => event.type)).toContain("compaction_completed");
    expect(server.problems).toEqual([]);
  });

  test("whatever fails or is interrupted, the provider accepts the next request", async () => {
    const step = fc.constantFrom(
      "answer",
      "tools",
      "broken arguments",
      "cut",
      "refused",
      "interrupted",
      "interrupted in a tool loop",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        let now = "answer";
        let asked = 0;
        const { say, server, service } = await session(name, () => {
          asked += 1;
          if (now === "refused") return { status: 400, message: "no", code: "invalid" };
          if (now === "cut") return { text: "I was about to", interruption: "cut" as const };
          if (now === "interrupted")
            return { text: "I was about to", interruption: "hang" as const };
          if (now === "answer" || asked > 1) {
            return now === "interrupted in a tool loop"
              ? { text: "still", interruption: "hang" as const }
              : { reasoning: "Hm.", text: "Yes." };
          }
          if (now === "broken arguments")
            return { toolCalls: [{ id: "x", name: "read", rawArgs: "{oh" }] };
          return { reasoning: "Let me see.", toolCalls: calls("x", "y") };
        });
        for (const step of [...steps, "answer"]) {
          now = step;
          asked = 0;
          const stop = new AbortController();
          if (step.startsWith("interrupted")) void sleep(60).then(() => stop.abort());
          const result = await say(`now ${step}`, stop.signal).catch((error) => error);
          if (step === "answer") expect(result.text).toBe("Yes.");
        }
        expect(server.problems).toEqual([]);
        await service.close();
      }),
      { numRuns: trials(2, 100) },
    );
  });
});

test.each(["anthropic", "google"] as const)(
  "%s: a prompt that a filter answers with nothing does not end the session",
  async (name) => {
    const filtered = { stopReason: name === "google" ? "PROHIBITED_CONTENT" : "refusal" };
    const { server, say } = await session(name, ({ body }) =>
      JSON.stringify(body).includes("[filtered]") ? filtered : "ok",
    );
    await say("Hello.");
    expect(await say("[filtered]")).toMatchObject({ stopReason: "content_filter", text: "" });
    expect(await say("And now?")).toMatchObject({ stopReason: "end_turn", text: "ok" });
    const before = server.requests.length;
    await say("Go on.");
    expect(server.requests).toHaveLength(before + 1);
  },
);

test("a file that a model's package does not send fails its turn, and no later one", async () => {
  const { say } = await session("anthropic", () => "ok");
  const file = { type: "file", media_type: "text/csv", filename: "a.csv", data: "YSxi" } as const;
  await expect(say([{ type: "text", text: "Read this." }, file])).rejects.toThrow(/text\/csv/);
  expect(await say("Never mind.")).toMatchObject({ text: "ok" });
});
