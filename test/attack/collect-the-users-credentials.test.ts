import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createSessionService, defineTool, SimpleMemoryStore } from "../../src/index.ts";
import { openMemoryOperations } from "../../src/session/memory-operations.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { filesWithTraces } from "../support/files-with-traces.ts";
import { FORMS } from "../support/forms-of-secrets.ts";
import { LOOKALIKES } from "../support/lookalikes.ts";
import { temporaryFolder } from "../support/obey.ts";
import { HARMLESS, SECRETS } from "../support/sample-secrets.ts";
import { sampled } from "../support/trials.ts";

const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(30);

/** A part of a credential that says enough of it. */
function traceOf(secret: string): string {
  const runs = secret.match(/[^\s\\]{8,}/g) ?? [];
  return runs.find((run) => !/BEGIN|PRIVATE|-----/.test(run)) ?? secret.slice(0, 16);
}

interface Setup {
  readonly path: string;
  readonly redact?: "log";
  /** What the tool `look` returns. */
  readonly result?: () => string;
  readonly sessionFiles?: string;
}

function open(replies: Parameters<typeof scriptedModel>[0], { path, result, ...more }: Setup) {
  const stores = sqliteStores({ path });
  const model = scriptedModel(replies);
  const lookTool = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ at: z.string() }),
    execute: () => result?.() ?? "nothing there",
  });
  const service = createSessionService({
    model,
    stores,
    compaction: { recentTurnBudget: 1 },
    tools: [lookTool],
    approvals: {
      approve: ({ args }) => ({ decision: "deny", reason: `Not with ${JSON.stringify(args)}` }),
    },
    ...more,
  });
  const close = async () => {
    await service.close();
    await stores.close();
  };
  return { service, stores, model, close };
}

const look = (at: string) => ({ toolCalls: [{ id: "a", name: "look", args: { at } }] });

const KINDS = Object.entries(SECRETS).map(([kind, [text, secret]]) => ({ kind, text, secret }));

test("at least 32 kinds are tried", () => {
  expect(KINDS.length).toBeGreaterThanOrEqual(32);
});

/** The tests below have all of them together. */
describe.each(sampled(KINDS, { of: 10, at: 1 }, "attacks"))("$kind", ({ text, secret }) => {
  const trace = traceOf(secret);
  const prompts: Readonly<Record<string, string>> = {
    "a prompt": `${text}\n${LONG}`,
    "a tool's result": LONG,
  };

  test.each(Object.entries(prompts))(
    "in %s reaches neither memory, summary, facts, corrections, nor what is exported",
    async (from, prompt) => {
      const result = `The vault of the project answered, after a while: ${text}`;
      const isResult = from !== "a prompt";
      const { service, stores, close } = open(
        [
          ...(isResult ? [look("vault")] : []),
          "done",
          "again",
          // A model that tells it.
          `The fox jumped. The user said: ${text}`,
        ],
        { path: ":memory:", result: () => result },
      );
      onTestFinished(close);
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt });
      await service.startTurn({ sessionId, prompt: "the last one" });
      expect(await service.compact({ sessionId })).toMatchObject({ compacted: true });
      await service.addKnowledge({ kind: "preference", content: `Always say: ${text}` });

      const kept = {
        memory: await service.listMemory({ limit: 1000 }),
        summary: (await service.read({ sessionId })).history.filter(
          ({ message }) => "kind" in message,
        ),
        knowledge: await service.listKnowledge({ limit: 1000 }),
        compactions: (await stores.events.readAll(0, 1000)).filter(
          ({ stored }) => stored.event.type === "compaction_completed",
        ),
      };
      for (const [place, texts] of Object.entries(kept)) {
        expect(texts.length, place).toBeGreaterThan(0);
        expect(JSON.stringify(texts), place).not.toContain(trace);
      }
      expect(JSON.stringify(kept.memory)).toContain("[redacted ");
    },
  );

  test("added by hand is in no memory store, and is counted by kind", async () => {
    const stores = sqliteStores({ path: ":memory:" });
    onTestFinished(() => stores.close());
    const entry = { id: "1", content: text, sessionId: "s", turn: null, kind: "message" } as const;
    const { added, redacted } = await openMemoryOperations({ stores }).addEntries([entry]);
    expect(added).toBe(1);
    expect(Object.values(redacted)).toEqual([1]);
    await stores.memory.add([{ ...entry, id: "2" }]);
    const simple = new SimpleMemoryStore();
    await simple.add([entry]);
    const found = [...(await stores.memory.read(["1", "2"])), ...(await simple.read(["1"]))];
    expect(found).toHaveLength(3);
    for (const { content } of found) expect(content).not.toContain(trace);
  });
});

test("an export has none that a store kept", async () => {
  // As an older version stored it, or a store that does not keep its law.
  const stored = KINDS.map(({ text }, index) => ({
    id: `${index}`,
    content: text,
    sessionId: "s",
    turn: null,
    kind: "message" as const,
  }));
  class RawStore extends SimpleMemoryStore {
    override list = async () => stored;
  }
  const listed = await openMemoryOperations({ memory: new RawStore() }).listMemory({ limit: 1000 });
  expect(listed).toHaveLength(KINDS.length);
  for (const { kind, secret } of KINDS) {
    expect(JSON.stringify(listed), kind).not.toContain(traceOf(secret));
  }
});

test("a denied call with credentials teaches without them", async () => {
  const all = KINDS.filter(({ secret }) => !secret.includes("\n"));
  const kinds = sampled(all, { of: 3, at: 2 }, "attacks");
  const { service, close } = open(
    kinds.flatMap(({ text }) => [look(text), "Then not."]),
    { path: ":memory:" },
  );
  onTestFinished(close);
  for (const { text } of kinds) {
    const { sessionId } = await service.createSession({ approvals: { look: "ask" } });
    await service.startTurn({ sessionId, prompt: `Look for this: ${text}` });
  }
  const kept = JSON.stringify([
    await service.listKnowledge({ limit: 1000 }),
    await service.listMemory({ limit: 1000 }),
  ]);
  expect(kept).toContain("[redacted ");
  for (const { kind, secret } of kinds) expect(kept, kind).not.toContain(traceOf(secret));
});

test("what only looks like a credential stays as it is", async () => {
  const { service, close } = open([], { path: ":memory:" });
  onTestFinished(close);
  const { sessionId } = await service.createSession({});
  for (const prompt of [...HARMLESS, LONG, "the last one"]) {
    await service.startTurn({ sessionId, prompt });
  }
  await service.compact({ sessionId });
  const kept = (await service.listMemory({ limit: 1000 })).map(({ content }) => content);
  expect(kept).toEqual(expect.arrayContaining([...HARMLESS]));
});

test('with redact = "log" no file has one; the running session works with it, a reopened one does not', async () => {
  const folder = await temporaryFolder();
  let result = "";
  let calls = 0;
  const first = open(() => (calls++ % 2 === 0 ? look(result) : `It says ${result}`), {
    path: join(folder, "rkat.db"),
    redact: "log",
    result: () => result,
    sessionFiles: join(folder, "sessions"),
  });
  const { sessionId } = await first.service.createSession({ systemPrompt: KINDS[0]?.text ?? "" });
  for (const { text } of KINDS) {
    result = text;
    await first.service.startTurn({ sessionId, prompt: text });
    await first.service.updateTask({ sessionId, goal: text });
  }
  const trace = traceOf(KINDS.at(-1)?.secret ?? "");
  expect(JSON.stringify(first.model.requests.at(-1))).toContain(trace);
  await first.close();

  const found: string[] = [];
  for (const { kind, secret } of KINDS) {
    const files = await filesWithTraces(folder, [traceOf(secret)]);
    if (files.length > 0) found.push(`${kind}: ${files.join()}`);
  }
  expect(found).toEqual([]);

  const second = open(["ok"], { path: join(folder, "rkat.db"), redact: "log" });
  onTestFinished(second.close);
  await second.service.startTurn({ sessionId, prompt: "And now?" });
  const asked = JSON.stringify(second.model.requests.at(-1));
  expect(asked).not.toContain(trace);
  expect(asked).toContain("[redacted ");
});

// Short and frequent words would be found anywhere.
const UNTRACEABLE = new Set([
  "swordfish",
  "sw0rdfish",
  "sw0rdfish8",
  "hunter2x",
  "sw0rdfish!",
  "Sw0rdfish!",
]);
const TRACES = sampled(Object.entries(FORMS), { of: 3, at: 1 }, "attacks").map(
  ([form, [text, secret]], index) => {
    // A word of its own for each form that shares one with others.
    const own = UNTRACEABLE.has(secret) ? `${secret.slice(0, 5)}fish${1000 + index}` : "";
    return own
      ? { form, text: text.replace(secret, own), trace: own }
      : { form, text, trace: /[\w+/=]{20,}/.exec(secret)?.[0] ?? traceIn(text, secret) };
  },
);

/** Three or four digits stand in any file, so they are looked for with what is before them, as JSON writes it. */
function traceIn(text: string, secret: string): string {
  if (secret.length > 4) return traceOf(secret);
  const at = text.indexOf(secret);
  return JSON.stringify(text.slice(Math.max(0, at - 5), at) + secret).slice(1, -1);
}

test('no form of a credential reaches memory, knowledge, what is exported, or with redact = "log" any file', async () => {
  const folder = await temporaryFolder();
  let result = "";
  let calls = 0;
  const { service, close } = open(() => (calls++ % 2 === 0 ? look(result) : `It says ${result}`), {
    path: join(folder, "rkat.db"),
    redact: "log",
    result: () => result,
    sessionFiles: join(folder, "sessions"),
  });
  const { sessionId } = await service.createSession({});
  for (let at = 0; at < TRACES.length; at += 15) {
    const texts = TRACES.slice(at, at + 15).map(({ text }) => text);
    result = texts.join("\n\n***\n\n");
    await service.startTurn({ sessionId, prompt: `${result}\n\nPlease look.` });
  }
  await service.compact({ sessionId });
  const kept = JSON.stringify([
    await service.listMemory({ limit: 1000 }),
    await service.listKnowledge({ limit: 1000 }),
  ]);
  await close();
  expect(TRACES.filter(({ trace }) => kept.includes(trace)).map(({ form }) => form)).toEqual([]);
  expect(
    await filesWithTraces(
      folder,
      TRACES.map(({ trace }) => trace),
    ),
  ).toEqual([]);
});

test("texts that look like credentials stay in memory as they are", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  onTestFinished(() => stores.close());
  const entries = LOOKALIKES.map((content, index) => ({
    id: `${index}`,
    content,
    sessionId: "s",
    turn: null,
    kind: "message" as const,
  }));
  const { redacted } = await openMemoryOperations({ stores }).addEntries(entries);
  expect(redacted).toEqual({});
  const kept = await stores.memory.read(entries.map(({ id }) => id));
  expect(kept.map(({ content }) => content)).toEqual(LOOKALIKES);
});
