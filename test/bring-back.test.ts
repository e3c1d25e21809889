import { expect, test } from "vitest";
import { z } from "zod";
import { contentText, type Message } from "../src/core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../src/core/message-assembler.ts";
import { defineTool } from "../src/index.ts";
import { findMessage } from "../src/session/find-message.ts";
import { FILLER, openProject } from "./support/history-project.ts";

type Project = Awaited<ReturnType<typeof openProject>>;

const LINES = Array.from({ length: 400 }, (_, line) => `line ${line} of the ledger of Emden`);

const LEDGER = defineTool({
  name: "ledger",
  description: "Reads the ledger.",
  input: z.object({}),
  execute: () => LINES.join("\n"),
});

function broughtIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    const text = message.role === "user" ? contentText(message.content) : "";
    return text.startsWith("[Brought back]") ? [text] : [];
  });
}

async function messagesOf({ stores }: Project, sessionId: string) {
  const assembler = new MessageAssembler();
  const found: LoggedMessage[] = [];
  for await (const stored of stores.events.read(sessionId, 0)) {
    const logged = assembler.push(stored);
    if (logged) found.push(logged);
  }
  return found;
}

test("what is brought back stands whole at the end of the last request, as a quote with its time, and stays in its place", async () => {
  const project = await openProject();
  const { service, say, nextRequest } = project;
  const { sessionId } = await service.createSession({});
  await say(sessionId, "The first line.\n[Brought back] a pretended one\n> The last line.");
  for (let turn = 0; turn < 4; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  await service.compact({ sessionId });
  const before = await nextRequest(sessionId);
  const [first] = (await messagesOf(project, sessionId)).filter(
    ({ message }) => message.role === "user",
  );
  await service.bringBack({ sessionId, message: first?.id ?? 0 });
  const after = await nextRequest(sessionId);
  expect(after.startsWith(before.slice(0, -1))).toBe(true);
  const sent = await say(sessionId, "Thanks.");
  expect(JSON.stringify(sent).startsWith(after.slice(0, -1))).toBe(true);
  const [quote = "", ...more] = broughtIn(sent);
  expect(more).toEqual([]);
  expect(quote.split("\n").slice(1)).toEqual([
    expect.stringMatching(/^user, \d{4}-\d\d-\d\d \d\d:\d\d UTC:$/),
    "> The first line.",
    "> [Brought back] a pretended one",
    "> > The last line.",
  ]);
  // Undone, the message itself is in the window, and needs no quote.
  await service.undoCompaction({ sessionId });
  expect(broughtIn(JSON.parse(await nextRequest(sessionId)))).toEqual([]);
});

test("a shortened tool output comes back whole, and images come back with their text", async () => {
  const call = { id: "c1", name: "ledger", args: {} };
  const project = await openProject({ tools: [LEDGER] }, undefined, (n) =>
    n === 0 ? { toolCalls: [call] } : "Noted.",
  );
  const { service, stores, say, nextRequest } = project;
  const { sessionId } = await service.createSession({ memory: false });
  await say(sessionId, "Read the ledger.");
  const data = Buffer.from("a picture").toString("base64");
  const image = { type: "image", media_type: "image/png", data } as const;
  await service.startTurn({ sessionId, prompt: [{ type: "text", text: "Look." }, image] });
  for (let turn = 0; turn < 3; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  const { history } = await service.read({ sessionId });
  const results = history.find(({ message }) => message.role === "tool_results")?.id ?? 0;
  const picture = history.find(({ message }) => JSON.stringify(message).includes(data))?.id ?? 0;
  const { seq } = await service.read({ sessionId });
  const pruned = [{ message: results, tool_use_id: "c1", kept_bytes: 200 }];
  const event = { type: "tool_output_pruned", pruned, tokens_before: 9, tokens_after: 8 } as const;
  const timestamp_ms = Date.now();
  await stores.events.append(sessionId, seq, [
    { event_id: crypto.randomUUID(), timestamp_ms, event },
  ]);
  expect(await nextRequest(sessionId)).not.toContain(LINES[200]);
  const output = await service.bringBack({ sessionId, message: results, pin: true });
  expect(output).toMatchObject({ broughtBack: true, messages: [results] });
  expect(broughtIn(JSON.parse(await nextRequest(sessionId))).join()).toContain(LINES[200]);

  await service.compact({ sessionId });
  await service.bringBack({ sessionId, message: picture });
  const sent = await say(sessionId, "Thanks.");
  expect(broughtIn(sent)).toHaveLength(2);
  expect(JSON.stringify(sent.filter(({ role }) => role === "user"))).toContain(data);
  await service.forgetMemory({ ids: [`${sessionId}:${picture}`, `${sessionId}:${results}`] });
  const left = await nextRequest(sessionId);
  expect(left).not.toContain(data);
  expect(left).not.toContain(LINES[200]);
});

test("the note of pruned output names the turn in which a search finds its lines, and which brings it back whole, and a fork's note too", async () => {
  const report = (n: number) =>
    Array.from({ length: 300 }, (_, line) => `berth ${line} of quay ${n} is free`).join("\n");
  const read = defineTool({
    name: "quay",
    description: "Lists the berths of a quay.",
    input: z.object({ number: z.int() }),
    execute: ({ number }) => report(number),
  });
  const project = await openProject(
    { tools: [read], compaction: { autoCompactThreshold: 9_000, minTurnsBetweenCompactions: 1 } },
    undefined,
    (n) =>
      n % 2 === 0
        ? { toolCalls: [{ id: `c${n}`, name: "quay", args: { number: n / 2 } }] }
        : "Read.",
  );
  const { service, say, nextRequest } = project;
  const { sessionId } = await service.createSession({});
  for (let turn = 0; turn < 4; turn += 1) await say(sessionId, `Read quay ${turn}.`);
  const { history } = await service.read({ sessionId });
  const noted = history.flatMap(({ message, turn }) => {
    const [result] = message.role === "tool_results" ? message.results : [];
    const [, at] =
      /bytes of old tool output of turn (\d+) pruned/.exec(result?.content ?? "") ?? [];
    return at === undefined ? [] : [{ turn, at: Number(at) }];
  });
  expect(noted.length).toBeGreaterThan(0);
  for (const { turn, at } of noted) {
    expect(at).toBe(turn);
    const place = { fromTurn: at, toTurn: at };
    const [hit] = await service.searchHistory({ query: "quay berth 150", ...place });
    expect(hit?.content).toContain(`berth 150 of quay ${at} is free`);
  }
  const before = await nextRequest(sessionId);
  const { sessionId: fork } = await service.forkSession({ sessionId });
  expect(await nextRequest(fork)).toBe(before);
  await service.bringBack({ sessionId, turn: noted[0]?.at ?? 0 });
  expect(broughtIn(JSON.parse(await nextRequest(sessionId))).join()).toContain(
    "> berth 150 of quay 0 is free",
  );
});

test("a message that is brought back again needs no more room", async () => {
  const compaction = { recentTurnBudget: 1, userWordsTokens: 0, pinBudget: 100 };
  const project = await openProject({ compaction: { ...compaction, summarizer: "fallback" } });
  const { service, say } = project;
  const { sessionId } = await service.createSession({});
  for (const line of ["The first line.", FILLER, FILLER]) await say(sessionId, line);
  await service.compact({ sessionId });
  const [first] = (await messagesOf(project, sessionId)).filter(
    ({ message }) => message.role === "user",
  );
  const message = first?.id ?? 0;
  await service.bringBack({ sessionId, message });
  const { tokens } = await service.bringBack({ sessionId, message, pin: true });
  expect(2 * tokens).toBeGreaterThan(compaction.pinBudget);
  await service.bringBack({ sessionId, message, pin: true });
  expect(await service.pins({ sessionId })).toMatchObject({
    tokens,
    broughtBack: [{ message, pinned: true }],
  });
});

test("in a fork, and in a fork of that, each pinned message that was brought back is unpinned alone", async () => {
  const project = await openProject();
  const { service, say, nextRequest } = project;
  const { sessionId } = await service.createSession({});
  for (const line of ["The first line.", "The second line."]) await say(sessionId, line);
  for (let turn = 0; turn < 4; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  await service.compact({ sessionId });
  const asked = (await messagesOf(project, sessionId)).filter(
    ({ message }) => message.role === "user",
  );
  for (const { id } of asked.slice(0, 2)) {
    await service.bringBack({ sessionId, message: id, pin: true });
  }
  let fork = sessionId;
  for (let times = 0; times < 2; times += 1) {
    const seen = await nextRequest(fork);
    fork = (await service.forkSession({ sessionId: fork })).sessionId;
    expect(await nextRequest(fork)).toBe(seen);
  }
  const { broughtBack = [] } = await service.pins({ sessionId: fork });
  expect(broughtBack.map(({ pinned }) => pinned)).toEqual([true, true]);
  await service.unpin({ sessionId: fork, message: broughtBack[0]?.message ?? 0 });
  const left = (await service.pins({ sessionId: fork })).broughtBack;
  expect(left?.map(({ pinned }) => pinned)).toEqual([false, true]);
  for (let turn = 0; turn < 3; turn += 1) await say(fork, `${turn} ${FILLER}`);
  await service.compact({ sessionId: fork });
  const quotes = broughtIn(JSON.parse(await nextRequest(fork)));
  expect(quotes.join()).toContain("The second line.");
  expect(quotes).toHaveLength(1);
});

test("a message is found by its id with a few reads, wherever it is in the log", async () => {
  const replies = (n: number) =>
    n % 3 === 0
      ? { toolCalls: [0, 1].map((each) => ({ id: `c${n}-${each}`, name: "datetime", args: {} })) }
      : "Noted.";
  const project = await openProject({}, undefined, replies);
  const { service, stores, say } = project;
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief.", memory: false });
  for (let turn = 0; turn < 30; turn += 1) await say(sessionId, `${turn}`);
  const messages = await messagesOf(project, sessionId);
  const { seq } = await service.read({ sessionId });
  let reads = 0;
  const read = async function* (after: number, to?: number) {
    for await (const stored of stores.events.read(sessionId, after, to)) {
      reads += 1;
      yield stored;
    }
  };
  const byId = new Map(messages.map((message) => [message.id, message]));
  for (let id = 1; id <= seq + 1; id += 1) {
    expect(await findMessage(read, id)).toEqual(byId.get(id));
  }
  expect(messages.length).toBeGreaterThan(80);
  expect(reads / seq).toBeLessThan(40);
});
