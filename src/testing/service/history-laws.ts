import assert from "node:assert/strict";
import type { EventEnvelope } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";
import { durable, expects, type Law, lawsOf } from "../law.ts";
import {
  assertCode,
  assertCompacts,
  crampedSession,
  EVERYTHING,
  LONG,
  type OpenService,
  ROOMY,
} from "./service-scenes.ts";

/** Room for what a compaction by hand took out. */

/** A session with three turns, compacted by hand; the history before and after it. */
async function compacted(service: SessionService) {
  const { sessionId } = await service.createSession({ memory: false });
  for (const prompt of [`The fox is red. ${LONG}`, `The owl is white. ${LONG}`, "And the hare?"]) {
    await service.startTurn({ sessionId, prompt });
  }
  const { history: before } = await service.read({ sessionId });
  await assertCompacts(service, sessionId);
  const { history: after, seq } = await service.read({ sessionId });
  return { sessionId, before, after, compaction: seq };
}

/** The promises of what takes a compaction back. */
export const historyLaws: readonly Law<OpenService>[] = lawsOf({
  "a compaction can be undone, with what was said since, and the undo too, after everything was closed":
    durable(async (open) => {
      const setup = { capabilities: EVERYTHING, compaction: ROOMY };
      const first = await (await open())(setup);
      const { sessionId, before, after } = await compacted(first);
      await first.startTurn({ sessionId, prompt: "The hare is grey." });
      const { history: since, historyTokens } = await first.read({ sessionId });
      const said = since.slice(after.length);
      const outcome = await first.undoCompaction({ sessionId });
      expects(outcome.undone, "an undo", outcome);
      assert.deepEqual(
        outcome.returned,
        before.slice(0, 4).map(({ id }) => id),
      );
      assert.equal(outcome.messages, before.length + said.length);
      assert.equal(outcome.tokensMax, ROOMY.autoCompactThreshold);
      expects(outcome.usedTokens > historyTokens, `more than ${historyTokens} tokens`, outcome);
      const { usedTokens, parts } = await first.context({ sessionId });
      // Each part is rounded.
      const apart = Math.abs(usedTokens - outcome.usedTokens);
      expects(apart < parts.length, "what `context` says", outcome.usedTokens);
      assert.deepEqual((await first.read({ sessionId })).history, [...before, ...said]);
      await first.close();

      const second = await (await open())(setup);
      assert.deepEqual((await second.read({ sessionId })).history, [...before, ...said]);
      const redone = await second.undoCompaction({ sessionId, redo: true });
      expects(redone.undone, "an undo of the undo", redone);
      assert.equal(redone.compaction, outcome.event);
      const view = await second.read({ sessionId });
      assert.deepEqual(view.history, since);
      assert.equal(view.historyTokens, historyTokens);
    }),
  "an undo without room changes nothing, and says by how much and what to leave out": async (
    open,
  ) => {
    const { service, sessionId } = await crampedSession(open);
    const { history, compactions, seq } = await service.read({ sessionId });
    expects(compactions > 0, "a compaction", compactions);
    const refused = await service.undoCompaction({ sessionId });
    expects(!refused.undone, "an undo without room", refused);
    assert.match(refused.reason, new RegExp(`${refused.tokensOver} more than there is room for`));
    expects(refused.tokensOver > 0 && refused.leaveOut.length > 0, "what to leave out", refused);
    const unchanged = await service.read({ sessionId });
    assert.deepEqual([unchanged.history, unchanged.seq], [history, seq]);

    const { leaveOut } = refused;
    const outcome = await service.undoCompaction({ sessionId, leaveOut: [...leaveOut] });
    expects(outcome.undone, "an undo that leaves messages out", outcome);
    assert.deepEqual(outcome.leftOut, leaveOut);
    const now = (await service.read({ sessionId })).history.map(({ id }) => id);
    expects(!leaveOut.some((id) => now.includes(id)), "a history without them", now);
    expects(
      outcome.returned.every((id) => now.includes(id)),
      "a history with the others",
      now,
    );
    const { compaction: next } = await service.context({ sessionId });
    assert.equal(next?.due, false);
  },
  "pins stay through an undo, and what cannot be undone is refused with the reason": async (
    open,
  ) => {
    const service = await open({ capabilities: EVERYTHING, compaction: ROOMY });
    const { sessionId } = await service.createSession({ memory: false });
    await assertCode(service.undoCompaction({ sessionId }), "NOT_POSSIBLE");
    await assertCode(service.undoCompaction({ sessionId, redo: true }), "NOT_POSSIBLE");
    const made = await compacted(service);
    const kept = made.after.at(-1)?.id ?? 0;
    await service.pin({ sessionId: made.sessionId, message: kept });
    const request = { sessionId: made.sessionId };
    const wrong = { ...request, leaveOut: [kept] };
    await assertCode(service.undoCompaction(wrong), "INVALID_PARAMS");
    await assertCode(service.undoCompaction({ ...request, event: 1 }), "NOT_POSSIBLE");
    const outcome = await service.undoCompaction({ ...request, event: made.compaction });
    expects(outcome.undone, "an undo of the compaction", outcome);
    const pinned = (await service.read(request)).history.filter((entry) => entry.pinned);
    assert.deepEqual(
      pinned.map(({ id }) => id),
      [kept],
    );
    const again = { ...request, event: made.compaction };
    const twice = await assertCode(service.undoCompaction(again), "NOT_POSSIBLE");
    assert.match(twice.message, /no compaction/);
  },
  "a compaction shows the fate of each message, a message what became of it, and the log comes in pages":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING, compaction: ROOMY });
      const { sessionId, before, after, compaction } = await compacted(service);
      const view = await service.readCompaction({ sessionId });
      assert.deepEqual([view.event, view.kind, view.inForce], [compaction, "compacted", true]);
      assert.deepEqual(
        view.messages.map(({ id }) => id),
        before.map(({ id }) => id),
      );
      const kept = new Set(after.map(({ id }) => id));
      for (const { id, fate } of view.messages) assert.equal(fate === "kept", kept.has(id));
      const left = before.filter(({ id }) => !kept.has(id));
      const covered = ({ id }: { readonly id: number }) =>
        view.sources.some(({ from, to }) => from <= id && id <= to);
      expects(left.every(covered), "sources that cover what left", view.sources);

      const message = left[0]?.id ?? 0;
      const trace = await service.readMessage({ sessionId, message });
      assert.deepEqual(trace.message, left[0]?.message);
      assert.equal(trace.now, "left");
      const { fate } = view.messages.find(({ id }) => id === message) ?? {};
      assert.deepEqual(trace.compactions, [{ event: compaction, fate, inForce: true }]);
      await assertCode(service.readMessage({ sessionId, message: 9999 }), "MESSAGE_NOT_IN_HISTORY");
      await assertCode(service.readCompaction({ sessionId, event: 1 }), "NOT_POSSIBLE");

      await service.undoCompaction({ sessionId });
      assert.equal((await service.readCompaction({ sessionId, event: compaction })).inForce, false);
      assert.equal((await service.readMessage({ sessionId, message })).now, "whole");

      const { seq } = await service.read({ sessionId });
      const forwards = await pages(service, sessionId, 7);
      assert.deepEqual(
        forwards.map((event) => event.seq),
        Array.from({ length: seq }, (_, at) => at + 1),
      );
      const last = await service.readLog({ sessionId, limit: 3 });
      assert.deepEqual(
        [last.events.map((event) => event.seq), last.after, last.lastSeq],
        [[seq - 2, seq - 1, seq], false, seq],
      );
      const earlier = await service.readLog({ sessionId, limit: 3, beforeSeq: seq - 2 });
      assert.deepEqual(earlier.events, forwards.slice(seq - 6, seq - 3));
      assert.equal(earlier.after, true);
      const between = await service.readLog({ sessionId, afterSeq: 1, beforeSeq: 4 });
      assert.deepEqual(
        between.events.map((event) => event.seq),
        [2, 3],
      );
      const none = await service.readLog({ sessionId, afterSeq: 4, beforeSeq: 4 });
      assert.deepEqual(none.events, []);
    },
});

/** The log, page by page. */
async function pages(service: SessionService, sessionId: string, limit: number) {
  const events: EventEnvelope[] = [];
  for (;;) {
    const page = await service.readLog({ sessionId, afterSeq: events.length, limit });
    events.push(...page.events);
    if (!page.after) return events;
  }
}

const SETUP = {
  capabilities: EVERYTHING,
  compaction: { recentTurnBudget: 1, autoCompactThreshold: 50_000, minTurnsBetweenCompactions: 1 },
};

async function idsOf(service: SessionService, sessionId: string): Promise<readonly number[]> {
  const { history } = await service.read({ sessionId });
  return history.flatMap(({ id, message }) => (message.role === "system" ? [] : [id]));
}

/** The promises of the way from what was made to what was said, and back. */
export const sourceLaws: readonly Law<OpenService>[] = lawsOf({
  "an entry of memory, a statement and a rule lead to the messages that they rest on, and these to them":
    async (open) => {
      const service = await open(SETUP);
      const { sessionId } = await service.createSession({});
      const content = "Always moor the barge in the harbour of Emden.";
      const { messages } = await service.appendMessages({
        sessionId,
        messages: [
          { role: "user", content },
          { role: "assistant", content: "Noted." },
        ],
        origin: { author: "user" },
      });
      const said = messages[0] ?? 0;
      const entry = await service.readSources({ id: `${sessionId}:${said}` });
      assert.deepEqual([entry.kind, entry.content, entry.messageCount], ["message", content, 1]);
      const one = [{ sessionId, id: said, role: "user", text: content }];
      const shown = ({ time: _, ...message }: (typeof entry.messages)[number]) => message;
      assert.deepEqual(entry.messages.map(shown), one);
      const [preference] = await service.listKnowledge({ kind: "preference" });
      const [rule] = await service.listKnowledge({ kind: "rule" });
      expects(preference && rule, "a preference and a rule", { preference, rule });
      for (const { id, kind } of [preference, rule]) {
        const view = await service.readSources({ id });
        assert.equal(view.kind, kind);
        assert.deepEqual(view.messages.map(shown), one);
        const made: readonly string[] = kind === "rule" ? [preference.id] : [];
        assert.deepEqual(
          view.madeFrom.map((each) => each.id),
          made,
        );
      }
      const { learned } = await service.readMessage({ sessionId, message: said });
      assert.deepEqual(
        learned.map(({ id }) => id),
        [preference.id, rule.id],
      );
      const added = await service.addMemory({ content: "The lock closes at nine." });
      const view = await service.readSources({ id: added.id });
      assert.deepEqual([view.kind, view.messageCount], ["added", 0]);
      await assertCode(service.readSources({ id: "none:1" }), "KNOWLEDGE_NOT_FOUND");
    },
  "a summary leads to the messages that it rests on, over the summaries before it and those that a fork began with":
    async (open) => {
      const service = await open(SETUP);
      const { sessionId } = await service.createSession({ memory: false });
      const left = new Set<string>();
      let session = sessionId;
      for (const animal of ["fox", "owl", "elk"]) {
        for (const prompt of [`A ${animal}. ${LONG}`, `Two. ${LONG}`, `${animal}?`]) {
          await service.startTurn({ sessionId: session, prompt });
        }
        const before = await idsOf(service, session);
        await assertCompacts(service, session);
        const after = new Set(await idsOf(service, session));
        for (const id of before) if (!after.has(id)) left.add(`${session}:${id}`);
        if (animal === "owl") {
          ({ sessionId: session } = await service.forkSession({ sessionId }));
          const { history } = await service.read({ sessionId: session });
          const summary = history.find(({ message }) => "kind" in message)?.id ?? 0;
          const view = await service.readSources({ sessionId: session, event: summary });
          assert.equal(view.messageCount, left.size - 1);
        }
      }
      const summaries = /:(?:\d+)$/;
      const view = await service.readSources({ sessionId: session, limit: 1000 });
      assert.equal(view.kind, "summary");
      const found = view.messages.map(({ sessionId: of, id }) => `${of}:${id}`);
      for (const name of found) expects(left.has(name) && summaries.test(name), "what left", name);
      // The summaries that were replaced are no messages.
      assert.equal(new Set(found).size, found.length);
      assert.equal(found.length, left.size - 2);
      const page = await service.readSources({ sessionId: session, limit: 2, offset: 1 });
      assert.deepEqual(page.messages, view.messages.slice(1, 3));
      assert.equal(page.messageCount, view.messageCount);
    },
});
