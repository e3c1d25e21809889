import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import { newId } from "../src/core/ids.ts";
import { Outages } from "../src/core/warn.ts";
import { createSessionService, ephemeralStores, type SessionService } from "../src/index.ts";
import { ProjectionRunner } from "../src/projections/projection-runner.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { Project } from "./support/rkat-process.ts";
import { overJsonRpc, overMcp, overRest } from "./support/surfaces.ts";

/** Stores whose memory takes no more entries until `open` is called. */
function gated() {
  const stores = ephemeralStores();
  const { memory } = stores;
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const add: typeof memory.add = async (entries, log) => {
    // What is added by hand waits for nothing.
    if (entries.some(({ sessionId }) => sessionId !== "added")) await gate;
    return await memory.add(entries, log);
  };
  return { stores: { ...stores, memory: overMemory(memory, { add }) }, open };
}

function overMemory<Memory extends object>(memory: Memory, methods: Partial<Memory>): Memory {
  return new Proxy(memory, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

function at(event: NewEvent["event"]): NewEvent {
  return { event_id: newId(), timestamp_ms: Date.now() - 60_000, event };
}

const SAID: readonly NewEvent[] = [
  at({
    type: "session_created",
    session_id: "s",
    settings: { model: "m", memory: true, knowledge: true, labels: {} },
  }),
  at({ type: "run_started", session_id: "s", prompt: "The staging server listens on port 4310." }),
];

/** More than a search waits for. */
const MUCH: readonly NewEvent[] = [
  ...SAID,
  ...Array.from({ length: 250 }, () => at({ type: "run_started", session_id: "s", prompt: "On." })),
];

const ASKED = { query: "the port of the staging server" };

// Over a second, because it waits as long as a search waits for memory.
test("a search answers with what is there, and says on every surface what memory lacks", async () => {
  const { stores, open } = gated();
  onTestFinished(open);
  await stores.events.append("s", 0, MUCH);
  const service = createSessionService({ model: scriptedModel([]), stores });
  await service.addMemory({ content: "The staging server is in Berlin." });
  const opened = { service, close: async () => {} };
  const surfaces: Readonly<Record<string, SessionService>> = {
    sdk: service,
    rpc: overJsonRpc(opened),
    rest: await overRest(opened),
    mcp: await overMcp(opened, "modern"),
    "earlier mcp": await overMcp(opened, "legacy"),
  };
  const expected = { events: MUCH.length, seconds: expect.any(Number) };
  for (const [name, surface] of Object.entries(surfaces)) {
    const hits = await surface.searchMemory(ASKED);
    expect(hits.behind, name).toEqual(expected);
    expect(hits.behind?.seconds, name).toBeGreaterThanOrEqual(60);
    expect(
      hits.map(({ content }) => content),
      name,
    ).toEqual(["The staging server is in Berlin."]);
    expect((await surface.memoryStats({})).behind, name).toEqual(expected);
  }
  open();
  await expect.poll(async () => (await service.searchMemory(ASKED)).behind).toBeUndefined();
  for (const [name, surface] of Object.entries(surfaces)) {
    const hits = await surface.searchMemory(ASKED);
    expect(hits.behind, name).toBeUndefined();
    expect(
      hits.map(({ content }) => content),
      name,
    ).toContain("The staging server listens on port 4310.");
  }
});

// Over a second, for the same reason.
test("lists answer with what is there, and a note can be edited", async () => {
  const { stores, open } = gated();
  onTestFinished(open);
  await stores.events.append("s", 0, MUCH);
  const service = createSessionService({ model: scriptedModel([]), stores, approvals: {} });
  const { id } = await service.addMemory({ content: "The staging server is in Berlin." });
  expect((await service.listMemory({})).map((entry) => entry.id)).toEqual([id]);
  expect(await service.listKnowledge({})).toEqual([]);
  expect(await service.listApprovals({})).toEqual([]);
  const edited = await service.editMemory({ id, content: "The staging server is in Bonn." });
  expect(edited.content).toBe("The staging server is in Bonn.");
});

test("a turn does not wait for a memory that is far behind", async () => {
  const { stores, open } = gated();
  onTestFinished(open);
  const service = createSessionService({
    model: scriptedModel(["It is up."]),
    stores,
    recallFrom: "project",
  });
  await stores.events.append("s", 0, MUCH);
  const { sessionId } = await service.createSession({ memory: true });
  const first = await service.startTurn({ sessionId, prompt: "Is the staging server up?" });
  expect(first.text).toBe("It is up.");
});

test("the command says in a line that memory is behind", async () => {
  const project = await Project.open();
  await project.rkat(["memory", "add", "The staging server is in Berlin."]);
  const path = `${project.folder}/.rkat/rkat.db`;
  const stores = sqliteStores({ path });
  await stores.events.append("s", 0, SAID);
  await stores.close();
  const database = new DatabaseSync(path);
  database.exec(
    "CREATE TRIGGER full BEFORE INSERT ON memory_entry BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  database.close();
  const BEHIND = /Memory is behind: it lacks the last 2 events of the log/;
  const { stdout, stderr } = await project.rkat(["memory", "search", "staging server"]);
  expect(stdout).toContain("in Berlin");
  expect(stderr).toMatch(BEHIND);
  const forget = ["memory", "forget", "--query", "staging port", "--yes"];
  const forgotten = await project.rkat(forget);
  expect(forgotten.stderr).toMatch(/Nothing was forgotten/);
  expect(forgotten.stderr).toMatch(BEHIND);
});

test("a process that closes does not fill memory for minutes, and says what is left", async () => {
  const { events } = ephemeralStores();
  await events.append("s", 0, [...SAID, ...SAID.slice(1), ...SAID.slice(1)]);
  let position = 0;
  const slow = {
    name: "slow",
    position: async () => position,
    apply: async (batch: readonly { readonly position: number }[]) => {
      await sleep(30);
      position = batch.at(-1)?.position ?? position;
    },
  };
  const told: unknown[] = [];
  const outages = new Outages((error) => told.push(error));
  const limits = { batch: 1, closeMs: 10, readerCloseMs: 10 };
  await new ProjectionRunner(events, [slow], outages, limits).close();
  expect(told).toEqual([]);
  const writer = new ProjectionRunner(events, [slow], outages, limits);
  writer.wake();
  await writer.close();
  expect(position).toBeLessThan(4);
  expect(told).toEqual([
    expect.stringMatching(/^Memory, and what else .* lacks what was said since/),
  ]);
  const next = new ProjectionRunner(events, [slow], outages);
  next.wake();
  await next.close();
  expect(position).toBe(4);
  expect(told).toHaveLength(1);
});

test("a projection that never yields to a timer ends in time too, and sooner where nothing was appended", async () => {
  const { events } = ephemeralStores();
  await events.append("s", 0, Array(20).fill(SAID[0]));
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const run = async (ending: (runner: ProjectionRunner) => void) => {
    let position = 0;
    const busy = {
      name: "busy",
      position: async () => position,
      apply: async (batch: readonly { readonly position: number }[]) => {
        vi.advanceTimersByTime(1000);
        position = batch.at(-1)?.position ?? position;
      },
    };
    const limits = { batch: 1, closeMs: 10_000, readerCloseMs: 1000 };
    const runner = new ProjectionRunner(events, [busy], new Outages(() => {}), limits);
    ending(runner);
    await runner.close();
    return position;
  };
  expect(await run((runner) => runner.catchUp())).toBe(1);
  expect(await run((runner) => runner.wake())).toBe(10);
});
