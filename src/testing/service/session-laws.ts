import assert from "node:assert/strict";
import type { SessionService } from "../../core/session-service.ts";
import { durable, expects, type Law, lawsOf } from "../law.ts";
import { ASKED, assertCode, BUILDS, EVERYTHING, type OpenService } from "./service-scenes.ts";

/** Sessions: made, looked up, kept, deleted, and apart for each user. */
export const sessionLaws: readonly Law<OpenService>[] = lawsOf({
  ...Object.fromEntries(
    Object.entries(BUILDS).map(([build, capabilities]) => [
      `build ${build}: creating a session and running a turn work, and tell what happens`,
      async (open: OpenService) => {
        const service = await open({ capabilities, replies: ["hello"] });
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
    ]),
  ),
  "data of one user is not found, listed, searched or changed for another, nor without a user":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING, replies: ["ok"] });
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
  "a transcript is imported once, for one user, and its forgotten texts stay forgotten": async (
    open,
  ) => {
    const service = await open({ capabilities: EVERYTHING });
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
  "without a session store, lookups are SESSION_PERSISTENCE_DISABLED": async (open) => {
    const service = await open({ capabilities: ["memory-store"] });
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
  "without a memory store, memory is SESSION_MEMORY_DISABLED": async (open) => {
    const service = await open({ capabilities: ["session-store"] });
    await assertCode(service.searchMemory({ query: "fox" }), "SESSION_MEMORY_DISABLED");
    await assertCode(service.addMemory({ content: "fox" }), "SESSION_MEMORY_DISABLED");
    await assertCode(service.listMemory({}), "SESSION_MEMORY_DISABLED");
    await assertCode(service.memoryStats({}), "SESSION_MEMORY_DISABLED");
    await assertCode(service.forgetMemory({ ids: ["x"] }), "SESSION_MEMORY_DISABLED");
    await assertCode(service.createSession({ memory: true }), "SESSION_MEMORY_DISABLED");
    await assertCode(service.listKnowledge({}), "SESSION_KNOWLEDGE_DISABLED");
    await assertCode(service.createSession({ knowledge: true }), "SESSION_KNOWLEDGE_DISABLED");
  },
  "without compaction, asking for it is SESSION_COMPACTION_DISABLED": async (open) => {
    const service = await open({ capabilities: ["session-store", "memory-store"] });
    const { sessionId } = await service.createSession({});
    const compaction = { recentTurnBudget: 2 };
    await assertCode(service.createSession({ compaction }), "SESSION_COMPACTION_DISABLED");
    await assertCode(
      service.startTurn({ sessionId, prompt: "hi", compaction }),
      "SESSION_COMPACTION_DISABLED",
    );
    await assertCode(service.compact({ sessionId }), "SESSION_COMPACTION_DISABLED");
  },
  "a session is resumed, listed and archived after everything was closed": durable(async (open) => {
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
      () => second.unpin({ sessionId, position: 1 }),
      () => second.archive({ sessionId }),
    ];
    for (const request of requests) {
      const { message, hint, archived } = await assertCode(request(), "SESSION_NOT_FOUND");
      assert.equal(message, `The session "${sessionId}" is archived.`);
      assert.match(hint, /unarchive/i);
      assert.equal(archived, true);
    }
    await second.unarchive({ sessionId });
    await second.unarchive({ sessionId });
    assert.equal((await second.list({})).length, 1);
    assert.equal((await second.startTurn({ sessionId, prompt: "third" })).turns, 3);
  }),
  "a session says where it came from, and is found by that after everything was closed": durable(
    async (open) => {
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
  ),
  "a deleted session is gone from every lookup": durable(async (open) => {
    const service = await (await open())({ capabilities: EVERYTHING, replies: ["zebra"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "a giraffe" });
    await service.delete({ sessionId });
    await assertCode(service.read({ sessionId }), "SESSION_NOT_FOUND");
    assert.deepEqual(await service.list({ includeArchived: true }), []);
    assert.deepEqual(await service.searchHistory({ query: "giraffe" }), []);
  }),
  "a deleted session is restored as it was, with its memory; one that was deleted now is not":
    durable(async (open) => {
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
    }),
  "a bad request is INVALID_PARAMS, and the message names the field": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
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
      ["recentTurnBudget", () => service.createSession({ compaction: { recentTurnBudget: -1 } })],
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
  "an unknown session is SESSION_NOT_FOUND": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
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
    for (const request of requests) {
      const { archived } = await assertCode(request(), "SESSION_NOT_FOUND");
      assert.equal(archived, undefined);
    }
  },
});

/** A conversation as a list of messages, which many programs write. */
const TRANSCRIPT = `${JSON.stringify({
  messages: [
    { role: "user", content: "Where does the heron nest?" },
    { role: "assistant", content: "The heron nests in the alder." },
  ],
})}\n`;

/** The text as a stream of bytes, cut within a line. */
async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  yield bytes.slice(0, 20);
  yield bytes.slice(20);
}
