import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { EventEnvelope, SessionEvent } from "../../src/core/event.ts";
import { type Capability, SessionError, type SessionService } from "../../src/index.ts";
import { BUILDS, type ServiceSetup } from "../../src/testing.ts";
import { temporaryFolder } from "./obey.ts";
import { failureOf, type OpenSurface, openSdk } from "./same-as-sdk.ts";
import { type Part, sampled } from "./trials.ts";

/** A build of the specification, on one surface. */
interface Subject {
  /** Opens a service in a place of its own. The second one finds what the first one left on disk. */
  open(setup?: Omit<ServiceSetup, "capabilities">): Promise<SessionService>;
  /** The same build without a surface, somewhere else. */
  openSdk(setup?: Omit<ServiceSetup, "capabilities">): Promise<SessionService>;
  has(capability: Capability): boolean;
  /** The folder with the files of the sessions, in the place. */
  readonly sessionFiles: string;
}

interface Promised {
  readonly name: string;
  holds(subject: Subject): Promise<void>;
}

interface ContractTest {
  readonly number: number;
  /** The capability that the first promise needs. A build without it keeps the other. */
  readonly needs?: Capability;
  readonly with: Promised;
  readonly without?: Promised;
}

interface ContractOptions {
  /** Where the files of sessions are in a place. */
  readonly folder?: string;
  /** Which of the cells are tests in the short form. Default: all. */
  readonly part?: Part;
}

/**
 * The specification's contract tests, each in each of its builds: a cell of the table is a test.
 * Where the build lacks what the test is about, the test is that the build refuses it.
 */
export function contractTests(
  open: OpenSurface,
  { folder = ".rkat/sessions", part }: ContractOptions = {},
): void {
  const cells = Object.keys(BUILDS).flatMap((build) =>
    CONTRACT.map((contract) => ({ build, contract })),
  );
  const chosen = part ? sampled(cells, part) : cells;
  for (const [build, capabilities] of Object.entries(BUILDS)) {
    const contracts = chosen.filter((cell) => cell.build === build);
    if (contracts.length === 0) continue;
    describe(`build ${build}`, () => {
      const has = (capability: Capability) => capabilities.includes(capability);
      for (const { contract } of contracts) {
        const { number, needs } = contract;
        const promised =
          needs === undefined || has(needs) ? contract.with : (contract.without ?? contract.with);
        test(`contract test ${number}${build}: ${promised.name}`, async () => {
          const place = await temporaryFolder();
          await promised.holds({
            open: async (setup) => await open(place, { ...setup, capabilities }),
            openSdk: async (setup) =>
              await openSdk(await temporaryFolder(), { ...setup, capabilities }),
            has,
            sessionFiles: join(place, folder),
          });
        });
      }
    });
  }
}

/** About 1 400 tokens. */
const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);
const EAGER = { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1, maxSummaryTokens: 64 };
const SUMMARY = "The fox weighed jumping over the lazy dog, and nothing else has happened so far.";

const CONTRACT: readonly ContractTest[] = [
  {
    number: 1,
    with: {
      name: "creating a session and running a turn work, and the events say so",
      async holds({ open, has }) {
        const service = await open({ replies: ["hello"] });
        const { text, events } = await run(service, "hi");
        assert.equal(text, "hello");
        assert.deepEqual(typesOf(events), [
          "run_started",
          "turn_started",
          "text_complete",
          "turn_completed",
          "run_completed",
        ]);
        assert.deepEqual(
          [...(await service.capabilities())].filter((each) => !has(each)),
          [],
        );
      },
    },
  },
  {
    number: 2,
    needs: "session-store",
    with: {
      name: "resume, read, list and archive answer",
      async holds({ open }) {
        const service = await open({ replies: [callOf("search_project_history"), "one", "two"] });
        const { sessionId, events } = await run(service, "hi");
        assert.deepEqual(toolErrors(events), [false]);
        assert.equal((await service.resume({ sessionId, prompt: "again" })).text, "two");
        assert.equal((await service.read({ sessionId })).turns, 2);
        assert.equal((await service.list({})).length, 1);
        await service.archive({ sessionId });
        assert.deepEqual(await service.list({}), []);
      },
    },
    without: {
      name: "resume, read, list and archive are SESSION_PERSISTENCE_DISABLED, and the model searches no log",
      async holds({ open }) {
        const service = await open({ replies: [callOf("search_project_history"), "done"] });
        const { sessionId, events } = await run(service, "hi");
        assert.deepEqual(toolErrors(events), [true]);
        for (const ask of [
          () => service.resume({ sessionId, prompt: "hi" }),
          () => service.read({ sessionId }),
          () => service.list({}),
          () => service.archive({ sessionId }),
          () => service.unarchive({ sessionId }),
          () => service.delete({ sessionId }),
          () => service.searchHistory({ query: "hi" }),
        ]) {
          assert.equal((await failureOf(ask)).code, "SESSION_PERSISTENCE_DISABLED");
        }
      },
    },
  },
  {
    number: 3,
    needs: "session-store",
    with: {
      name: "resume, list and archive work after a restart",
      async holds({ open }) {
        const first = await open({ replies: ["one"] });
        const { sessionId } = await run(first, "hi");
        await first.close();
        const second = await open({ replies: ["two"] });
        assert.deepEqual(
          (await second.list({})).map((row) => [row.sessionId, row.turns]),
          [[sessionId, 1]],
        );
        assert.equal((await second.resume({ sessionId, prompt: "again" })).text, "two");
        await second.archive({ sessionId });
        await second.close();
        assert.deepEqual(await (await open()).list({}), []);
      },
    },
    without: {
      name: "after a restart the session cannot be resumed or listed",
      async holds({ open }) {
        const first = await open();
        const { sessionId } = await run(first, "hi");
        await first.close();
        const second = await open();
        for (const ask of [
          () => second.resume({ sessionId, prompt: "again" }),
          () => second.list({}),
          () => second.archive({ sessionId }),
        ]) {
          assert.equal((await failureOf(ask)).code, "SESSION_PERSISTENCE_DISABLED");
        }
      },
    },
  },
  {
    number: 4,
    with: {
      name: "each refusal has the code, the message and the hint of the SDK's",
      async holds({ open, openSdk, has }) {
        const expected = await refusals(await openSdk(), has);
        assert.ok(expected.some((refused) => refused !== null));
        assert.deepEqual(await refusals(await open(), has), expected);
      },
    },
  },
  {
    number: 5,
    needs: "session-store",
    with: {
      name: "the files of a session are the log, and come back with the same bytes when they are lost",
      async holds({ open, sessionFiles }) {
        const first = await open({ replies: ["hello"] });
        const { sessionId, events } = await run(first, "hi");
        await first.close();
        const file = join(sessionFiles, sessionId, "events.jsonl");
        const before = await readFile(file, "utf8");
        const logged = before
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
        assert.deepEqual(
          logged.map(({ seq }) => seq),
          logged.map((_, index) => index + 1),
        );
        const durable = events.filter(({ payload }) => !payload.type.endsWith("_delta"));
        assert.deepEqual(
          logged.slice(-durable.length).map(({ event }) => event),
          durable.map(({ payload }) => payload),
        );
        for (const lost of ["", join(sessionFiles, sessionId), sessionFiles]) {
          if (lost !== "") await rm(lost, { recursive: true });
          const next = await open();
          await next.list({});
          await next.close();
          assert.equal(await readFile(file, "utf8"), before);
        }
      },
    },
    without: {
      name: "no files of sessions are written",
      async holds({ open, sessionFiles }) {
        const service = await open();
        await run(service, "hi");
        await service.close();
        assert.ok(!existsSync(sessionFiles));
      },
    },
  },
  {
    number: 6,
    needs: "memory-store",
    with: {
      name: "memory is searched by callers, and by the model",
      async holds({ open, has }) {
        const service = await open({ replies: [callOf("memory_search"), "done"] });
        const { events } = await run(service, "what about the fox?");
        assert.deepEqual(toolErrors(events), [false]);
        assert.ok(Array.isArray(await service.searchMemory({ query: "fox" })));
        if (!has("session-store")) return;
        await service.addKnowledge({ content: "Always feed the fox." });
        const [hit] = await service.searchMemory({ query: "feed the fox" });
        assert.equal(hit?.content, "Always feed the fox.");
      },
    },
    without: {
      name: "memory is SESSION_MEMORY_DISABLED, and the model has no memory_search",
      async holds({ open }) {
        const service = await open({ replies: [callOf("memory_search"), "done"] });
        const { events } = await run(service, "what about the fox?");
        assert.deepEqual(toolErrors(events), [true]);
        for (const ask of [
          () => service.searchMemory({ query: "fox" }),
          () => service.listMemory({}),
          () => service.memoryStats({}),
          () => service.forgetMemory({ ids: ["x"] }),
          () => run(service, "hi", { memory: true }),
        ]) {
          assert.equal((await failureOf(ask)).code, "SESSION_MEMORY_DISABLED");
        }
      },
    },
  },
  {
    number: 7,
    needs: "session-compaction",
    with: {
      name: "compaction triggers at the threshold",
      async holds({ open }) {
        const { text, events } = await fill(await open({ ...FILLING, compaction: EAGER }));
        assert.equal(text, "done");
        assert.deepEqual(compactionsIn(events), ["compaction_started", "compaction_completed"]);
      },
    },
    without: { name: "a history over the threshold is not compacted", holds: neverCompacts },
  },
  {
    number: 8,
    needs: "session-compaction",
    with: {
      name: "nothing is compacted below the threshold, or sooner than the loop guard allows",
      async holds({ open }) {
        const compaction = { ...EAGER, autoCompactThreshold: 50_000 };
        const below = await fill(await open({ ...FILLING, compaction }));
        assert.deepEqual(compactionsIn(below.events), []);
        const guarded = { ...EAGER, minTurnsBetweenCompactions: 3 };
        const replies = Array.from({ length: 12 }, (_, call) => stepOf(call));
        const service = await open({ replies, compaction: guarded });
        const { events } = await run(service, "go on for long", { memory: false });
        const calls = events.flatMap(({ payload }, at) =>
          payload.type === "compaction_started"
            ? [typesOf(events.slice(0, at)).filter((type) => type === "turn_started").length]
            : [],
        );
        assert.ok(calls.length > 1, `compactions before calls ${calls}`);
        for (const [index, call] of calls.slice(1).entries()) {
          assert.ok(call - (calls[index] ?? 0) >= 3, `compactions before calls ${calls}`);
        }
      },
    },
    without: { name: "nothing is compacted below the threshold either", holds: neverCompacts },
  },
  {
    number: 9,
    needs: "session-compaction",
    with: {
      name: "a compaction that fails is told, and the turn goes on",
      async holds({ open }) {
        const replies = [stepOf(0), stepOf(1), { error: "PROVIDER_ERROR" as const }, "done"];
        const { text, events } = await fill(await open({ replies, compaction: EAGER }));
        assert.equal(text, "done");
        assert.deepEqual(compactionsIn(events), ["compaction_started", "compaction_failed"]);
      },
    },
    without: { name: "no compaction is told, and the turn goes on", holds: neverCompacts },
  },
  {
    number: 10,
    needs: "session-compaction",
    with: {
      name: "the stream has the compaction events of the SDK's",
      async holds({ open, openSdk }) {
        const setup = { ...FILLING, compaction: EAGER };
        const expected = shapesOf((await fill(await openSdk(setup))).events);
        assert.ok(expected.some(([type]) => type === "compaction_completed"));
        assert.deepEqual(shapesOf((await fill(await open(setup))).events), expected);
      },
    },
    without: {
      name: "the stream has no compaction events, as the SDK's",
      async holds({ open, openSdk }) {
        const expected = shapesOf((await fill(await openSdk(FILLING))).events);
        assert.deepEqual(shapesOf((await fill(await open(FILLING))).events), expected);
        assert.ok(expected.every(([type]) => !type?.startsWith("compaction")));
      },
    },
  },
  {
    number: 11,
    needs: "session-compaction",
    with: {
      name: "a request's compaction settings hold",
      async holds({ open }) {
        const service = await open(FILLING);
        const { events } = await fill(service, { compaction: EAGER });
        assert.deepEqual(compactionsIn(events), ["compaction_started", "compaction_completed"]);
      },
    },
    without: {
      name: "a request's compaction settings are SESSION_COMPACTION_DISABLED",
      async holds({ open }) {
        const service = await open();
        const { sessionId } = await service.createSession({});
        const compaction = { recentTurnBudget: 2 };
        for (const ask of [
          () => run(service, "hi", { compaction }),
          () => service.startTurn({ sessionId, prompt: "hi", compaction }),
        ]) {
          assert.equal((await failureOf(ask)).code, "SESSION_COMPACTION_DISABLED");
        }
      },
    },
  },
];

/** A step of a long run: a long answer that calls a tool. */
function stepOf(call: number) {
  return { text: LONG, toolCalls: [{ id: `c${call}`, name: "datetime", args: {} }] };
}

/** The model's replies in a run that outgrows the threshold after two steps. */
const FILLING = { replies: [stepOf(0), stepOf(1), SUMMARY, "done"] };

function callOf(name: string) {
  return { toolCalls: [{ id: "c", name, args: { query: "fox" } }] };
}

async function neverCompacts({ open }: Subject): Promise<void> {
  const { text, events } = await fill(await open({ replies: [stepOf(0), stepOf(1), "done"] }));
  assert.equal(text, "done");
  assert.deepEqual(compactionsIn(events), []);
}

interface Ran {
  readonly sessionId: string;
  readonly text: string;
  readonly events: readonly EventEnvelope[];
}

/** One turn in a session of its own. */
async function run(service: SessionService, prompt: string, created: object = {}): Promise<Ran> {
  const { sessionId } = await service.createSession(created);
  const events: EventEnvelope[] = [];
  const onEvent = (event: EventEnvelope) => void events.push(event);
  const { text } = await service.startTurn({ sessionId, prompt }, { onEvent });
  return { sessionId, text, events };
}

/** A run of three model calls whose first two steps outgrow `EAGER`. */
function fill(service: SessionService, created: object = {}): Promise<Ran> {
  return run(service, "Fill the window.", created);
}

function typesOf(events: readonly EventEnvelope[]): readonly SessionEvent["type"][] {
  return events.map(({ payload }) => payload.type).filter((type) => !type.endsWith("_delta"));
}

function compactionsIn(events: readonly EventEnvelope[]): readonly string[] {
  return typesOf(events).filter((type) => type.startsWith("compaction"));
}

/** The type and the names of the fields of each durable event, without what a provider or a speaker adds. */
function shapesOf(events: readonly EventEnvelope[]): readonly (readonly string[])[] {
  return events
    .filter(({ payload }) => !payload.type.endsWith("_delta"))
    .map(({ payload }) => {
      const { type, ...fields } = payload;
      const names = Object.keys(fields).filter((name) => name !== "meta" && name !== "origin");
      return [type, ...names.sort()];
    });
}

function toolErrors(events: readonly EventEnvelope[]): readonly boolean[] {
  return events.flatMap(({ payload }) =>
    payload.type === "tool_result_received" ? [payload.is_error] : [],
  );
}

/** What each request is refused with; null where it is answered. */
async function refusals(service: SessionService, has: Subject["has"]) {
  const { sessionId } = await run(service, "hi");
  const unknown = "019467d9-7e3a-7000-8000-000000000000";
  const requests: readonly (() => Promise<unknown>)[] = [
    () => service.read({ sessionId }),
    () => service.read({ sessionId: unknown }),
    () => service.list({}),
    () => service.searchHistory({ query: "hi" }),
    () => service.resume({ sessionId: unknown, prompt: "hi" }),
    // A command without stored sessions has none to compact, whatever else is missing.
    ...(has("session-store") ? [() => service.compact({ sessionId: unknown })] : []),
    () => run(service, "hi", { compaction: { recentTurnBudget: 2 } }),
    () => run(service, "hi", { compaction: { recentTurnBudget: 0 } }),
    () => run(service, "hi", { memory: true }),
    () => run(service, "hi", { knowledge: true }),
    () => service.searchMemory({ query: "fox" }),
    () => service.searchMemory({ query: "fox", minScore: 2 }),
    () => service.listMemory({}),
    () => service.memoryStats({}),
    () => service.forgetMemory({ ids: ["x"] }),
    () => service.listKnowledge({}),
    () => service.readKnowledge({ knowledgeId: "unknown" }),
    () => service.addKnowledge({ content: "" }),
    () => service.distillKnowledge({}),
    () => service.archive({ sessionId }),
    () => service.delete({ sessionId }),
  ];
  const told = [];
  for (const request of requests) {
    told.push(
      await request().then(
        () => null,
        (error) => {
          if (!SessionError.is(error)) throw error;
          const { code, message, hint } = error;
          // A bad value is named as the surface knows it: a field, a flag.
          if (code === "INVALID_PARAMS") return { code };
          return { code, message: message.replaceAll(sessionId, "…"), hint };
        },
      ),
    );
  }
  return told;
}
