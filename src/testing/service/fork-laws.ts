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
  compaction: { recentTurnBudget: 1, autoCompactThreshold: 50_000 },
};

/** What a session's model sees next, without ids. */
async function seenIn(service: SessionService, sessionId: string) {
  const { history, task, instructions } = await service.read({ sessionId });
  return {
    messages: history.map(({ message, pinned }) => ({ message, pinned })),
    task,
    instructions: instructions.map(({ text }) => text),
  };
}

async function say(service: SessionService, sessionId: string, ...prompts: readonly string[]) {
  for (const prompt of prompts) await service.startTurn({ sessionId, prompt });
}

/** The promises of a fork. */
export const forkLaws: readonly Law<OpenService>[] = [
  {
    name: "a fork begins with what the other session's model saw at an event, both know each other, and both go on alone, after everything was closed",
    durable: true,
    async holds(open) {
      const first = await (await open())(SETUP);
      const { sessionId } = await first.createSession({ systemPrompt: "Be brief." });
      await say(
        first,
        sessionId,
        `The fox is red. ${LONG}`,
        `The owl is white. ${LONG}`,
        "A hare?",
      );
      await assertCompacts(first, sessionId);
      await first.updateTask({ sessionId, goal: "Count the animals." });
      const { history, seq } = await first.read({ sessionId });
      await first.pin({ sessionId, message: history.at(-1)?.id ?? 0 });
      const before = await seenIn(first, sessionId);
      const { seq: at, historyTokens } = await first.read({ sessionId });
      await say(first, sessionId, "The hare is grey.");
      const fork = await first.forkSession({ sessionId, event: at });
      assert.deepEqual(
        [fork.event, fork.messages, fork.historyTokens],
        [at, before.messages.length, historyTokens],
      );
      assert.deepEqual(await seenIn(first, fork.sessionId), before);
      expects(seq < at, "the pin in the fork", at);
      const { source } = await first.read({ sessionId: fork.sessionId });
      assert.deepEqual(source.parent, { id: sessionId, relation: "fork", event: at });
      const known = [{ sessionId: fork.sessionId, event: at }];
      assert.deepEqual((await first.read({ sessionId })).forks, known);
      const listed = await first.list({});
      assert.deepEqual(listed.find((one) => one.sessionId === sessionId)?.forks, known);
      const alone = await seenIn(first, sessionId);
      await say(first, fork.sessionId, "The hare is blue.");
      assert.deepEqual(await seenIn(first, sessionId), alone);
      const after = await seenIn(first, fork.sessionId);
      assert.deepEqual(after.messages.slice(0, before.messages.length), before.messages);
      assert.equal(after.messages.length, before.messages.length + 2);
      await first.close();

      const second = await (await open())(SETUP);
      assert.deepEqual(await seenIn(second, fork.sessionId), after);
      const whole = await second.forkSession({ sessionId: fork.sessionId });
      assert.deepEqual(await seenIn(second, whole.sessionId), after);
    },
  },
  {
    name: "a fork stays whole when the other session is deleted, and its messages are found once before and after",
    async holds(open) {
      const service = await (await open())(SETUP);
      const { sessionId } = await service.createSession({});
      await say(service, sessionId, "The quokka lives on Rottnest.", "And the numbat?");
      const fork = await service.forkSession({ sessionId });
      const before = await seenIn(service, fork.sessionId);
      const query = { query: "quokka Rottnest" };
      assert.equal((await service.searchMemory(query)).length, 1);
      assert.equal((await service.searchHistory(query)).length, 1);
      const { length: entries } = await service.listMemory({ sessionId });
      assert.equal((await service.listMemory({})).length, entries);
      await service.delete({ sessionId, now: true });
      assert.deepEqual(await seenIn(service, fork.sessionId), before);
      const [found, ...more] = await service.searchMemory(query);
      assert.deepEqual([found?.sessionId, more], [fork.sessionId, []]);
      assert.equal((await service.searchHistory(query)).length, 1);
      assert.equal((await service.listMemory({})).length, entries);
    },
  },
  {
    name: "what is forgotten in a session is forgotten in its forks, and the other way round",
    async holds(open) {
      for (const forgets of ["session", "fork"] as const) {
        const service = await (await open())(SETUP);
        const { sessionId } = await service.createSession({});
        await say(service, sessionId, "The password is okapi.", `A hare? ${LONG}`, `Or ${LONG}`);
        const whole = await service.forkSession({ sessionId });
        await assertCompacts(service, sessionId);
        const small = await service.forkSession({ sessionId });
        const ids = [sessionId, whole.sessionId, small.sessionId];
        const first = (await service.readLog({ sessionId: whole.sessionId, afterSeq: 0 })).events;
        const copy = first.find(({ payload }) => JSON.stringify(payload).includes("okapi"));
        const { history } = await service.read({ sessionId: whole.sessionId });
        const said = history.find(({ id }) => id === copy?.seq);
        expects(said !== undefined, "a copy of the prompt", history);
        const [entry] = await service.listMemory({ sessionId });
        const id = forgets === "fork" ? `${whole.sessionId}:${said.id}` : (entry?.id ?? "");
        await service.forgetMemory({ ids: [id] });
        for (const each of ids) {
          const { events } = await service.readLog({ sessionId: each, afterSeq: 0, limit: 1000 });
          expects(!JSON.stringify(events).includes("okapi"), "a log without it", events);
          const shown = JSON.stringify(await service.read({ sessionId: each }));
          expects(!shown.includes("okapi"), "a history without it", shown);
        }
        assert.deepEqual(await service.searchMemory({ query: "password okapi" }), []);
        await service.close();
      }
    },
  },
  {
    name: "a fork where there is nothing to go on from is refused with the reason",
    async holds(open) {
      const service = await (await open())(SETUP);
      const { sessionId } = await service.createSession({});
      await say(service, sessionId, "one");
      const { seq } = await service.read({ sessionId });
      const late = service.forkSession({ sessionId, event: seq + 1 });
      const refused = await assertCode(late, "NOT_POSSIBLE");
      assert.match(refused.message, new RegExp(`ends at event ${seq}`));
      await assertCode(service.forkSession({ sessionId: "none" }), "SESSION_NOT_FOUND");
      assert.deepEqual((await service.list({})).length, 1);
    },
  },
];
