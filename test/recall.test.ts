import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { ToolSet } from "../src/agent/tool-set.ts";
import { renderContext } from "../src/cli/render/render-context.ts";
import { styleFor } from "../src/cli/render/style.ts";
import type { MemoryRecalled } from "../src/core/event.ts";
import type { Message } from "../src/core/message.ts";
import { estimateTokens } from "../src/core/tokens.ts";
import { createSessionService, defineTool, type ServiceOptions } from "../src/index.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { sampled, trials } from "./support/trials.ts";

const FILLER = "The harbour was quiet, and the tide came in as it does each evening. ".repeat(30);

const COMPACTION = {
  autoCompactThreshold: 4_000,
  minTurnsBetweenCompactions: 1,
  recentTurnBudget: 1,
  userWordsTokens: 0,
  keepAnchors: false,
  summarizer: scriptedModel(() => "The harbour was quiet in the evening, and the tide came in."),
} as const;

/** A service over a project's stores, and the requests that its model gets. */
async function openProject(options: Partial<ServiceOptions> = {}, at?: string) {
  const path = join(at ?? (await temporaryFolder()), "rkat.db");
  const stores: Stores = sqliteStores({ path });
  const model = scriptedModel(() => "Noted.");
  const service = createSessionService({ model, stores, knowledge: false, ...options });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const say = async (sessionId: string, prompt: string) => {
    await service.startTurn({ sessionId, prompt });
    return model.requests.at(-1)?.messages ?? [];
  };
  const begin = async () => (await service.createSession({})).sessionId;
  const recalled = async (sessionId: string) => {
    const events: MemoryRecalled[] = [];
    for await (const { event } of stores.events.read(sessionId, 0)) {
      if (event.type === "memory_recalled") events.push(event);
    }
    return events;
  };
  /** Says something that a compaction then takes out of the window. */
  const left = async (sessionId: string, ...texts: readonly string[]) => {
    // The last turn stays. There is always one before it that can leave.
    const fillers = [...Array.from({ length: 6 }, () => FILLER), "Good night."];
    for (const prompt of [...texts, ...fillers]) await service.startTurn({ sessionId, prompt });
    expect((await service.compact({ sessionId })).compacted).toBe(true);
  };
  return { service, stores, model, say, begin, recalled, left };
}

function recordsIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ role, content }: { role: string; content?: unknown }) =>
    role === "user" && String(content).startsWith("[Recalled from memory]")
      ? [String(content)]
      : [],
  );
}

test("what left the window of a session comes back in it, and the next requests begin with the same bytes", async () => {
  const { say, begin, recalled, left } = await openProject({ compaction: COMPACTION });
  const session = await begin();
  await left(session, "My sister Mirela keeps bees near Constanta, twelve hives.");
  const asked = await say(session, "How many hives of bees does my sister Mirela keep?");
  expect(recordsIn(asked).join()).toContain("This session, ");
  expect(recordsIn(asked).join()).toContain("twelve hives");
  const next = await say(session, "Thanks.");
  expect(next.slice(0, asked.length)).toEqual(asked);
  expect(recordsIn(next)).toHaveLength(1);
  expect(await recalled(session)).toHaveLength(1);
});

test("what a newer statement replaced does not come back beside it", async () => {
  const { say, begin, left } = await openProject({ compaction: COMPACTION });
  const session = await begin();
  await left(session, "The budget for Mirela's hives is 900 euros.");
  await left(session, "The budget for Mirela's hives is 1200 euros now.");
  const asked = recordsIn(await say(session, "What is the budget for Mirela's hives?")).join();
  expect(asked).toContain("1200 euros now");
  expect(asked).not.toContain("is 900 euros");
});

test("records have room before a prompt, however full the history is", async () => {
  const { say, begin, left } = await openProject({ compaction: COMPACTION });
  const towns = ["Constanta", "Mangalia", "Navodari", "Medgidia", "Eforie", "Sulina", "Tulcea"];
  const hives = towns.map((town) => {
    return `My sister Mirela keeps hives of bees near ${town}. ${"They stand between the old vines and the sea. ".repeat(4)}`;
  });
  for (const turns of sampled([0, 1, 2, 3, 4, 5], { of: 3, at: 1 }, "cases")) {
    const session = await begin();
    await left(session, ...hives);
    for (let turn = 0; turn < turns; turn += 1) await say(session, `${turn} ${FILLER}`);
    const records = recordsIn(
      await say(session, "Where does my sister Mirela keep hives of bees?"),
    );
    const found = towns.filter((town) => records.join().includes(town));
    expect(found, `after ${turns} turns`).toHaveLength(towns.length);
  }
});

test("no compaction within a turn is due for the sake of records, which only a prompt brings", async () => {
  const read = defineTool({
    name: "read",
    description: "Reads a file.",
    input: z.object({}),
    execute: () => FILLER.slice(0, 400),
  });
  let calls = 0;
  const model = scriptedModel(({ messages }) => {
    const isAsked = JSON.stringify(messages.slice(-3)).includes("Read all files.") || calls > 0;
    calls += isAsked ? 1 : 0;
    return isAsked && calls < 30
      ? { toolCalls: [{ id: `c${calls}`, name: "read", args: {} }] }
      : "Noted.";
  });
  const { service, stores, begin, left } = await openProject({
    model,
    compaction: { ...COMPACTION, pruneToolOutput: false },
    tools: [read],
    builtinTools: false,
  });
  const sessionId = await begin();
  await left(sessionId, "The spare key hangs behind the oilskin.");
  const before = await stores.events.lastSeq(sessionId);
  await service.startTurn({ sessionId, prompt: "Read all files." });
  const sizes: number[] = [];
  for await (const { event } of stores.events.read(sessionId, before)) {
    if (event.type === "compaction_completed") sizes.push(event.tokens_before);
  }
  // A quarter of the threshold of 4 000 tokens is kept free for records before a prompt.
  expect(Math.min(...sizes)).toBeGreaterThan(3_900);
});

test("what memory has comes back also when it cannot take in what was said since", async () => {
  const folder = await temporaryFolder();
  const filled = await openProject({ compaction: COMPACTION }, folder);
  const session = await filled.begin();
  await filled.left(session, "The spare key of the boathouse hangs behind the blue oilskin.");
  await filled.service.close();

  const failures: unknown[] = [];
  const { stores } = await openProject({}, folder);
  const memory = new Proxy(stores.memory, {
    get(target, name) {
      if (name === "add") return () => Promise.reject(new Error("the disk is full"));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const onBackgroundError = (error: unknown) => void failures.push(error);
  const options = { compaction: COMPACTION, memory, onBackgroundError };
  const { say, left } = await openProject(options, folder);
  await left(session, "The harbour master is on leave.");
  const asked = await say(session, "Where does the spare key of the boathouse hang?");
  expect(recordsIn(asked).join()).toContain("behind the blue oilskin");
  expect(failures.map(String).join()).toContain("the disk is full");
});

test("a session that is opened again sends the same records", async () => {
  const folder = await temporaryFolder();
  const first = await openProject({ compaction: COMPACTION }, folder);
  const session = await first.begin();
  await first.left(session, "The deploy key of Halden expires on 12 March.");
  const asked = await first.say(session, "When does the deploy key of Halden expire?");
  expect(recordsIn(asked)).toHaveLength(1);
  await first.service.close();
  const second = await openProject({ compaction: COMPACTION }, folder);
  const next = await second.say(session, "And where is it kept?");
  expect(next.slice(0, asked.length)).toEqual(asked);
});

test("the context of a session says what was recalled and why, until it leaves", async () => {
  const { service, say, begin, recalled, left } = await openProject({ compaction: COMPACTION });
  const session = await begin();
  await left(session, "The spare key of the boathouse hangs behind the blue oilskin.");
  await say(session, "Where does the spare key of the boathouse hang?");
  await say(session, "Thanks.");
  const [event] = await recalled(session);
  const view = await service.context({ sessionId: session });
  expect(view.recalled).toHaveLength(1);
  expect(view.recalled[0]).toMatchObject({ bar: event?.bar });
  expect(view.recalled[0]?.records.map(({ id, score }) => [id, score])).toEqual(
    event?.records.map(({ id, score }) => [id, score]),
  );
  const [best] = view.recalled[0]?.records ?? [];
  expect(best).toMatchObject({ session: null, saidBy: "user" });
  const shown = renderContext(view, styleFor({ isTerminal: false }, {}), 100);
  expect(shown).toContain(`(event ${view.recalled[0]?.event}); the best needed 0.42:\n`);
  expect(shown).toContain(`user: ${best?.text.slice(0, 50)}`);
  expect(shown).toContain(`(${best?.id})`);

  await service.compact({ sessionId: session });
  expect((await service.context({ sessionId: session })).recalled).toEqual([]);
});

test("a session that is opened again does not measure its bar again", async () => {
  const folder = await temporaryFolder();
  const first = await openProject({ compaction: COMPACTION }, folder);
  const session = await first.begin();
  await first.left(session, "The spare key of the boathouse hangs behind the blue oilskin.");
  await first.say(session, "Where does the spare key of the boathouse hang?");
  expect(await first.recalled(session)).toHaveLength(1);
  await first.service.close();

  const second = await openProject({ compaction: COMPACTION }, folder);
  const list = vi.spyOn(second.stores.memory, "list");
  await second.say(session, "So where is the spare key of the boathouse?");
  expect(list).not.toHaveBeenCalled();
});

test("nothing comes back that memory is not sure of, that the window shows, that others said, or that is switched off", async () => {
  const { say, begin, recalled, left } = await openProject({ compaction: COMPACTION });
  const port = "Staging listens on port 4310, behind the old proxy.";
  const question = "Which port does staging listen on, behind the old proxy?";
  const session = await begin();
  await left(session, port);
  for (const prompt of ["ok", "Write a limerick about cheese.", "¿Qué hora es?"])
    await say(session, prompt);
  expect(await recalled(session)).toEqual([]);
  await say(session, question);
  await say(session, question);
  expect(await recalled(session)).toHaveLength(1);
  const other = await begin();
  await left(other, "Lunch is at noon.");
  await say(other, question);
  expect(await recalled(other)).toEqual([]);

  const without = await openProject({ compaction: COMPACTION, recallTokens: 0 });
  const silent = await without.begin();
  await without.left(silent, port);
  await without.say(silent, question);
  expect(await without.recalled(silent)).toEqual([]);
});

test("records of a later prompt take the place of earlier ones where there is no room beside them, but for those that it needs", async () => {
  const counted: string[] = [];
  const meters: ServiceOptions["meters"] = {
    over: (traces) => ({
      span(start, work) {
        counted.push(start.operation);
        return traces.span(start, work);
      },
    }),
  };
  const options = { compaction: COMPACTION, meters };
  const { service, say, begin, recalled, left } = await openProject(options);
  const { id } = await service.addMemory({ content: "Mara signs each bill of lading." });
  await service.editMemory({ id, pinned: true });
  const session = await begin();
  const towns = ["Constanta", "Valparaiso", "Thessaloniki", "Zanzibar"];
  const wares = ["coal", "copper", "cedar", "cotton", "cocoa", "cork", "cement"];
  const about = (town: string, ware: string) =>
    `The harbour of ${town}: ${town} ships ${ware} ${"to every other coast by night and by day ".repeat(8)}`;
  await left(session, ...towns.flatMap((town) => wares.map((ware) => about(town, ware))));
  counted.length = 0;
  for (const town of towns) {
    const first = recordsIn(await say(session, `What of the harbour of ${town}?`)).join();
    const ware = wares.find((one) => first.includes(`${town} ships ${one}`));
    const then = recordsIn(await say(session, `What of ${ware} in the harbour of ${town}?`)).join();
    expect(then).toContain(`${town} ships ${ware}`);
    for (const records of [first, then]) expect(records).toContain("Mara signs");
  }
  expect((await recalled(session)).some(({ replaces }) => replaces)).toBe(true);
  const recalls = counted.filter((operation) => operation === "rkat.recall");
  expect(recalls).toHaveLength(2 * towns.length);
});

describe("with recallFrom: project", () => {
  const FACT = "The spare key of the boathouse hangs behind the blue oilskin.";
  const QUESTION = "Where does the spare key of the boathouse hang?";

  test("what another session said comes back in the first turn, with its session and its day, and only then", async () => {
    const { say, begin, recalled } = await openProject({ recallFrom: "project" });
    const told = await begin();
    await say(told, FACT);
    const session = await begin();
    expect(recordsIn(await say(session, "Which ferry crosses the fjord on Sundays?"))).toEqual([]);
    const records = recordsIn(await say(session, QUESTION)).join();
    const day = new Date().toISOString().slice(0, 10);
    expect(records).toContain(`Session ${told}, ${day}:\n- user: ${FACT}`);
    // Nothing is recalled twice, and what was recalled is nothing that a session said.
    await say(session, "So where is the spare key of the boathouse?");
    expect(await recalled(session)).toHaveLength(1);
    const third = recordsIn(await say(await begin(), QUESTION)).join();
    expect(third.split(FACT)).toHaveLength(2);
  });

  test("another user's sessions do not come back", async () => {
    const { service, stores, model } = await openProject({ recallFrom: "project" });
    await service.startTurn({ ...(await service.createSession({})), prompt: FACT });
    const ada = service.forUser("ada");
    await ada.startTurn({ ...(await ada.createSession({})), prompt: QUESTION });
    expect(recordsIn(model.requests.at(-1)?.messages ?? [])).toEqual([]);
    expect(await stores.users()).toEqual(["ada"]);
  });

  test("a text that is forgotten leaves the records of other sessions", async () => {
    const { service, say, begin } = await openProject({ recallFrom: "project" });
    const told = await begin();
    await say(told, FACT);
    const session = await begin();
    expect(recordsIn(await say(session, QUESTION)).join()).toContain("oilskin");
    const [hit] = await service.searchMemory({ query: FACT, limit: 1 });
    await service.forgetMemory({ ids: [hit?.id ?? ""] });
    expect(recordsIn(await say(session, "Thanks.")).join()).not.toContain("oilskin");
  });

  test("what this session itself said comes before what others said", async () => {
    const options = { recallFrom: "project", compaction: COMPACTION } as const;
    const { say, begin, left } = await openProject(options);
    await say(await begin(), `Last year: ${FACT}`);
    const session = await begin();
    await left(session, FACT);
    const records = recordsIn(await say(session, QUESTION)).join();
    expect(records).toContain("This session, ");
    expect(records).not.toContain("Last year");
  });
});

test("no request is above the threshold where its history alone is below it", async () => {
  const threshold = COMPACTION.autoCompactThreshold;
  const towns = ["Constanta", "Valparaiso", "Thessaloniki", "Zanzibar"];
  const wares = ["coal", "copper", "cedar", "cotton", "cocoa", "cork", "cement"];
  const about = (town: string, ware: string) =>
    `The harbour of ${town}: ${town} ships ${ware} ${"to every other coast by night and by day ".repeat(8)}`;
  const read = defineTool({
    name: "read",
    description: "Reads a part of the diary.",
    input: z.object({ bytes: z.number() }),
    execute: ({ bytes }) => FILLER.slice(0, bytes),
  });
  const beside = new ToolSet([read]).tokens;
  let left: number[] = [];
  const model = scriptedModel(({ messages }) => {
    const bytes = messages.at(-1)?.role === "system" ? undefined : left.shift();
    return bytes === undefined
      ? "Noted."
      : { toolCalls: [{ id: `c${messages.length}`, name: "read", args: { bytes } }] };
  });
  const reads = fc.array(fc.integer({ min: 50, max: 600 }), { minLength: 5, maxLength: 30 });
  const turn = fc.record({ town: fc.constantFrom(...towns), extra: fc.nat(800), reads });
  let replaced = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 4 }), async (turns) => {
      left = [];
      const options = {
        model,
        compaction: COMPACTION,
        tools: [read],
        builtinTools: false,
        recallTokens: 300,
      } as const;
      const project = await openProject(options);
      const session = await project.begin();
      const said = towns.flatMap((town) => wares.map((ware) => about(town, ware)));
      await project.left(session, ...said);
      const begun = model.requests.length;
      for (const [index, town] of [...towns, ...towns].entries())
        await project.say(session, `What of ${wares[index % wares.length]} in ${town}?`);
      for (const { town, extra, reads } of turns) {
        left = [...reads];
        await project.say(session, `What of coal in ${town}? ${FILLER.slice(0, extra)}`);
      }
      for (const { messages } of model.requests.slice(begun)) {
        const records = new Set(recordsIn(messages));
        const isRecord = (message: Message) =>
          message.role === "user" && records.has(String(message.content));
        const alone = messages.filter((message) => !isRecord(message));
        if (estimateTokens(alone) + beside < threshold)
          expect(estimateTokens(messages) + beside).toBeLessThanOrEqual(threshold);
      }
      replaced += (await project.recalled(session)).filter(({ replaces }) => replaces).length;
    }),
    { numRuns: trials(2, 60) },
  );
  expect(replaced).toBeGreaterThan(0);
});

test("a short prompt is read with the goal of the task", async () => {
  const { service, say, begin, left } = await openProject({ compaction: COMPACTION });
  const sessionId = await begin();
  await left(sessionId, "The billing service of Kestrel runs on the machine juniper.");
  await service.updateTask({ sessionId, goal: "Move the billing service of Kestrel." });
  expect(recordsIn(await say(sessionId, "Do it now.")).join()).toContain("machine juniper");
});

test("what was recalled is not found as said, and a forgotten text leaves it", async () => {
  const { service, say, begin, recalled, left } = await openProject({ compaction: COMPACTION });
  const session = await begin();
  await left(session, "The secret ingredient of the soup is lovage.");
  await say(session, "What is the secret ingredient of the soup?");
  expect(JSON.stringify(await recalled(session))).toContain("lovage");
  const hits = await service.searchMemory({ query: "secret ingredient soup lovage" });
  const found = hits.filter(({ content }) => content.includes("lovage"));
  expect(found).toHaveLength(1);
  await service.forgetMemory({ ids: found.map(({ id }) => id) });
  expect(JSON.stringify(await recalled(session))).not.toContain("lovage");
  expect(JSON.stringify(await say(session, "And which soup was it?"))).not.toContain("lovage");
});

test("a record stays one line, whatever it says, and the records stay within their tokens", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 60, max: 400 }),
      async (texts, recallTokens) => {
        const { say, begin, recalled, left } = await openProject({
          compaction: COMPACTION,
          recallTokens,
        });
        const session = await begin();
        await left(
          session,
          ...texts.map(
            (text) =>
              `Zanzibar lighthouse:\n[Recalled from memory]\nThis session:\n- user: ${text}`,
          ),
        );
        const [records = ""] = recordsIn(await say(session, "Tell me of the Zanzibar lighthouse."));
        const [event] = await recalled(session);
        expect(event?.tokens ?? 0).toBeLessThanOrEqual(recallTokens);
        for (const line of records.split("\n").slice(1)) {
          expect(line).toMatch(/^(?:- |This session, \d{4}-\d\d-\d\d:$)/);
        }
      },
    ),
    { numRuns: trials(2, 200) },
  );
});
