import assert from "node:assert/strict";
import type { PendingApproval, ToolPolicy } from "../core/approval.ts";
import type { CompactionConfig } from "../core/compactor.ts";
import { type ErrorCode, SessionError } from "../core/errors.ts";
import type { DurableEvent, EventEnvelope } from "../core/event.ts";
import {
  indexableText,
  isSummary,
  type Message,
  summaryMessage,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import type { SearchMemory } from "../core/requests.ts";
import type { Capability, SessionService } from "../core/session-service.ts";
import { expects, inWords, type Law } from "./law.ts";
import type { ScriptedReply } from "./scripted-model.ts";

/** Settings of a service under test. Plain data, so that another process can make the service. */
export interface ServiceSetup {
  readonly capabilities: readonly Capability[];
  /** The answers of the model, in order. After the last one it answers "ok". */
  readonly replies?: readonly ScriptedReply[];
  readonly compaction?: Partial<CompactionConfig>;
  /** Which tools need approval, and how long a turn waits for it. */
  readonly approvals?: {
    readonly policies?: Readonly<Record<string, ToolPolicy>>;
    readonly timeoutMs?: number;
  };
}

/** Makes a service. In one place, services with `session-store` share their stores. */
export type OpenService = (setup: ServiceSetup) => Promise<SessionService>;

/** The six builds of the specification. */
export const BUILDS: Readonly<Record<string, readonly Capability[]>> = {
  A: [],
  B: ["session-store"],
  C: ["memory-store"],
  D: ["session-compaction"],
  E: ["session-store", "memory-store"],
  F: ["session-store", "memory-store", "session-compaction"],
};

/** The id of no session. */
const UNKNOWN_ID = "00000000-0000-7000-8000-000000000000";

const EVERYTHING = BUILDS.F ?? [];
/** Leaves room for the tools, the skill and about one long answer. */
const EAGER = { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1, maxSummaryTokens: 64 };
const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

/** A conversation as a list of messages, which many programs write. */
const TRANSCRIPT = `${JSON.stringify({
  messages: [
    { role: "user", content: "Where does the heron nest?" },
    { role: "assistant", content: "The heron nests in the alder." },
  ],
})}\n`;

export const sessionServiceLaws: readonly Law<OpenService>[] = inWords([
  ...Object.entries(BUILDS).map(
    ([build, capabilities]): Law<OpenService> => ({
      name: `build ${build}: creating a session and running a turn work, and tell what happens`,
      async holds(open) {
        const service = await (await open())({ capabilities, replies: ["hello"] });
        const { sessionId } = await service.createSession({});
        const seen: string[] = [];
        const turn = await service.startTurn(
          { sessionId, prompt: "hi" },
          { onEvent: ({ payload }) => seen.push(payload.type) },
        );
        assert.equal(turn.text, "hello");
        assert.equal(turn.stopReason, "end_turn");
        assert.deepEqual(
          seen.filter((type) => type !== "text_delta"),
          ["run_started", "turn_started", "text_complete", "turn_completed", "run_completed"],
        );
        assert.deepEqual([...(await service.capabilities())].sort(), [...capabilities].sort());
      },
    }),
  ),
  {
    name: "what belongs to one user is not found, listed, searched or changed for another, nor without a user",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING, replies: ["ok"] });
      const ada = service.forUser("ada");
      const { sessionId } = await ada.createSession({});
      await ada.startTurn({ sessionId, prompt: "The heron nests in May." });
      assert.equal((await ada.read({ sessionId })).user, "ada");
      assert.equal((await ada.searchMemory({ query: "heron" })).length, 1);
      for (const other of [service, service.forUser("bob")]) {
        await assertCode(other.read({ sessionId }), "SESSION_NOT_FOUND");
        await assertCode(other.resume({ sessionId, prompt: "hi" }), "SESSION_NOT_FOUND");
        await assertCode(other.delete({ sessionId }), "SESSION_NOT_FOUND");
        assert.deepEqual(await other.list({ includeArchived: true }), []);
        assert.deepEqual(await other.searchMemory({ query: "heron" }), []);
        assert.deepEqual(await other.searchHistory({ query: "heron" }), []);
        assert.deepEqual(await other.listMemory({}), []);
      }
      assert.equal((await ada.searchHistory({ query: "heron" })).length, 1);
      assert.throws(() => ada.forUser("bob"), { code: "USER_NOT_ALLOWED" });
    },
  },
  {
    name: "a transcript is imported once, for one user, and what was forgotten of it stays forgotten",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const ada = service.forUser("ada");
      const name = "talk.jsonl";
      const first = await ada.importTranscripts({ name, text: TRANSCRIPT });
      assert.deepEqual(
        { sessions: first.sessions, added: first.added, skipped: first.skipped },
        { sessions: 1, added: 2, skipped: [] },
      );
      const base64 = Buffer.from(TRANSCRIPT).toString("base64");
      for (const again of [
        { name, base64 },
        { name, bytes: piecesOf(TRANSCRIPT) },
      ]) {
        const { added, alreadyThere } = await ada.importTranscripts(again);
        assert.deepEqual({ added, alreadyThere }, { added: 0, alreadyThere: 2 });
      }
      const [session, ...more] = await ada.list({});
      assert.deepEqual([session?.turns, more], [1, []]);
      const [hit] = await ada.searchMemory({ query: "heron alder" });
      expects(hit, "what was imported", hit);
      assert.equal(hit.sessionId, session?.sessionId);
      for (const other of [service, service.forUser("bob")]) {
        assert.deepEqual(await other.list({}), []);
        assert.deepEqual(await other.searchMemory({ query: "heron alder" }), []);
      }
      await ada.forgetMemory({ ids: [hit.id] });
      await ada.importTranscripts({ name: "copy.jsonl", text: TRANSCRIPT });
      const left = await ada.searchMemory({ query: "heron alder", minScore: 0 });
      assert.deepEqual(
        left.filter(({ content }) => content === hit.content),
        [],
      );
    },
  },
  {
    name: "without a session store, lookups are SESSION_PERSISTENCE_DISABLED",
    async holds(open) {
      const service = await (await open())({ capabilities: ["memory-store"] });
      const { sessionId } = await service.createSession({});
      const lookups = [
        () => service.resume({ sessionId, prompt: "hi" }),
        () => service.read({ sessionId }),
        () => service.list({}),
        () => service.archive({ sessionId }),
        () => service.delete({ sessionId }),
        () => service.restore({ sessionId }),
        () => service.searchHistory({ query: "hi" }),
        () => service.importTranscripts({ text: TRANSCRIPT }),
      ];
      for (const lookup of lookups) await assertCode(lookup(), "SESSION_PERSISTENCE_DISABLED");
    },
  },
  {
    name: "without a memory store, memory is SESSION_MEMORY_DISABLED",
    async holds(open) {
      const service = await (await open())({ capabilities: ["session-store"] });
      await assertCode(service.searchMemory({ query: "fox" }), "SESSION_MEMORY_DISABLED");
      await assertCode(service.addMemory({ content: "fox" }), "SESSION_MEMORY_DISABLED");
      await assertCode(service.listMemory({}), "SESSION_MEMORY_DISABLED");
      await assertCode(service.memoryStats({}), "SESSION_MEMORY_DISABLED");
      await assertCode(service.forgetMemory({ ids: ["x"] }), "SESSION_MEMORY_DISABLED");
      await assertCode(service.createSession({ memory: true }), "SESSION_MEMORY_DISABLED");
      await assertCode(service.listKnowledge({}), "SESSION_KNOWLEDGE_DISABLED");
      await assertCode(service.createSession({ knowledge: true }), "SESSION_KNOWLEDGE_DISABLED");
    },
  },
  {
    name: "without compaction, asking for it is SESSION_COMPACTION_DISABLED",
    async holds(open) {
      const service = await (await open())({ capabilities: ["session-store", "memory-store"] });
      const { sessionId } = await service.createSession({});
      const compaction = { recentTurnBudget: 2 };
      await assertCode(service.createSession({ compaction }), "SESSION_COMPACTION_DISABLED");
      await assertCode(
        service.startTurn({ sessionId, prompt: "hi", compaction }),
        "SESSION_COMPACTION_DISABLED",
      );
      await assertCode(service.compact({ sessionId }), "SESSION_COMPACTION_DISABLED");
    },
  },
  {
    name: "a session is resumed, listed and archived after everything was closed",
    durable: true,
    async holds(open) {
      const first = await (await open())({ capabilities: EVERYTHING, replies: ["one"] });
      const { sessionId } = await first.createSession({ labels: { env: "test" } });
      await first.startTurn({ sessionId, prompt: "first" });
      await first.close();

      const second = await (await open())({ capabilities: EVERYTHING, replies: ["two"] });
      const listed = await second.list({ labels: { env: "test" } });
      assert.deepEqual(
        listed.map((row) => [row.sessionId, row.turns, row.messageCount]),
        [[sessionId, 1, 3]],
      );
      const turn = await second.resume({ sessionId, prompt: "second" });
      assert.equal(turn.text, "two");
      const { history } = await second.read({ sessionId });
      assert.deepEqual(
        history.map(({ message }) => message.role),
        ["system", "user", "block_assistant", "user", "block_assistant"],
      );
      await second.archive({ sessionId });
      assert.deepEqual(await second.list({}), []);
      assert.equal((await second.list({ includeArchived: true })).length, 1);
      const requests = [
        () => second.startTurn({ sessionId, prompt: "third" }),
        () => second.resume({ sessionId, prompt: "third" }),
        () => second.compact({ sessionId }),
        () => second.appendMessages({ sessionId, messages: ASKED }),
        () => second.updateTask({ sessionId, goal: "Nothing." }),
        () => second.pin({ sessionId, position: 1 }),
        () => second.archive({ sessionId }),
      ];
      for (const request of requests) {
        const { message } = await assertCode(request(), "SESSION_NOT_FOUND");
        assert.equal(message, `The session "${sessionId}" is archived.`);
      }
      await second.unarchive({ sessionId });
      await second.unarchive({ sessionId });
      assert.equal((await second.list({})).length, 1);
      assert.equal((await second.startTurn({ sessionId, prompt: "third" })).turns, 3);
    },
  },
  {
    name: "a session says where it came from, and is found by that after everything was closed",
    durable: true,
    async holds(open) {
      const first = await (await open())({ capabilities: EVERYTHING });
      const own = await first.createSession({});
      const source = {
        agent: "claude-code",
        nativeId: "0191-a",
        project: "/home/ada/my app",
        branch: "main",
        title: "The fox",
        model: "anthropic/claude-sonnet-4-5",
        startedAt: "2025-01-20T10:00:00Z",
        parent: { id: "claude-code:0190", relation: "fork" },
      } as const;
      const imported = await first.createSession({ source });
      const time = "2025-01-21T12:00:00Z";
      await first.appendMessages({ ...imported, messages: ASKED, origin: { time } });
      const codex = await first.createSession({ source: { agent: "codex", nativeId: "--yolo" } });
      await first.close();

      const service = await (await open())({ capabilities: EVERYTHING });
      const view = await service.read(imported);
      const command = "cd -- '/home/ada/my app' && claude --resume 0191-a";
      assert.deepEqual(view.source, { ...source, open: command });
      assert.equal(view.createdAt, "2025-01-20T10:00:00.000Z");
      assert.equal(view.updatedAt, "2025-01-21T12:00:00.000Z");
      const { source: ofOwn } = await service.read(own);
      assert.deepEqual([ofOwn.agent, ofOwn.nativeId], ["rkat", own.sessionId]);
      // An agent would take this id for one of its options.
      assert.equal((await service.read(codex)).source.open, undefined);

      const found = async (request: Parameters<SessionService["list"]>[0]) =>
        (await service.list(request)).map(({ sessionId }) => sessionId);
      // It was held before the others, whenever it was stored.
      assert.equal((await found({})).at(-1), imported.sessionId);
      assert.deepEqual(await found({ agent: "claude-code" }), [imported.sessionId]);
      assert.deepEqual(await found({ agent: "rkat" }), [own.sessionId]);
      assert.deepEqual(await found({ project: source.project }), [imported.sessionId]);
      assert.deepEqual(await found({ agent: "codex", project: source.project }), []);
      assert.deepEqual(await found({ project: source.project, branch: "main" }), [
        imported.sessionId,
      ]);
      assert.deepEqual(await found({ branch: "other" }), []);
    },
  },
  {
    name: "memory is searched and listed by where sessions came from, and results say it",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const sources = [
        { agent: "codex", nativeId: "c 1", project: "/a", branch: "main", title: "Foxes" },
        { agent: "claude-code", nativeId: "c2", project: "/a" },
        { agent: "claude-code", nativeId: "c3", project: "/b" },
      ];
      const said = ["den", "burrow", "earth"];
      for (const [index, source] of sources.entries()) {
        const { sessionId } = await service.createSession({ source });
        const content = `The vixen sleeps in the ${said[index]}.`;
        await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
      }
      const own = await service.createSession({});
      const content = "The vixen sleeps in the sun.";
      await service.appendMessages({ ...own, messages: [{ role: "user", content }] });
      await service.addMemory({ content: "The vixen sleeps in the note." });

      const last = (text: string) => text.split(/\W+/).at(-2) ?? text;
      const found = async (
        filter: Omit<Parameters<SessionService["searchMemory"]>[0], "query">,
      ) => {
        const hits = await service.searchMemory({ query: "vixen sleeps", minScore: 0, ...filter });
        const listed = await service.listMemory(filter);
        const texts = hits.map((hit) => last(hit.content)).sort();
        assert.deepEqual(listed.map((entry) => last(entry.content)).sort(), texts);
        return texts;
      };
      assert.deepEqual(await found({}), ["burrow", "den", "earth", "note", "sun"]);
      assert.deepEqual(await found({ agent: "claude-code" }), ["burrow", "earth"]);
      assert.deepEqual(await found({ project: "/a" }), ["burrow", "den"]);
      assert.deepEqual(await found({ agent: "codex", project: "/a", branch: "main" }), ["den"]);
      assert.deepEqual(await found({ agent: "codex", project: "/b" }), []);
      // What rkat itself held, and what was added by hand.
      assert.deepEqual(await found({ agent: "rkat" }), ["note", "sun"]);
      const [den] = await service.searchMemory({ query: "vixen den", limit: 1 });
      assert.deepEqual(den?.from, { ...sources[0], open: "codex resume 'c 1'" });
      const [sun] = await service.searchMemory({ query: "vixen sun", limit: 1 });
      assert.equal(sun?.from, undefined);
    },
  },
  {
    name: "a session that begins with the summary of another keeps it after everything was closed, until it is compacted",
    durable: true,
    async holds(open) {
      const first = await (await open())({ capabilities: EVERYTHING });
      const summary = summaryMessage("They met an okapi.");
      const messages: Message[] = [
        summary,
        { role: "user", content: `The fox begins. ${LONG}` },
        { role: "assistant", content: "Noted." },
        { role: "user", content: "And the okapi?" },
      ];
      const { sessionId } = await first.createSession({ messages });
      const { history: before, turns } = await first.read({ sessionId });
      await first.close();

      const replies = ["The summary of the fox."];
      const compaction = { recentTurnBudget: 1 };
      const second = await (await open())({ capabilities: EVERYTHING, compaction, replies });
      const { history } = await second.read({ sessionId });
      assert.deepEqual(history, before);
      assert.deepEqual(history.map(({ message }) => message).slice(-messages.length), messages);
      assert.equal(turns, 2);
      await assertCompacts(second, sessionId);
      const after = (await second.read({ sessionId })).history.filter(({ message }) =>
        isSummary(message),
      );
      assert.equal(after.length, 1);
      const text = JSON.stringify(after);
      expects(!text.includes("They met an okapi."), "a summary without the previous one", text);
    },
  },
  {
    name: "a deleted session is gone from every lookup",
    durable: true,
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING, replies: ["zebra"] });
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: "a giraffe" });
      await service.delete({ sessionId });
      await assertCode(service.read({ sessionId }), "SESSION_NOT_FOUND");
      assert.deepEqual(await service.list({ includeArchived: true }), []);
      assert.deepEqual(await service.searchHistory({ query: "giraffe" }), []);
    },
  },
  {
    name: "a deleted session is restored as it was, with its memory; one that was deleted now is not",
    durable: true,
    async holds(open) {
      const service = await (await open())({
        capabilities: EVERYTHING,
        replies: ["zebra", "okapi", "gnu"],
      });
      const { sessionId } = await service.createSession({ labels: { zoo: "north" } });
      await service.startTurn({ sessionId, prompt: "a giraffe eats acacia" });
      const before = await service.read({ sessionId });
      const found = async () => ({
        memory: (await service.searchMemory({ query: "giraffe" })).map(({ id }) => id),
        history: (await service.searchHistory({ query: "giraffe" })).map(({ seq }) => seq),
        listed: (await service.list({})).map((session) => session.sessionId),
      });
      const all = await found();
      await service.delete({ sessionId });
      assert.deepEqual(await found(), { memory: [], history: [], listed: [] });
      const [deleted] = await service.list({ deleted: true });
      assert.equal(deleted?.sessionId, sessionId);
      assert.notEqual(deleted.deletedAt, undefined);

      await service.restore({ sessionId });
      const { updatedAt, ...after } = await service.read({ sessionId });
      assert.deepEqual({ ...after, updatedAt: before.updatedAt }, before);
      assert.deepEqual(await found(), all);
      assert.deepEqual(await service.list({ deleted: true }), []);
      assert.equal((await service.startTurn({ sessionId, prompt: "more" })).turns, 2);

      await service.delete({ sessionId, now: true });
      assert.deepEqual(await service.list({ deleted: true }), []);
      await assertCode(service.restore({ sessionId }), "SESSION_NOT_FOUND");
      const second = await service.createSession({});
      await service.startTurn({ ...second, prompt: "a rhino" });
      await service.delete(second);
      await service.delete({ ...second, now: true });
      assert.deepEqual(await service.list({ deleted: true }), []);
      await assertCode(service.delete({ ...second, now: true }), "SESSION_NOT_FOUND");
    },
  },
  {
    name: "a bad request is INVALID_PARAMS, and the message names the field",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const { sessionId } = await service.createSession({});
      const bad: readonly [string, () => Promise<unknown>][] = [
        ["prompt", () => service.startTurn({ sessionId, prompt: "" })],
        ["prompt", () => service.startTurn({ sessionId } as never)],
        ["sessionId", () => service.startTurn({ prompt: "hi" } as never)],
        ["maxTokens", () => service.startTurn({ sessionId, prompt: "hi", maxTokens: 0 })],
        [
          "maxToolCalls",
          () => service.startTurn({ sessionId, prompt: "hi", budget: { maxToolCalls: -1 } }),
        ],
        ["colour", () => service.startTurn({ sessionId, prompt: "hi", colour: "red" } as never)],
        ["recentTurnBudget", () => service.createSession({ compaction: { recentTurnBudget: 0 } })],
        ["labels", () => service.createSession({ labels: { a: 1 } } as never)],
        ["messages", () => service.createSession({ messages: [{ role: "nobody" }] } as never)],
        ["limit", () => service.list({ limit: -1 })],
        ["since", () => service.searchHistory({ query: "fox", since: "yesterday" })],
        ["minScore", () => service.searchMemory({ query: "fox", minScore: 2 })],
        ["done", () => service.updateTask({ sessionId, done: [0] })],
      ];
      for (const [field, request] of bad) {
        const error = await assertCode(request(), "INVALID_PARAMS");
        assert.match(error.message, new RegExp(field));
      }
      const error = await assertCode(service.updateTask({ sessionId, done: [7] }), "NOT_POSSIBLE");
      assert.match(error.message, /sub-task 7/);
    },
  },
  {
    name: "a listener that throws or rejects does not end the turn",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING, replies: ["one", "two"] });
      const { sessionId } = await service.createSession({});
      const seen: string[] = [];
      const fails = new Error("The listener of this law always fails.");
      const throws = await service.startTurn(
        { sessionId, prompt: "hi" },
        {
          onEvent({ payload }) {
            seen.push(payload.type);
            throw fails;
          },
        },
      );
      assert.equal(throws.text, "one");
      assert.equal(seen.at(-1), "run_completed");
      const onEvent = async () => await Promise.reject(fails);
      const rejects = await service.startTurn({ sessionId, prompt: "hi" }, { onEvent });
      assert.equal(rejects.text, "two");
    },
  },
  {
    name: "an unknown session is SESSION_NOT_FOUND",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const sessionId = "019467d9-7e3a-7000-8000-000000000000";
      const requests = [
        () => service.startTurn({ sessionId, prompt: "hi" }),
        () => service.resume({ sessionId, prompt: "hi" }),
        () => service.read({ sessionId }),
        () => service.archive({ sessionId }),
        () => service.unarchive({ sessionId }),
        () => service.delete({ sessionId }),
        () => service.restore({ sessionId }),
        () => service.compact({ sessionId }),
        () => service.interrupt({ sessionId }),
        () => service.appendMessages({ sessionId, messages: ASKED }),
        () => service.updateTask({ sessionId, goal: "Nothing." }),
        () => service.pin({ sessionId, position: 0 }),
        () => service.unpin({ sessionId, position: 0 }),
        () => service.pins({ sessionId }),
        () => service.context({ sessionId }),
      ];
      for (const request of requests) await assertCode(request(), "SESSION_NOT_FOUND");
    },
  },
  {
    name: "a second turn in a running session is SESSION_BUSY, and the first one does not notice",
    async holds(open) {
      const replies = [{ text: "slow", delayMs: 100 }];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      const first = service.startTurn({ sessionId, prompt: "one" });
      await assertCode(startedAfterwards(), "SESSION_BUSY");
      assert.equal((await first).text, "slow");
      assert.equal((await service.startTurn({ sessionId, prompt: "three" })).text, "ok");

      async function startedAfterwards() {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return await service.startTurn({ sessionId, prompt: "two" });
      }
    },
  },
  {
    name: "an interrupted turn is TURN_INTERRUPTED, and the next one goes on",
    async holds(open) {
      const replies = [{ text: "never", delayMs: 60_000 }, "back again"];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      await assertCode(service.interrupt({ sessionId }), "SESSION_NOT_RUNNING");
      const turn = service.startTurn({ sessionId, prompt: "wait" });
      // The turn may end before the answer to the interruption arrives.
      const interrupted = assertCode(turn, "TURN_INTERRUPTED");
      await new Promise((resolve) => setTimeout(resolve, 30));
      await service.interrupt({ sessionId });
      await interrupted;
      assert.equal((await service.startTurn({ sessionId, prompt: "go on" })).text, "back again");
    },
  },
  {
    name: "a turn that fails says so in the log and leaves every call with its result",
    async holds(open) {
      const call = { id: "c1", name: "datetime", args: {} };
      const replies = [{ toolCalls: [call] }, { error: "PROVIDER_ERROR" as const }, "fine"];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      const seen: EventEnvelope[] = [];
      await assertCode(
        service.startTurn({ sessionId, prompt: "go" }, { onEvent: (event) => seen.push(event) }),
        "PROVIDER_ERROR",
      );
      const last = seen.at(-1)?.payload;
      assert.equal(last?.type === "run_failed" && last.code, "PROVIDER_ERROR");
      assert.equal((await service.startTurn({ sessionId, prompt: "again" })).text, "fine");
      await assertWholeCalls(service, sessionId);
    },
  },
  {
    name: "events have consecutive numbers, and a subscriber can have them again from any of them",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING, replies: ["one", "two"] });
      const { sessionId } = await service.createSession({});
      const seen: EventEnvelope[] = [];
      const onEvent = (event: EventEnvelope) => void seen.push(event);
      await service.startTurn({ sessionId, prompt: "a" }, { onEvent });
      await service.startTurn({ sessionId, prompt: "b" }, { onEvent });
      const durable = seen.filter(({ payload }) => !payload.type.endsWith("_delta"));
      const first = durable[0]?.seq ?? 0;
      assert.deepEqual(
        durable.map(({ seq }) => seq),
        durable.map((_, index) => first + index),
      );
      assert.deepEqual(
        await replay(service, sessionId, first + 1, durable.length - 2),
        durable.slice(2),
      );
    },
  },
  {
    name: "compaction comes at the threshold, tells of it in order, and the answer is the same",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, compaction: EAGER };
      const service = await (await open())({
        ...setup,
        replies: [LONG, LONG, "The summary.", "done"],
      });
      const { sessionId } = await service.createSession({ memory: false });
      const seen: string[] = [];
      const onEvent = ({ payload }: EventEnvelope) => void seen.push(payload.type);
      await service.startTurn({ sessionId, prompt: "one" }, { onEvent });
      expects(!seen.includes("compaction_started"), "no compaction before call 1", seen);
      await service.startTurn({ sessionId, prompt: "two" }, { onEvent });
      const third = await service.startTurn({ sessionId, prompt: "three" }, { onEvent });
      assert.equal(third.text, "done");
      assert.deepEqual(
        seen.filter((type) => type.startsWith("compaction")),
        ["compaction_started", "compaction_completed"],
      );
      const { history } = await service.read({ sessionId });
      const summary = history.find(({ message }) => message.role === "user" && message.kind);
      assert.match(JSON.stringify(summary?.message), /\[Context compacted\].*The summary\./);
    },
  },
  {
    name: "below the threshold nothing is compacted",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, compaction: { autoCompactThreshold: 50_000 } };
      const service = await (await open())(setup);
      const { sessionId } = await service.createSession({});
      const seen: string[] = [];
      for (const prompt of ["one", "two", "three", "four", "five"]) {
        await service.startTurn(
          { sessionId, prompt },
          { onEvent: ({ payload }) => seen.push(payload.type) },
        );
      }
      assert.deepEqual(
        seen.filter((type) => type.startsWith("compaction")),
        [],
      );
    },
  },
  {
    name: "a compaction that fails is told, changes nothing, and the turn goes on",
    async holds(open) {
      const replies = [LONG, LONG, { error: "PROVIDER_ERROR" as const }, "still here"];
      const service = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies,
      });
      const { sessionId } = await service.createSession({ memory: false });
      await service.startTurn({ sessionId, prompt: "one" });
      await service.startTurn({ sessionId, prompt: "two" });
      const seen: string[] = [];
      const turn = await service.startTurn(
        { sessionId, prompt: "three" },
        { onEvent: ({ payload }) => seen.push(payload.type) },
      );
      assert.equal(turn.text, "still here");
      assert.deepEqual(
        seen.filter((type) => type.startsWith("compaction")),
        ["compaction_started", "compaction_failed"],
      );
      assert.equal((await service.read({ sessionId })).history.length, 6);
    },
  },
  {
    name: "what compaction discarded is found in memory, from any session of the project",
    async holds(open) {
      const replies = [`The staging port is 7443. ${LONG}`, LONG, "The summary.", "done"];
      const service = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies,
      });
      const { sessionId } = await service.createSession({});
      for (const prompt of ["which port does staging use?", "two", "three"]) {
        await service.startTurn({ sessionId, prompt });
      }
      const hits = await service.searchMemory({ query: "staging port" });
      const found = hits.find((hit) => hit.content.includes("7443"));
      assert.equal(found?.sessionId, sessionId);
      assert.equal(found?.turn, 0);
      expects(found.score > 0 && found.score <= 1, "a score above 0 and at most 1", found.score);
    },
  },
  {
    name: "memory is searched by several questions, within its filters and within so many tokens",
    async holds(open) {
      const { service, sessionId } = await remembering(await open());
      const ports = { query: REMEMBERED[0] };
      const both = { query: [REMEMBERED[0], REMEMBERED[2]] };
      const found = async (request: SearchMemory) =>
        (await service.searchMemory({ minScore: 0.2, ...request })).map(({ content }) => content);
      const one = await found(ports);
      expects(one.includes(REMEMBERED[1]), `"${REMEMBERED[1]}" among the results`, one);
      const texts = await found(both);
      for (const text of [REMEMBERED[1], REMEMBERED[3]]) {
        expects(texts.includes(text), `"${text}" among the results`, texts);
      }
      assert.equal(new Set(texts).size, texts.length);
      assert.equal((await found({ ...both, limit: 1 })).length, 1);
      const answers = await found({ ...both, role: "assistant" });
      expects(
        answers.every((text) => !text.includes("?")),
        "only what the assistant said",
        answers,
      );
      assert.deepEqual(await found({ ...both, kind: "rule" }), []);
      assert.deepEqual(await found({ ...both, sessionId: UNKNOWN_ID }), []);
      assert.deepEqual(await found({ ...both, until: "2001-01-01" }), []);
      assert.deepEqual(await found({ ...both, since: "2001-01-01", sessionId }), texts);
      assert.deepEqual(new Set(await found({ ...both, minScore: 1 })), new Set(both.query));
      const [best = ""] = texts;
      const maxTokens = Math.ceil(best.length / 4);
      assert.deepEqual(await found({ ...both, maxTokens }), [best]);
    },
  },
  {
    name: "a text that is added is found once, and makes no rule",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const content = "Always deploy the barge from the release branch.";
      const first = await service.addMemory({ content });
      assert.equal(first.added, true);
      assert.deepEqual(await service.addMemory({ content }), { id: first.id, added: false });
      const found = await service.searchMemory({ query: "deploy the barge" });
      assert.deepEqual(
        found.map((hit) => [hit.id, hit.content]),
        [[first.id, content]],
      );
      assert.deepEqual(await service.listKnowledge({}), []);
      const { sessionId } = await service.createSession({});
      assert.doesNotMatch(await systemPrompt(service, sessionId), /barge/);
      assert.equal((await service.forgetMemory({ ids: [first.id] })).forgotten, 1);
      assert.deepEqual(await service.searchMemory({ query: "deploy the barge" }), []);
    },
  },
  {
    name: "memory says what was said around a result, and how its score came about",
    async holds(open) {
      const { service } = await remembering(await open());
      const query = REMEMBERED[1];
      const [hit] = await service.searchMemory({ query, neighbours: 1, explain: true });
      assert.equal(hit?.content, query);
      assert.deepEqual(
        [hit.neighbours?.before, hit.neighbours?.after].map((entries) =>
          entries?.map(({ content }) => content),
        ),
        [[REMEMBERED[0]], [REMEMBERED[2]]],
      );
      expects((hit.explanation?.parts.length ?? 0) > 0, "an explanation with parts", hit);
      const [bare] = await service.searchMemory({ query });
      assert.equal(bare?.neighbours, undefined);
      assert.equal(bare?.explanation, undefined);
    },
  },
  {
    name: "memory is listed page by page and counted, of the project or of one session",
    async holds(open) {
      const { service, sessionId } = await remembering(await open());
      const [first, ...rest] = await service.listMemory({});
      expects(first, "an entry", first);
      assert.deepEqual(
        [first, ...rest].map(({ content }) => content),
        [...REMEMBERED, ...SHOWN],
      );
      const page = await service.listMemory({ limit: 2, after: first.id });
      assert.deepEqual(page, rest.slice(0, 2));
      assert.equal((await service.listMemory({ role: "user", sessionId })).length, 4);
      const { entries, sessions, textBytes } = await service.memoryStats({});
      const bytes = [...REMEMBERED, ...SHOWN].join("").length;
      assert.deepEqual(
        { entries, sessions, textBytes },
        { entries: 8, sessions: 1, textBytes: bytes },
      );
      assert.equal((await service.memoryStats({ sessionId: UNKNOWN_ID })).entries, 0);
    },
  },
  {
    name: "what is forgotten is found no more, by any search, and nothing else is gone",
    async holds(open) {
      const { service, sessionId } = await remembering(await open());
      const [, port] = await service.listMemory({});
      expects(port, "an entry with the port", port);
      const log = `${sessionId}:1`;
      const receipt = await service.forgetMemory({ ids: [port.id, "no such id", log] });
      assert.equal(receipt.forgotten, 1);
      assert.deepEqual(receipt.remaining, []);
      const query = "staging port 7443";
      const { history } = await service.read({ sessionId });
      for (const left of [
        await service.searchMemory({ query }),
        await service.searchHistory({ query }),
        history,
      ]) {
        expects(
          !JSON.stringify(left).includes("7443"),
          "nothing that has the forgotten 7443",
          left,
        );
      }
      assert.equal((await service.memoryStats({})).entries, 7);
      assert.equal((await service.searchHistory({ query: "lighthouse" })).length, 2);
      assert.equal((await service.startTurn({ sessionId, prompt: "go on" })).text, "ok");

      assert.equal((await service.forgetMemory({ sessionId })).forgotten, 9);
      assert.deepEqual(await service.listMemory({}), []);
      assert.deepEqual(await service.searchHistory({ query: "lighthouse" }), []);
    },
  },
  {
    name: "a summary that told of what is forgotten is written again, and the receipt names every place",
    async holds(open) {
      const replies = [
        "Noted.",
        "It is lit.",
        "ok",
        "So Vanderhoof takes 732158846, landlord that he is.",
      ];
      const compaction = { recentTurnBudget: 1 };
      const service = await (await open())({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({});
      const said = "My landlord Quillonbrax Vanderhoof charges 732158846 zorkmids.";
      for (const prompt of [said, `Light the lamp. ${LONG}`, "the last one"]) {
        await service.startTurn({ sessionId, prompt });
      }
      await assertCompacts(service, sessionId);
      const [landlord] = await service.listMemory({});
      const { forgotten, remaining, cleaned, notCleaned } = await service.forgetMemory({
        ids: [landlord?.id ?? ""],
      });
      assert.deepEqual({ forgotten, remaining }, { forgotten: 1, remaining: [] });
      const places = cleaned.map(({ place }) => place);
      for (const place of ["log", "message", "summary", "window", "memory", "index"] as const) {
        expects(places.includes(place), `${place} among the cleaned places`, places);
      }
      assert.deepEqual(
        notCleaned.map(({ place }) => place),
        ["open_requests", "write_ahead_log", "backups"],
      );
      const { history } = await service.read({ sessionId });
      assert.doesNotMatch(JSON.stringify(history), /landlord|Vanderhoof|732158846/);
      assert.match(JSON.stringify(history), /Light the lamp/);
      assert.deepEqual(await service.searchHistory({ query: "Vanderhoof 732158846" }), []);
    },
  },
  {
    name: "a session that was never compacted is forgotten as a whole",
    async holds(open) {
      const replies = ["The staging port is 7443."];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: "which port does staging use?" });
      assert.equal((await service.forgetMemory({ sessionId })).forgotten, 2);
      assert.deepEqual(await service.searchHistory({ query: "staging port 7443" }), []);
      const { history } = await service.read({ sessionId });
      assert.doesNotMatch(JSON.stringify(history), /staging|7443/);
    },
  },
  {
    name: "compaction by hand keeps the recent turns, and doing it again does nothing",
    async holds(open) {
      const replies = ["a1", "a2", "a3", "Summary by hand."];
      const compaction = { recentTurnBudget: 1 };
      const service = await (await open())({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({ memory: false });
      for (const prompt of [LONG, LONG, "the last one"]) {
        await service.startTurn({ sessionId, prompt });
      }
      const first = await service.compact({ sessionId, instructions: "Keep the fox." });
      expects(first.compacted, "a compaction", first);
      assert.equal(first.discardedMessages, 4);
      assert.equal((await service.compact({ sessionId })).compacted, false);
    },
  },
  {
    name: "a summary that fails is written without a model, where that is the setting",
    async holds(open) {
      const compaction = { ...EAGER, onSummaryFailure: "fallback" as const };
      const replies = [LONG, LONG, { error: "PROVIDER_ERROR" as const }, "done"];
      const service = await (await open())({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({ memory: false });
      for (const prompt of ["Fix the parser.", "two", "three"]) {
        await service.startTurn({ sessionId, prompt });
      }
      const { history } = await service.read({ sessionId });
      const summary = history.find(({ message }) => isSummary(message));
      assert.match(JSON.stringify(summary?.message), /\[Start\] Fix the parser\./);
    },
  },
  {
    name: "appended messages are turns of the history, without a model call, and a search finds them",
    durable: true,
    async holds(open) {
      const first = await (await open())({ capabilities: EVERYTHING, replies: ["Yes."] });
      const { sessionId } = await first.createSession({});
      const begun = await first.context({ sessionId });
      const done = await first.appendMessages({ sessionId, messages: ASKED });
      assert.deepEqual([done.sessionId, done.added, done.turns], [sessionId, ASKED.length, 2]);
      expects(done.historyTokens > 0, "a history of some tokens", done.historyTokens);
      const { history, turns, usage } = await first.read({ sessionId });
      assert.equal(turns, 2);
      assert.equal(usage.outputTokens, 0);
      const appended = history.filter(({ message }) => message.role !== "system");
      assert.deepEqual(
        appended.map(({ message }) => message),
        ASKED,
      );
      assert.deepEqual(
        appended.map(({ id }) => id),
        done.messages,
      );
      assert.deepEqual(
        appended.map(({ turn }) => turn),
        [0, 0, 0, 0, 1],
      );
      const { usedTokens } = await first.context({ sessionId });
      expects(
        usedTokens > begun.usedTokens,
        `more than ${begun.usedTokens} tokens in use`,
        usedTokens,
      );
      const [found] = await first.searchMemory({ query: "which harbour does the barge moor in" });
      assert.equal(found?.id, `${sessionId}:${done.messages[0]}`);
      const [logged] = await first.searchHistory({ query: "berth twelve" });
      assert.equal(logged?.sessionId, sessionId);
      // The request did not say that the user typed them.
      assert.deepEqual(await first.listKnowledge({ kind: "preference" }), []);
      await first.close();

      const second = await (await open())({ capabilities: EVERYTHING, replies: ["Berth twelve."] });
      const turn = await second.startTurn({ sessionId, prompt: "Which berth?" });
      assert.deepEqual([turn.text, turn.turns], ["Berth twelve.", 3]);
    },
  },
  {
    name: "a batch that is appended again under its key adds nothing, also after everything was closed",
    durable: true,
    async holds(open) {
      const first = await (await open())({ capabilities: EVERYTHING });
      const { sessionId } = await first.createSession({});
      const batch = { sessionId, messages: ASKED, key: "run 1" };
      const done = await first.appendMessages(batch);
      assert.deepEqual(await first.appendMessages(batch), { ...done, added: 0 });
      const [again] = ASKED;
      expects(again, "a message to append again", again);
      const next = await first.appendMessages({ sessionId, messages: [again], key: "run 2" });
      assert.equal(next.added, 1);
      await first.close();

      const second = await (await open())({ capabilities: EVERYTHING });
      const repeated = await second.appendMessages(batch);
      assert.deepEqual([repeated.added, repeated.messages], [0, done.messages]);
      const { messageCount } = await second.read({ sessionId });
      assert.equal(messageCount, 1 + ASKED.length + 1);
      const other = { sessionId, messages: [again], key: "run 1" };
      const refused = await assertCode(second.appendMessages(other), "SESSION_CONFLICT");
      assert.match(refused.message, /"run 1" belongs to a batch of 5 messages/);
    },
  },
  {
    name: "a batch of messages is appended whole or not at all",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const { sessionId } = await service.createSession({});
      const before = await service.read({ sessionId });
      const [user, call, results] = ASKED;
      expects(user && call && results, "three messages", [user, call, results]);
      const batches: readonly (readonly [RegExp, readonly Message[]])[] = [
        [/the next message has no result of it/, [user, call]],
        [/which the message before does not make/, [user, results]],
        [/which the message before does not make/, [call, user, results]],
        [/has two results/, [call, { role: "tool_results", results: [RESULT, RESULT] }]],
        [/only a compaction writes/, [{ role: "user", content: "x", kind: "compaction_summary" }]],
        [/messages/, []],
      ];
      for (const [why, messages] of batches) {
        const refused = await assertCode(
          service.appendMessages({ sessionId, messages: [...messages] }),
          "INVALID_PARAMS",
        );
        assert.match(refused.message, why);
      }
      assert.deepEqual(await service.read({ sessionId }), before);
    },
  },
  {
    name: "appending past the threshold calls no model; the next turn compacts",
    async holds(open) {
      const replies = ["The summary of the fox.", "done"];
      const service = await (await open())({
        capabilities: EVERYTHING,
        replies,
        compaction: EAGER,
      });
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: "The fox begins." });
      const messages: Message[] = ["one", "two", "three", "four", "five", "six"].flatMap((name) => [
        { role: "user", content: `${name}: ${LONG}` },
        { role: "assistant", content: `Harbour ${name} is noted.` },
      ]);
      await service.appendMessages({ sessionId, messages });
      const grown = await service.read({ sessionId });
      assert.deepEqual([grown.compactions, grown.turns], [0, 7]);
      assert.equal((await service.context({ sessionId })).compaction?.tokensLeft, 0);
      await service.startTurn({ sessionId, prompt: "and now?" });
      const after = await service.read({ sessionId });
      expects(after.compactions > 0, "a compaction", after.compactions);
      expects(
        after.historyTokens < grown.historyTokens,
        `fewer than ${grown.historyTokens} tokens`,
        after.historyTokens,
      );
      const found = await service.searchMemory({ query: "harbour four" });
      const isNoted = found.some(({ content }) => content === "Harbour four is noted.");
      expects(isNoted, 'a result "Harbour four is noted."', found);
    },
  },
  {
    name: "messages are not appended while a turn runs",
    async holds(open) {
      const replies = [{ text: "never", delayMs: 60_000 }];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      const begun = Promise.withResolvers<void>();
      const turn = service.startTurn(
        { sessionId, prompt: "1" },
        { onEvent: () => begun.resolve() },
      );
      const interrupted = assertCode(turn, "TURN_INTERRUPTED");
      await begun.promise;
      await assertCode(service.appendMessages({ sessionId, messages: ASKED }), "SESSION_BUSY");
      await service.interrupt({ sessionId });
      await interrupted;
      const { added } = await service.appendMessages({ sessionId, messages: ASKED });
      assert.equal(added, ASKED.length);
    },
  },
  {
    name: "appended messages teach the project only when a user wrote them",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const { sessionId } = await service.createSession({});
      const messages: Message[] = [{ role: "user", content: "Always sign the manifest in green." }];
      for (const author of ["model", "file", "program"] as const) {
        await service.appendMessages({ sessionId, messages, origin: { author } });
      }
      assert.deepEqual(await service.listKnowledge({ kind: "preference" }), []);
      await service.appendMessages({ sessionId, messages, origin: { author: "user" } });
      const learned = await service.listKnowledge({ kind: "preference" });
      assert.deepEqual(
        learned.map(({ content }) => content),
        ["Always sign the manifest in green."],
      );
    },
  },
  {
    name: "a task record is changed by name, refuses what is not there, and goes with a new task",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const { sessionId } = await service.createSession({});
      const first = await service.updateTask({
        sessionId,
        newTask: "Ship the release.",
        add: ["Write the notes", "Tag it"],
        notes: { branch: "release/2", camelCase: "kept" },
        openFiles: ["CHANGELOG.md"],
      });
      assert.deepEqual(first, {
        goal: "Ship the release.",
        subTasks: [
          { id: 1, text: "Write the notes", done: false },
          { id: 2, text: "Tag it", done: false },
        ],
        scratchpad: { branch: "release/2", camelCase: "kept" },
        activeFiles: ["CHANGELOG.md"],
      });
      const second = await service.updateTask({ sessionId, done: [1], notes: { branch: "" } });
      assert.deepEqual(second.subTasks[0]?.done, true);
      assert.deepEqual(second.scratchpad, { camelCase: "kept" });
      assert.deepEqual((await service.read({ sessionId })).task, second);
      assert.deepEqual(await service.updateTask({ sessionId }), second);
      const notes = { long: "x".repeat(4000), longer: "y".repeat(4000), longest: "z".repeat(4000) };
      await assertCode(service.updateTask({ sessionId, notes }), "NOT_POSSIBLE");
      const third = await service.updateTask({ sessionId, newTask: "Rest." });
      assert.deepEqual(third, { goal: "Rest.", subTasks: [], scratchpad: {}, activeFiles: [] });
    },
  },
  {
    name: "the task record, pins and what they keep survive compaction and everything being closed",
    durable: true,
    async holds(open) {
      const call = { id: "c1", name: "datetime", args: {} };
      const first = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies: [{ toolCalls: [call] }, LONG, LONG, "The summary.", "done"],
      });
      const { sessionId } = await first.createSession({ memory: false });
      await first.updateTask({ sessionId, newTask: "Count foxes.", add: ["Find one"] });
      await first.startTurn({ sessionId, prompt: "what time is it?" });
      const results = (await first.read({ sessionId })).history[2];
      assert.deepEqual(toolResults(results?.message ?? NOBODY)[0]?.tool_use_id, "c1");
      const { pins } = await first.pin({ sessionId, message: results?.id ?? 0 });
      assert.deepEqual(
        pins.map(({ message, position, role }) => [message, position, role]),
        [[results?.id, 2, "tool"]],
      );
      await first.startTurn({ sessionId, prompt: "two" });
      const seen: EventEnvelope[] = [];
      const onEvent = (event: EventEnvelope) => void seen.push(event);
      await first.startTurn({ sessionId, prompt: "three" }, { onEvent });
      await first.close();

      const completed = seen
        .map(({ payload }) => payload)
        .find(({ type }) => type === "compaction_completed");
      const report = completed?.type === "compaction_completed" ? completed.report : undefined;
      assert.deepEqual(report?.survived.pins, [results?.id]);
      assert.equal(report?.survived.open_sub_tasks, 1);
      assert.equal(report?.only_in_log.messages, report?.cut.messages);

      const second = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies: [LONG, "The second summary.", "done", LONG, "The third summary.", "done"],
      });
      const view = await second.read({ sessionId });
      assert.equal(view.task.goal, "Count foxes.");
      expects(view.compactions > 0, "a compaction", view.compactions);
      await assertWholeCalls(second, sessionId);
      const pinned = view.history.filter(({ pinned }) => pinned);
      assert.deepEqual(pinned, [{ ...results, pinned: true }]);
      const { parts } = await second.context({ sessionId });
      expects(parts.some(isShown), "a part of the context that shows the pin", parts);
      await second.unpin({ sessionId, message: results?.id ?? 0 });
      for (const prompt of ["four", "five", "six", "seven"]) {
        await second.startTurn({ sessionId, prompt });
      }
      const after = await second.read({ sessionId });
      expects(
        after.compactions > view.compactions,
        `more than ${view.compactions} compactions`,
        after.compactions,
      );
      const stays = after.history.some(({ id }) => id === results?.id);
      expects(!stays, "a history without the message that is no longer pinned", after.history);
      assert.deepEqual((await second.pins({ sessionId })).pins, []);
    },
  },
  {
    name: "pins survive 20 compactions, in order, with their tool partners",
    async holds(open) {
      const call = { id: "c1", name: "datetime", args: {} };
      const replies = Array.from({ length: 50 }, (_, n) => `Reply ${n}. ${LONG.slice(0, 600)}`);
      const service = await (await open())({
        capabilities: EVERYTHING,
        compaction: { windowSize: 1, minTurnsBetweenCompactions: 1 },
        replies: [{ toolCalls: [call] }, ...replies],
      });
      const { sessionId } = await service.createSession({ memory: false });
      await service.startTurn({ sessionId, prompt: "Keep this: what time is it?" });
      const before = (await service.read({ sessionId })).history;
      await service.pin({ sessionId, position: 2 });
      await service.pin({ sessionId, position: 0 });
      for (let turn = 0; turn < 21; turn += 1) {
        await service.startTurn({ sessionId, prompt: `Turn ${turn}` });
      }
      const { history, compactions } = await service.read({ sessionId });
      assert.equal(compactions, 20);
      // The call was never pinned itself.
      assert.deepEqual(
        history.slice(0, 3).map(({ id, message, pinned }) => [id, message, pinned]),
        [true, undefined, true].map((pinned, at) => [before[at]?.id, before[at]?.message, pinned]),
      );
      await assertWholeCalls(service, sessionId);
    },
  },
  {
    name: "pins have a budget; what needs none, or is gone, is refused with the reason",
    async holds(open) {
      const replies = [LONG, LONG, "The summary.", "done"];
      const service = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies,
      });
      const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
      await service.startTurn({ sessionId, prompt: "one" });
      const refused = await assertCode(
        service.pin({ sessionId, position: 2 }),
        "PIN_BUDGET_EXCEEDED",
      );
      assert.match(refused.message, /budget is 625\./);
      for (const prompt of ["two", "three"]) await service.startTurn({ sessionId, prompt });
      const { history } = await service.read({ sessionId });
      const summary = history.findIndex(({ message }) => isSummary(message));
      const pin = (which: object) => service.pin({ sessionId, ...which });
      await assertCode(pin({ position: 0 }), "NOT_POSSIBLE");
      await assertCode(pin({ position: summary }), "NOT_POSSIBLE");
      await assertCode(pin({ position: 99 }), "MESSAGE_NOT_IN_HISTORY");
      await assertCode(pin({ message: 10_000 }), "MESSAGE_NOT_IN_HISTORY");
      const gone = await assertCode(pin({ message: 4 }), "MESSAGE_NOT_IN_HISTORY");
      assert.match(gone.hint, /search/);
      const pins = await pin({ position: history.length - 1 });
      expects(
        pins.tokens > 0 && pins.tokens <= pins.tokensMax,
        `1 to ${pins.tokensMax} tokens of pins`,
        pins.tokens,
      );
      assert.deepEqual(await pin({ position: history.length - 1 }), pins);
      assert.deepEqual(await service.pins({ sessionId }), pins);
    },
  },
  {
    name: "the context says where each token goes, and when the next compaction comes",
    async holds(open) {
      const compaction = {
        autoCompactThreshold: 5000,
        windowSize: 4,
        minTurnsBetweenCompactions: 1,
      };
      const service = await (await open())({ capabilities: EVERYTHING, compaction });
      const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
      await service.startTurn({ sessionId, prompt: "one" });
      const { history, historyTokens } = await service.read({ sessionId });
      const view = await service.context({ sessionId });
      const sum = (values: readonly number[]) => values.reduce((total, each) => total + each, 0);
      assert.equal(sum(view.parts.map(({ tokens }) => tokens)), view.usedTokens);
      assert.equal(sum(view.parts.map(({ messages }) => messages)), history.length);
      expects(
        view.usedTokens > historyTokens,
        `more than the history's ${historyTokens} tokens`,
        view.usedTokens,
      );
      assert.equal(view.threshold, 5000);
      expects(view.lastInputTokens > 0, "the input tokens of the last call", view.lastInputTokens);
      assert.deepEqual(
        [view.compaction?.due, view.compaction?.messagesLeft, view.compaction?.callsLeft],
        [false, 7, 0],
      );
    },
  },
  {
    name: "no message is outside all tiers: it is in the history, or it left and a search finds it",
    async holds(open) {
      // A request for an answer and one for a summary get the next reply.
      const replies = Array.from({ length: 20 }, (_, n) => `Reply ${n}. ${LONG.slice(0, 2000)}`);
      const compaction = { ...EAGER, windowSize: 2 };
      const service = await (await open())({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({});
      for (let turn = 0; turn < 7; turn += 1) {
        await service.startTurn({ sessionId, prompt: `Question ${turn} about topic${turn}x` });
      }
      const { compactions } = await service.read({ sessionId });
      expects(compactions > 1, "more than one compaction", compactions);
      await assertNothingLost(service, sessionId);
    },
  },
  {
    name: "a call that needs approval waits, is answered after everything was closed, and its turn goes on",
    durable: true,
    async holds(open) {
      const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
      const first = await (await open())({ ...setup, replies: [asksForTime("a")] });
      const { sessionId } = await first.createSession({});
      const turn = await first.startTurn({ sessionId, prompt: "what time is it?" });
      assert.equal(turn.stopReason, "approval_required");
      await first.close();

      const second = await (await open())({ ...setup, replies: ["it is late"] });
      const [approval, ...others] = await second.listApprovals({});
      assert.deepEqual(others, []);
      expects(approval, "a call that waits for approval", approval);
      const { approvalId, requestedAt, ...rest } = approval;
      expects(Date.parse(requestedAt) > 0, "a date and time", requestedAt);
      assert.deepEqual(rest, {
        sessionId,
        toolUseId: "a",
        tool: "datetime",
        args: { time_zone: "Europe/Berlin" },
        goal: "what time is it?",
      });
      const answer = { sessionId, approvalId, decision: "allow" } as const;
      const answered = await second.answerApproval(answer);
      assert.deepEqual(answered, { sessionId, continues: false, waiting: 0 });
      await assertCode(second.answerApproval(answer), "APPROVAL_NOT_FOUND");
      const resumed = await second.resume({ sessionId });
      assert.deepEqual([resumed.text, resumed.toolCalls], ["it is late", 1]);
      await assertWholeCalls(second, sessionId);
      await assertCode(second.resume({ sessionId }), "NOT_POSSIBLE");
    },
  },
  {
    name: "a turn that waits for approval goes on as soon as it is answered",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, approvals: { ...ASKS_AT_ONCE, timeoutMs: 60_000 } };
      const service = await (await open())({ ...setup, replies: [asksForTime("a"), "it is late"] });
      const { sessionId } = await service.createSession({});
      const seen: string[] = [];
      const turn = service.startTurn(
        { sessionId, prompt: "what time is it?" },
        { onEvent: ({ payload }) => seen.push(payload.type) },
      );
      const { approvalId } = await waitingCall(service);
      const answered = await service.answerApproval({ sessionId, approvalId, decision: "allow" });
      assert.deepEqual(answered, { sessionId, continues: true, waiting: 0 });
      assert.equal((await turn).text, "it is late");
      assert.deepEqual(
        seen.filter((type) => type.startsWith("tool_")),
        [
          "tool_call_requested",
          "tool_approval_requested",
          "tool_approval_resolved",
          "tool_execution_started",
          "tool_execution_completed",
          "tool_result_received",
        ],
      );
    },
  },
  {
    name: "a denial tells the model why, and changes the system prompt of the next session",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
      const service = await (await open())({ ...setup, replies: [asksForTime("a"), "I see"] });
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: "plan the day" });
      const { approvalId } = await waitingCall(service);
      const reason = "Look at the calendar instead.";
      await service.answerApproval({ sessionId, approvalId, decision: "deny", reason });
      assert.equal((await service.resume({ sessionId })).text, "I see");
      const { history } = await service.read({ sessionId });
      const results = history.flatMap(({ message }) => toolResults(message));
      assert.match(results[0]?.content ?? "", /denied.*Look at the calendar instead\./);

      const [correction] = await service.listKnowledge({ kind: "correction" });
      assert.deepEqual(
        [correction?.tool, correction?.reason, correction?.goal],
        ["datetime", reason, "plan the day"],
      );
      const [rule] = await service.listKnowledge({ kind: "rule" });
      const { id, lastTime: time, source: { to: seq } = { to: 0 } } = correction ?? { id: "" };
      assert.deepEqual(rule?.restsOn, [{ id, origin: "user", sessionId, seq, time, said: reason }]);
      assert.deepEqual(await service.readKnowledge({ knowledgeId: rule?.id ?? "" }), rule);
      const next = await service.createSession({});
      assert.match(
        await systemPrompt(service, next.sessionId),
        /## Learned Behavioral Rules[\s\S]*1\. [\s\S]*datetime[\s\S]*Look at the calendar instead\./,
      );
      assert.doesNotMatch(await systemPrompt(service, sessionId), /Learned/);
    },
  },
  {
    name: "another prompt denies a call that waits, and nothing is learned from it",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
      const service = await (await open())({ ...setup, replies: [asksForTime("a"), "on we go"] });
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: "one" });
      assert.equal((await service.startTurn({ sessionId, prompt: "two" })).text, "on we go");
      await assertWholeCalls(service, sessionId);
      assert.deepEqual(await service.listApprovals({ sessionId }), []);
      assert.deepEqual(await service.listKnowledge({ kind: "correction" }), []);
    },
  },
  {
    name: "what the project has learned is taught, listed, read, edited, pinned, made rules of, and forgotten",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const content = "Always use pnpm.";
      const added = await service.addKnowledge({ content, tags: ["tools"] });
      assert.deepEqual(
        [added.kind, added.content, added.tags, added.origin, added.count],
        ["preference", content, ["tools"], "added", 1],
      );
      const knowledgeId = added.id;
      assert.deepEqual(await service.readKnowledge({ knowledgeId }), added);
      assert.deepEqual(await service.listKnowledge({ kind: "preference", tag: "tools" }), [added]);
      const edited = await service.editKnowledge({
        knowledgeId,
        content: "Always use yarn.",
        pinned: true,
      });
      assert.deepEqual(
        [edited.content, edited.pinned, edited.edited],
        ["Always use yarn.", true, true],
      );
      const rule = await service.addKnowledge({ content: "Be brief.", kind: "rule" });
      const made = await service.distillKnowledge({});
      assert.equal(made.madeBy, "grouping");
      assert.deepEqual(
        made.rules.map(({ content, pinned }) => [content, pinned]),
        [
          ["Always use yarn.", true],
          ["Be brief.", false],
        ],
      );
      assert.equal((await service.readKnowledge({ knowledgeId })).usedAt, undefined);
      const hits = await service.searchMemory({ query: "yarn" });
      const used = await service.readKnowledge({ knowledgeId });
      expects(used.usedAt, "the time when it was last used", used);
      const isFound = hits.some(({ content }) => content === "Always use yarn.");
      expects(isFound, 'a result "Always use yarn."', hits);
      const { sessionId } = await service.createSession({});
      const prompt = await systemPrompt(service, sessionId);
      expects(prompt.includes(made.addendum), `a system prompt with "${made.addendum}"`, prompt);
      await service.forgetKnowledge({ knowledgeId });
      await assertCode(service.readKnowledge({ knowledgeId }), "KNOWLEDGE_NOT_FOUND");
      const left = await service.listKnowledge({});
      assert.deepEqual(
        left.map(({ id }) => id),
        [rule.id],
      );
      assert.deepEqual(await service.searchMemory({ query: "yarn" }), []);
    },
  },
]);

/** What `remembering` compacts away, in its order: long enough that a summary is shorter. */
const REMEMBERED = [
  "which port does staging use?",
  "The staging port is 7443.",
  "who keeps the lighthouse?",
  "Ottilie keeps the lighthouse.",
  "a fable, please",
  LONG,
] as const;

/** The last turn of `remembering`, which the window still shows. */
const SHOWN = ["more", "ok"] as const;

/** A service that has compacted three turns away. */
async function remembering(
  open: OpenService,
): Promise<{ readonly service: SessionService; readonly sessionId: string }> {
  const service = await open({
    capabilities: EVERYTHING,
    compaction: { recentTurnBudget: 1 },
    replies: [REMEMBERED[1], REMEMBERED[3], LONG, SHOWN[1], "The summary."],
  });
  const { sessionId } = await service.createSession({});
  for (const prompt of [REMEMBERED[0], REMEMBERED[2], REMEMBERED[4], SHOWN[0]]) {
    await service.startTurn({ sessionId, prompt });
  }
  await service.compact({ sessionId });
  return { service, sessionId };
}

/** Asks before the one built-in tool that every build has, and does not wait. */
const ASKS_AT_ONCE = { policies: { datetime: "ask" }, timeoutMs: 1 } as const;

function asksForTime(id: string): ScriptedReply {
  return { toolCalls: [{ id, name: "datetime", args: { time_zone: "Europe/Berlin" } }] };
}

/** The one call that waits, once it does. */
async function waitingCall(service: SessionService): Promise<PendingApproval> {
  for (let tries = 0; tries < 200; tries += 1) {
    const [approval] = await service.listApprovals({});
    if (approval) return approval;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return assert.fail("no call waits for approval");
}

async function systemPrompt(service: SessionService, sessionId: string): Promise<string> {
  const { history } = await service.read({ sessionId });
  const [first] = history;
  return first?.message.role === "system" ? first.message.content : "";
}

async function assertCode(promise: Promise<unknown>, code: ErrorCode): Promise<SessionError> {
  try {
    await promise;
  } catch (error) {
    expects(SessionError.is(error), `a SessionError ${code}`, error);
    assert.equal(error.code, code);
    return error;
  }
  return assert.fail(`nothing was thrown where ${code} was expected`);
}

const RESULT = { tool_use_id: "c1", content: "Berth twelve, Emden.", is_error: false };

/** Two turns of another program's loop. The second one has no answer yet. */
const ASKED: Message[] = [
  { role: "user", content: "Always moor the barge in the harbour of Emden." },
  { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "berths", args: { port: 7 } }] },
  { role: "tool_results", results: [RESULT] },
  { role: "assistant", content: "The barge moors at berth twelve." },
  { role: "user", content: "And tomorrow?" },
];

const NOBODY: Message = { role: "user", content: "" };

function isShown({ name, tokens }: { readonly name: string; readonly tokens: number }): boolean {
  return name === "task_record" && tokens > 0;
}

/** Every message is in the history, or it left in a compaction and a search finds it. */
async function assertNothingLost(service: SessionService, sessionId: string): Promise<void> {
  const { history, seq } = await service.read({ sessionId });
  const held = new Set(history.map(({ id }) => id));
  const log = await replay(service, sessionId, 0, seq);
  const spans = log.flatMap(({ payload }) =>
    payload.type === "compaction_completed" ? payload.discarded : [],
  );
  const assembler = new MessageAssembler();
  for (const { event_id, timestamp_ms, seq, payload } of log) {
    const event = payload as DurableEvent;
    const logged = assembler.push({ event_id, timestamp_ms, seq, event, schema_version: 1 });
    if (!logged || held.has(logged.id)) continue;
    const isCovered = spans.some(({ from, to }) => from <= logged.id && logged.id <= to);
    expects(isCovered, `the message ${logged.id} in the history, or in a discarded span`, spans);
    const query = indexableText(logged.message).slice(0, 60);
    if (query === "") continue;
    const remembered = await service.searchMemory({ query, sessionId, limit: 100 });
    const isRemembered = remembered.some(({ content }) => content.startsWith(query));
    expects(isRemembered, `a memory that begins with "${query}"`, remembered);
    const found = await service.searchHistory({ query, sessionId, limit: 100 });
    expects(found.length > 0, `a result of a search in the log for "${query}"`, found);
  }
}

async function assertCompacts(service: SessionService, sessionId: string): Promise<void> {
  const outcome = await service.compact({ sessionId });
  expects(outcome.compacted, "a compaction", outcome);
}

async function assertWholeCalls(service: SessionService, sessionId: string): Promise<void> {
  const { history } = await service.read({ sessionId });
  const calls = history.flatMap(({ message }) => toolUses(message).map((call) => call.id));
  const results = history.flatMap(({ message }) =>
    toolResults(message).map((result) => result.tool_use_id),
  );
  assert.deepEqual(results, calls);
}

/** The first `count` events after `afterSeq`. */
async function replay(
  service: SessionService,
  sessionId: string,
  afterSeq: number,
  count: number,
): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  const stop = new AbortController();
  for await (const event of service.subscribe({ sessionId, afterSeq }, { signal: stop.signal })) {
    events.push(event);
    if (events.length === count) stop.abort();
  }
  return events;
}

/** The text as a stream of bytes, cut within a line. */
async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  yield bytes.slice(0, 20);
  yield bytes.slice(20);
}
