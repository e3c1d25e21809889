import assert from "node:assert/strict";
import type { SessionService } from "../../core/session-service.ts";
import { expects, type Law } from "../law.ts";
import {
  assertCode,
  assertCompacts,
  EVERYTHING,
  LONG,
  type OpenService,
} from "./service-scenes.ts";

const SETUP = {
  capabilities: EVERYTHING,
  compaction: { recentTurnBudget: 1, autoCompactThreshold: 50_000, minTurnsBetweenCompactions: 1 },
};

async function idsOf(service: SessionService, sessionId: string): Promise<readonly number[]> {
  const { history } = await service.read({ sessionId });
  return history.flatMap(({ id, message }) => (message.role === "system" ? [] : [id]));
}

/** The promises of the way from what was made to what was said, and back. */
export const sourceLaws: readonly Law<OpenService>[] = [
  {
    name: "an entry of memory, a statement and a rule lead to the messages that they rest on, and these to them",
    async holds(open) {
      const service = await (await open())(SETUP);
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
  },
  {
    name: "a summary leads to the messages that it rests on, over the summaries before it and those that a fork began with",
    async holds(open) {
      const service = await (await open())(SETUP);
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
  },
];
