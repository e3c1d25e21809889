import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { convertMessages } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import type { Stores } from "rkat";
import * as mastra from "rkat/mastra";
import { sqliteStores } from "rkat/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../examples/hosts/local-provider.ts";
import { contentText, isSummary, toolResults, toolUses } from "../../src/core/message.ts";
import { execFile } from "../support/start-process.ts";
import { MEMORY, openStorage, startAgent, THREAD, textOf } from "./mastra-agent.ts";
import type { MastraOutcome, MastraTask } from "./mastra-program.ts";
import { sentMessages } from "./sent-messages.ts";
import { testFolder } from "./test-folder.ts";

// What a person sees in a thread of Mastra whose history is compacted, and what else happens to such a thread: a message
// in the middle of a run, and a run that waits for a person and goes on in another process.

const RKATS = /\[Context compacted\]|\[Recalled from memory\]|CONTEXT COMPACTION|^Noted\.$/;

const numberOf = ({ billed }: LocalProvider, kind: string) =>
  billed.filter((request) => request.kind === kind).length;

/** A model that reads some files in each turn. */
async function startReader(options: Parameters<typeof startLocalProvider>[0]) {
  const server = await startLocalProvider(options);
  onTestFinished(() => server.close());
  return server;
}

/** The calls and results of a request are pairs. */
function expectPairs({ billed, problems }: LocalProvider) {
  expect(problems).toEqual([]);
  for (const { kind, body } of billed) {
    if (kind !== "step") continue;
    const sent = sentMessages(body);
    const calls = sent.flatMap(toolUses).map(({ id }) => id);
    const results = sent.flatMap(toolResults).map(({ tool_use_id }) => tool_use_id);
    expect(results.toSorted()).toEqual(calls.toSorted());
    expect(new Set(calls).size).toBe(calls.length);
  }
}

/** What the record of a thread has: messages with who wrote them. Summaries are no messages. */
async function recordedIn(stores: Stores) {
  const messages: { role: string; author: string | undefined; text: string }[] = [];
  for await (const { event } of stores.events.read("mastra:one", 0)) {
    if (event.type !== "message_added" || isSummary(event.message)) continue;
    const { message, origin } = event;
    const text = message.role === "user" ? contentText(message.content) : JSON.stringify(message);
    messages.push({ role: message.role, author: origin?.author, text });
  }
  return messages;
}

test.each(["the new message", "the whole chat"])(
  "an application that sends %s keeps a thread of UI messages whole over twenty turns",
  async (sends) => {
    const TURNS = 20;
    const FILES = 3;
    let turn = 0;
    const server = await startReader({
      call: (step) =>
        step < FILES ? { name: "read", args: { path: `turn-${turn}-${step}.ts` } } : undefined,
    });
    const path = join(testFolder(), "rkat.db");
    const storage = new InMemoryStore();
    const open = () => {
      const stores = sqliteStores({ path });
      const opened = startAgent(mastra, { url: server.urls.openai, stores, storage });
      const close = async () => {
        await opened.close();
        await stores.close();
      };
      return { ...opened, stores, close };
    };
    const shown = async ({ memory }: ReturnType<typeof open>) => {
      const { messages } = await memory.recall({ ...THREAD, perPage: false });
      return convertMessages(messages).to("AIV5.UI");
    };
    let program = open();
    let chat: Awaited<ReturnType<typeof shown>> = [];
    for (; turn < TURNS; turn += 1) {
      if (turn === TURNS / 2) {
        await program.close();
        const paid = numberOf(server, "summary");
        expect(paid).toBeGreaterThan(0);
        program = open();
        // The whole chat is offered again, and no summary is paid for twice.
        expect(numberOf(server, "summary")).toBe(paid);
      }
      const text = `Read the files of turn ${turn}.`;
      const message = {
        id: `u${turn}`,
        role: "user" as const,
        parts: [{ type: "text" as const, text }],
      };
      const input = sends === "the whole chat" ? [...chat, message] : [message];
      const output = await program.agent.stream(input, { maxSteps: 20, memory: MEMORY });
      await output.consumeStream();
      expect(await output.text).toContain(`Done after ${FILES} calls.`);
      chat = await shown(program);
    }
    await program.close();

    expect(chat.map(({ role }) => role)).toEqual(Array(TURNS).fill(["user", "assistant"]).flat());
    for (const [at, { parts }] of chat.entries()) {
      const number = Math.floor(at / 2);
      const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
      if (at % 2 === 0) expect(texts).toEqual([`Read the files of turn ${number}.`]);
      else {
        expect(texts).toEqual([`Done after ${FILES} calls.`]);
        const results = parts.flatMap((part) =>
          part.type === "tool-read" && "output" in part ? [part.output] : [],
        );
        expect(results).toEqual([0, 1, 2].map((step) => textOf(`turn-${number}-${step}.ts`)));
      }
      for (const text of texts) expect(text).not.toMatch(RKATS);
    }
    expectPairs(server);
    expect(Math.max(...server.billed.map(({ inputTokens }) => inputTokens))).toBeLessThan(3_000);
    const stores = sqliteStores({ path });
    onTestFinished(() => stores.close());
    const recorded = await recordedIn(stores);
    const users = recorded.filter(({ role }) => role === "user");
    expect(new Set(users.map(({ text }) => text)).size).toBe(users.length);
    expect(new Set(recorded.map(({ text }) => text)).size).toBe(recorded.length);
    for (const { author, text } of users) {
      expect(author).toBe("user");
      expect(text).toMatch(/^Read the files of turn \d+\.$/);
    }
  },
);

test.each(["sendMessage", "queueMessage"] as const)(
  "a message that comes by %s while a run goes on reaches the model once, and is the person's word",
  async (way) => {
    const STEERING = "From now on, never touch port 8080.";
    let files = 10;
    const server = await startReader({
      call: (step) =>
        step < files ? { name: "read", args: { path: `part-${step}.ts` } } : undefined,
    });
    const stores = sqliteStores({ path: ":memory:" });
    let isSent = false;
    const { agent, memory, close } = startAgent(mastra, {
      ...{ url: server.urls.openai, stores, storage: new InMemoryStore() },
      onRead(path) {
        if (isSent || path !== "part-4.ts") return;
        isSent = true;
        agent[way](STEERING, { ...THREAD, ifIdle: { streamOptions: { maxSteps: 40 } } });
      },
    });
    const ask = async (prompt: string) => {
      const output = await agent.stream(prompt, { maxSteps: 40, memory: MEMORY });
      await output.consumeStream();
      return await output.text;
    };
    await ask("Read ten parts.");
    await expect
      .poll(() => agent.getActiveThreadRunId(THREAD), { timeout: 30_000 })
      .toBeUndefined();
    files = 0;
    await ask("What did you read?");
    files = 10;
    await ask("Read ten parts again.");
    await close();

    expectPairs(server);
    const steps = server.billed.filter(({ kind }) => kind === "step");
    const places = steps.map(({ body }) =>
      sentMessages(body).filter(
        (message) => message.role === "user" && contentText(message.content) === STEERING,
      ),
    );
    const first = places.findIndex((found) => found.length > 0);
    expect(first).toBeGreaterThan(0);
    for (const found of places) expect(found.length).toBeLessThan(2);
    // Where its message is compacted, the summary has its words.
    for (const { body } of steps.slice(first)) expect(JSON.stringify(body)).toContain(STEERING);

    const { messages } = await memory.recall({ ...THREAD, perPage: false });
    const saved = convertMessages(messages).to("AIV5.UI");
    const users = saved.flatMap(({ role, parts }) =>
      role === "user" ? parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    );
    expect(users).toEqual([
      "Read ten parts.",
      STEERING,
      "What did you read?",
      "Read ten parts again.",
    ]);
    const recorded = await recordedIn(stores);
    expect(recorded.filter(({ text }) => text.includes(STEERING))).toEqual([
      { role: "user", author: "user", text: STEERING },
    ]);
    expect(new Set(recorded.map(({ text }) => text)).size).toBe(recorded.length);
    await stores.close();
  },
);

const run = promisify(execFile);

test("a run that waits for a person goes on in another process, in the window that was compacted", async () => {
  const folder = testFolder();
  let isLater = false;
  const server = await startReader({
    call: (step) => {
      if (isLater)
        return step < 9 ? { name: "read", args: { path: `later-${step}.ts` } } : undefined;
      if (step === 8) return { name: "send", args: { path: "report.md" } };
      return step < 12 ? { name: "read", args: { path: `part-${step}.ts` } } : undefined;
    },
  });
  const process = async (task: Omit<MastraTask, "folder" | "url">) => {
    const given: MastraTask = { folder, url: server.urls.openai, ...task };
    await run(globalThis.process.execPath, ["test/hosts/mastra-program.ts", JSON.stringify(given)]);
    return JSON.parse(readFileSync(join(folder, "outcome.json"), "utf8")) as MastraOutcome;
  };
  const first = await process({
    prompt: "Never use port 8080. Read twelve parts, and send a report.",
  });
  expect(first.finishReason).toBe("suspended");
  expect(numberOf(server, "step")).toBe(9);
  const paid = numberOf(server, "summary");
  expect(paid).toBeGreaterThan(0);

  const before = server.billed.length;
  const second = await process({ approves: first.runId });
  expect(second.text).toContain("Done after 12 calls.");
  const [next] = server.billed.slice(before);
  expect(next?.kind).toBe("step");
  expect(JSON.stringify(next?.body)).toContain("[Context compacted]");
  expect(JSON.stringify(next?.body)).toContain("report.md is sent.");

  expect(numberOf(server, "summary")).toBeGreaterThan(paid);
  isLater = true;
  await process({ prompt: "Read nine parts more." });
  expectPairs(server);
  const { storage } = await openStorage(folder);
  const kept = await storage.getStore("memory");
  const { messages } = (await kept?.listMessages({ ...THREAD, perPage: false })) ?? {
    messages: [],
  };
  const saved = convertMessages(messages).to("AIV5.UI");
  const calls = saved.flatMap(({ parts }) =>
    parts.flatMap((part) => ("output" in part ? [part.output] : [])),
  );
  const parts = [...Array(12).keys()].filter((step) => step !== 8).map((step) => `part-${step}.ts`);
  const later = [...Array(9).keys()].map((step) => `later-${step}.ts`);
  expect(calls.toSorted()).toEqual(
    [...[...parts, ...later].map(textOf), "report.md is sent."].toSorted(),
  );
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  onTestFinished(() => stores.close());
  const recorded = await recordedIn(stores);
  expect(recorded.filter(({ role }) => role === "tool_results").length).toBeGreaterThan(12);
  expect(new Set(recorded.map(({ text }) => text)).size).toBe(recorded.length);
});
