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

const SETUP = { capabilities: EVERYTHING, compaction: ROOMY };

/** The history that a session's model sees next, without ids. */
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
export const forkLaws: readonly Law<OpenService>[] = lawsOf({
  "a fork begins with what the other session's model saw at an event, both know each other, and both go on alone, after everything was closed":
    durable(async (open) => {
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
    }),
  "a fork stays whole when the other session is deleted, and its messages are found once before and after":
    async (open) => {
      const service = await open(SETUP);
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
  "what is forgotten in a session is forgotten in its forks, and the other way round": async (
    open,
  ) => {
    for (const forgets of ["session", "fork"] as const) {
      const service = await open(SETUP);
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
  "a fork where there is nothing to go on from is refused with the reason": async (open) => {
    const service = await open(SETUP);
    const { sessionId } = await service.createSession({});
    await say(service, sessionId, "one");
    const { seq } = await service.read({ sessionId });
    const late = service.forkSession({ sessionId, event: seq + 1 });
    const refused = await assertCode(late, "NOT_POSSIBLE");
    assert.match(refused.message, new RegExp(`ends at event ${seq}`));
    await assertCode(service.forkSession({ sessionId: "none" }), "SESSION_NOT_FOUND");
    assert.deepEqual((await service.list({})).length, 1);
  },
});

/** A session of which a compaction took the first turns, and the id of the first prompt. */
async function compacted(service: SessionService, memory = false) {
  const { sessionId } = await service.createSession({ memory });
  for (const prompt of [`The fox is red. ${LONG}`, `The owl is white. ${LONG}`, "And the hare?"]) {
    await service.startTurn({ sessionId, prompt });
  }
  const { history } = await service.read({ sessionId });
  await assertCompacts(service, sessionId);
  const prompts = history.filter(({ message }) => message.role === "user");
  return { sessionId, left: prompts[0]?.id ?? 0, kept: prompts[2]?.id ?? 0 };
}

async function broughtTokens(service: SessionService, sessionId: string): Promise<number> {
  const { parts } = await service.context({ sessionId });
  return parts.find(({ name }) => name === "brought_back")?.tokens ?? 0;
}

/** The promises of what a person takes back into a window, or keeps out of it. */
export const bringBackLaws: readonly Law<OpenService>[] = lawsOf({
  "what is brought back is in the window until the next compaction, pinned ones through all, after everything was closed":
    durable(async (open) => {
      const first = await (await open())(SETUP);
      const { sessionId, left, kept } = await compacted(first);
      await assertCode(first.bringBack({ sessionId, message: kept }), "NOT_POSSIBLE");
      await assertCode(first.bringBack({ sessionId, message: 9999 }), "MESSAGE_NOT_IN_HISTORY");
      const outcome = await first.bringBack({ sessionId, message: left });
      expects(outcome.broughtBack, "a message that came back", outcome);
      assert.deepEqual(outcome.messages, [left]);
      expects(outcome.tokens > LONG.length / 8, "the tokens of all of it", outcome.tokens);
      assert.equal(await broughtTokens(first, sessionId), outcome.tokens);
      const { usedTokens, parts } = await first.context({ sessionId });
      // Each part is rounded.
      const apart = Math.abs(usedTokens - outcome.usedTokens);
      expects(apart < parts.length, "what `context` says", outcome.usedTokens);
      await first.close();

      const second = await (await open())(SETUP);
      assert.equal(await broughtTokens(second, sessionId), outcome.tokens);
      assert.deepEqual((await second.pins({ sessionId })).broughtBack, [
        { message: left, pinned: false },
      ]);
      await second.startTurn({ sessionId, prompt: "The hare is grey." });
      await assertCompacts(second, sessionId);
      assert.equal(await broughtTokens(second, sessionId), 0);
      const pinned = await second.bringBack({ sessionId, message: left, pin: true });
      expects(pinned.broughtBack, "a pinned message", pinned);
      await second.startTurn({ sessionId, prompt: `The elk is brown. ${LONG}` });
      await assertCompacts(second, sessionId);
      assert.equal(await broughtTokens(second, sessionId), pinned.tokens);
      await second.unpin({ sessionId, message: left });
      await second.startTurn({ sessionId, prompt: `The eel is black. ${LONG}` });
      await assertCompacts(second, sessionId);
      assert.equal(await broughtTokens(second, sessionId), 0);
    }),
  "a whole turn comes back, and what has no room changes nothing and says by how much": async (
    open,
  ) => {
    const { service, sessionId } = await crampedSession(open);
    const { compactions, seq } = await service.read({ sessionId });
    expects(compactions > 0, "a compaction", compactions);
    const refused = await service.bringBack({ sessionId, turn: 1 });
    expects(!refused.broughtBack, "a turn without room", refused);
    assert.match(refused.reason, new RegExp(`${refused.tokensOver} more than there is room for`));
    expects(refused.usedTokens > refused.tokensMax, "too many tokens", refused);
    assert.equal((await service.read({ sessionId })).seq, seq);
    await assertCode(service.bringBack({ sessionId, turn: 99 }), "NOT_POSSIBLE");
    const outcome = await service.bringBack({ sessionId, turn: 0 });
    expects(outcome.broughtBack, "the first turn", outcome);
    assert.equal(outcome.messages.length, 2);
  },
  "what is brought back is in memory once, teaches nothing, and goes when it is forgotten": async (
    open,
  ) => {
    const service = await open(SETUP);
    const { sessionId, left } = await compacted(service, true);
    const before = await service.listMemory({ limit: 100 });
    const outcome = await service.bringBack({ sessionId, message: left });
    expects(outcome.broughtBack, "a message that came back", outcome);
    assert.deepEqual(await service.listMemory({ limit: 100 }), before);
    await service.forgetMemory({ ids: [`${sessionId}:${left}`] });
    assert.equal(await broughtTokens(service, sessionId), 0);
    const { events } = await service.readLog({ sessionId, limit: 1000 });
    expects(!JSON.stringify(events).includes("The fox is red"), "a log without it", events);
  },
  "a record that was refused does not come back by itself in that session, until the refusal is taken back":
    async (open) => {
      const replies = ["ok", "Your sister Mirela keeps twelve hives near Constanta."];
      const compaction = { ...ROOMY, maxSummaryTokens: 64 };
      const service = await open({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({});
      const tells = [LONG, "Who keeps them?", LONG, LONG];
      for (const prompt of tells) await service.startTurn({ sessionId, prompt });
      await assertCompacts(service, sessionId);
      const question = "Sister Mirela keeps twelve hives near Constanta, does she?";
      const recalled = async (): Promise<readonly string[]> => {
        const { seq } = await service.read({ sessionId });
        await service.startTurn({ sessionId, prompt: question });
        const { events } = await service.readLog({ sessionId, afterSeq: seq });
        return events.flatMap(recordsOf);
      };
      const found = await recalled();
      expects(found.length > 0, "a record about the question", found);
      const { refused } = await service.refuseRecall({ sessionId, ids: [...found] });
      assert.deepEqual(refused, found);
      const { parts } = await service.context({ sessionId });
      assert.equal(parts.find(({ name }) => name === "recalled")?.tokens, 0);
      for (const id of await recalled()) expects(!found.includes(id), "other records", id);
      const again = await service.refuseRecall({ sessionId, ids: [...found] });
      assert.deepEqual(again.refused, found);
      const hits = await service.searchMemory({ query: question });
      expects(
        hits.some(({ id }) => found.includes(id)),
        "a search that finds it",
        hits,
      );
      const allowed = await service.allowRecall({ sessionId, ids: [...found, "never-refused"] });
      assert.deepEqual(allowed.refused, []);
      const { seq } = await service.read({ sessionId });
      await service.allowRecall({ sessionId, ids: [...found] });
      assert.equal((await service.read({ sessionId })).seq, seq);
      const back = await recalled();
      expects(
        found.some((id) => back.includes(id)),
        "a record that came back",
        back,
      );
    },
});

function recordsOf({ payload }: EventEnvelope): readonly string[] {
  return payload.type === "memory_recalled" ? payload.records.map(({ id }) => id) : [];
}
