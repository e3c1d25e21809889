import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../src/core/event.ts";
import { isSummary, toolResults, toolUses } from "../src/core/message.ts";
import {
  createSessionService,
  defineTool,
  type Message,
  type ServiceOptions,
  type SessionService,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { type ScriptedModel, type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(40);

const readFile = defineTool({
  name: "read_file",
  description: "reads",
  input: z.object({ path: z.string() }),
  execute: ({ path }) => `${path}: ${LONG}`,
});

/** A service on the store in `place`, as another process would open it. */
function open(
  place: string,
  replies: Parameters<typeof scriptedModel>[0],
  options: Partial<ServiceOptions> = {},
): { readonly service: SessionService; readonly model: ScriptedModel; close(): Promise<void> } {
  const stores = sqliteStores({ path: join(place, "rkat.db"), thread: "main" });
  const model = scriptedModel(replies);
  const service = createSessionService({
    model,
    stores,
    knowledge: false,
    tools: [readFile],
    compaction: {
      autoCompactThreshold: 3000,
      minTurnsBetweenCompactions: 1,
      maxSummaryTokens: 100,
    },
    ...options,
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= service.close().then(() => stores.close());
    return closing;
  };
  onTestFinished(close);
  return { service, model, close };
}

/** Answers turns with `say`, and requests for a summary with one. */
function talker(say: (call: number) => ScriptedReply): Parameters<typeof scriptedModel>[0] {
  return ({ messages }, call) =>
    JSON.stringify(messages.at(-1)).includes("CONTEXT COMPACTION") ? "So far." : say(call);
}

const call = (id: string, name: string, args: unknown) => ({ id, name, args });
const textOf = (message: Message | undefined) => JSON.stringify(message);
const isRecord = (message: Message) => textOf(message).includes("[Task record]");

test("the model keeps its task, and reads it word for word after a compaction", async () => {
  const update = {
    new_task: "Port the parser.",
    add: ["Read it", "Write it"],
    notes: { decision: "keep the old error codes" },
  };
  const { service, model } = open(
    await temporaryFolder(),
    talker((n) => {
      if (n === 0) return { toolCalls: [call("a", "update_task", update)] };
      if (n === 1) return { toolCalls: [call("b", "read_file", { path: "src/parser.ts" })] };
      if (n === 2) return { toolCalls: [call("c", "update_task", { done: [1] })] };
      return `Answer ${n}. ${LONG}`;
    }),
  );
  const { sessionId } = await service.createSession({});
  const events: SessionEvent[] = [];
  const onEvent = ({ payload }: { readonly payload: SessionEvent }) => void events.push(payload);
  await service.startTurn({ sessionId, prompt: "Port src/parser.ts" }, { onEvent });
  const told = model.requests[1]?.messages.flatMap(toolResults)[0]?.content;
  expect(told).toBe(
    "Goal: Port the parser.\nSub-tasks:\n1. [open] Read it\n2. [open] Write it\nNotes:\n- decision: keep the old error codes",
  );
  expect(model.requests.some(({ messages }) => messages.some(isRecord))).toBe(false);

  for (const prompt of ["two", "three", "four"])
    await service.startTurn({ sessionId, prompt }, { onEvent });
  const record = model.requests.at(-1)?.messages.filter(isRecord);
  expect(record).toHaveLength(1);
  expect(record?.[0]).toMatchObject({ role: "user" });
  for (const line of [
    "Goal: Port the parser.",
    "1. [done] Read it",
    "2. [open] Write it",
    "- decision: keep the old error codes",
    "Active files: src/parser.ts",
  ]) {
    expect(textOf(record?.[0])).toContain(line);
  }
  expect((await service.read({ sessionId })).history.some(({ message }) => isRecord(message))).toBe(
    false,
  );
  const completed = events.findLast((event) => event.type === "compaction_completed");
  expect(completed).toMatchObject({
    report: { survived: { open_sub_tasks: 1, active_files: 1 } },
  });
});

test("a field that the tool does not know is named, and nothing of the call is kept", async () => {
  const unknown = { goal: "Port it.", subtasks: ["Read it"] };
  const { service, model } = open(
    await temporaryFolder(),
    talker((n) => (n === 0 ? { toolCalls: [call("a", "update_task", unknown)] } : "Done.")),
  );
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Port it" });
  const told = model.requests[1]?.messages.flatMap(toolResults)[0];
  expect(told).toMatchObject({ is_error: true });
  expect(told?.content).toContain("subtasks");
  expect((await service.read({ sessionId })).task).toMatchObject({ goal: "" });
});

test("what somebody else writes into the record, the model reads with its next call", async () => {
  const { service, model } = open(await temporaryFolder(), []);
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "hello" });
  await service.updateTask({ sessionId, goal: "Be kind." });
  await service.startTurn({ sessionId, prompt: "and now?" });
  const [first, second] = model.requests.map(({ messages }) => messages);
  expect(textOf(second?.at(-2))).toContain("Goal: Be kind.");
  expect(second?.at(-1)).toEqual({ role: "user", content: "and now?" });
  expect(second?.slice(0, first?.length)).toEqual(first);
});

test("between compactions each call sends what the last one sent, and more", async () => {
  const { service, model } = open(
    await temporaryFolder(),
    talker((n) =>
      n % 3 === 0
        ? { toolCalls: [call(`c${n}`, "read_file", { path: `f${n}.ts` })] }
        : n % 3 === 1
          ? { toolCalls: [call(`c${n}`, "update_task", { notes: { at: String(n) } })] }
          : `Answer ${n}.`,
    ),
  );
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  let compacted = 0;
  for (let turn = 0; turn < 12; turn += 1) {
    const from = model.requests.length;
    const onEvent = ({ payload }: { readonly payload: SessionEvent }) => {
      if (/^(compaction_completed|tool_output_pruned)$/.test(payload.type)) compacted += 1;
    };
    const before = compacted;
    await service.startTurn({ sessionId, prompt: `turn ${turn}` }, { onEvent });
    if (compacted > before || from === 0) continue;
    model.requests.slice(from).forEach(({ messages }, index) => {
      const last = model.requests[from + index - 1]?.messages ?? [];
      expect(messages.slice(0, last.length)).toEqual(last);
    });
  }
  expect(compacted).toBeGreaterThan(2);
});

test("pins survive 20 compactions, in order, with their tool partners, across restarts and processes", async () => {
  const place = await temporaryFolder();
  let first = true;
  const replies = talker((n) => {
    if (!first) return `Answer ${n}. ${LONG.slice(0, 1500)}`;
    first = false;
    return { toolCalls: [call("a", "datetime", {}), call("b", "datetime", {})] };
  });
  let { service, close } = open(place, replies);
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  await service.startTurn({ sessionId, prompt: "Pin me: the port is 7443." });
  const { history } = await service.read({ sessionId });
  const ids = history.map(({ id }) => id);
  // The results of the calls, which stay with their calls; and the question, pinned after them.
  await service.pin({ sessionId, position: 3 });
  await service.pin({ sessionId, message: ids[1] ?? 0 });
  const kept = history.slice(1, 4);

  for (let compactions = 0; compactions < 20; ) {
    for (let turn = 0; turn < 2; turn += 1) {
      await service.startTurn({ sessionId, prompt: `more ${compactions} ${turn}` });
    }
    const view = await service.read({ sessionId });
    compactions = view.compactions;
    expect(view.history.slice(1, 4).map(({ message }) => message)).toEqual(
      kept.map(({ message }) => message),
    );
    const { pins } = await service.pins({ sessionId });
    expect(pins.map(({ message, position }) => [message, position])).toEqual([
      [ids[1], 1],
      [ids[3], 3],
    ]);
    if (compactions % 4 === 0) {
      await close();
      ({ service, close } = open(place, replies));
    }
  }

  // Another process unpins; this one lets go of the message, and of the partner that was never pinned.
  const other = open(place, replies);
  await other.service.unpin({ sessionId, position: 3 });
  for (let turn = 0; turn < 4; turn += 1) await service.startTurn({ sessionId, prompt: "on" });
  const view = await service.read({ sessionId });
  expect(view.history.map(({ id }) => id)).toContain(ids[1]);
  expect(view.history.map(({ id }) => id)).not.toContain(ids[3]);
  expect(view.history.flatMap(({ message }) => toolUses(message))).toEqual([]);
});

test("a message that is pinned while its summary is written stays", async () => {
  let pinning: Promise<unknown> | undefined;
  const { service } = open(
    await temporaryFolder(),
    (request, n) => {
      if (!JSON.stringify(request.messages.at(-1)).includes("CONTEXT COMPACTION")) {
        return `Answer ${n}. ${LONG.slice(0, 2000)}`;
      }
      pinning ??= service.pin({ sessionId, position: 0 });
      return { text: "So far.", delayMs: 30 };
    },
    { builtinTools: false },
  );
  const { sessionId } = await service.createSession({});
  const events: SessionEvent[] = [];
  for (const prompt of ["Keep me.", "two", "three", "four", "five", "six", "seven", "eight"]) {
    await service.startTurn(
      { sessionId, prompt },
      { onEvent: ({ payload }) => void events.push(payload) },
    );
  }
  await pinning;
  const ends = events.filter(({ type }) => /^compaction_(completed|failed)$/.test(type));
  expect(ends.map(({ type }) => type).slice(0, 2)).toEqual([
    "compaction_failed",
    "compaction_completed",
  ]);
  const { history } = await service.read({ sessionId });
  expect(history[0]).toMatchObject({ pinned: true, message: { content: "Keep me." } });
});

test("a pin and a note reach a session in the middle of its turn", async () => {
  const { service, model } = open(
    await temporaryFolder(),
    (_, n) => (n === 0 ? { toolCalls: [call("a", "meddle", {})] } : "done"),
    {
      tools: [
        defineTool({
          name: "meddle",
          description: "does what a person at another client would do",
          input: z.object({}),
          async execute(_, { sessionId }) {
            await service.pin({ sessionId, position: 1 });
            await service.updateTask({ sessionId, notes: { colour: "blue" } });
            return "done";
          },
        }),
      ],
    },
  );
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "go" });
  const sent = model.requests[1]?.messages ?? [];
  expect(textOf(sent.at(-1))).toContain("- colour: blue");
  expect(toolResults(sent.at(-2) as Message)).toHaveLength(1);
  expect((await service.pins({ sessionId })).pins).toHaveLength(1);
});

test("twice the window of messages is compacted to the window, far below the token threshold", async () => {
  const compaction = { windowSize: 6, minTurnsBetweenCompactions: 1 };
  const { service } = open(
    await temporaryFolder(),
    talker((n) => `Answer ${n}, at some length, as answers are: ${LONG.slice(0, 300)}`),
    { compaction },
  );
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  const lengths: number[] = [];
  for (let turn = 0; turn < 12; turn += 1) {
    await service.startTurn({ sessionId, prompt: `Question ${turn}` });
    const { history } = await service.read({ sessionId });
    lengths.push(
      history.filter(({ message }) => message.role !== "system" && !isSummary(message)).length,
    );
  }
  // With 12 messages besides the prompt it is compacted to 6 at the most, and the answer comes on top.
  expect(lengths).toEqual([2, 4, 6, 8, 10, 12, 8, 10, 12, 8, 10, 12]);
});

test("a session without a task, pins or a window is sent as it always was", async () => {
  const { service, model } = open(await temporaryFolder(), [], { builtinTools: false });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "hi" });
  expect(model.requests[0]?.messages).toEqual([{ role: "user", content: "hi" }]);
  expect((await service.read({ sessionId })).task).toEqual({
    goal: "",
    subTasks: [],
    scratchpad: {},
    activeFiles: [],
  });
});
