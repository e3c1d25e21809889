import assert from "node:assert/strict";
import type { DurableEvent, EventEnvelope } from "../../core/event.ts";
import {
  indexableText,
  isSummary,
  type Message,
  summaryMessage,
  toolResults,
} from "../../core/message.ts";
import { MessageAssembler } from "../../core/message-assembler.ts";
import type { Cost } from "../../core/operations/cost.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { TokenUsage } from "../../core/usage.ts";
import { durable, expects, type Law, lawsOf } from "../law.ts";
import {
  assertCode,
  assertCompacts,
  assertWholeCalls,
  EAGER,
  EVERYTHING,
  LONG,
  type OpenService,
  replay,
} from "./service-scenes.ts";

/** The promises of compaction: it keeps summaries, the task record, pins, and everything that leaves. */
export const compactionLaws: readonly Law<OpenService>[] = lawsOf({
  "a session that begins with the summary of another keeps it after everything was closed, until it is compacted":
    durable(async (open) => {
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
    }),
  "compaction comes at the threshold, tells of it in order, and the answer is the same": async (
    open,
  ) => {
    const setup = { capabilities: EVERYTHING, compaction: EAGER };
    const service = await open({
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
  "calls make up what a turn cost, turns what the session cost, and compactions are in it": async (
    open,
  ) => {
    const replies = [LONG, LONG, "The summary.", "done"];
    const service = await open({
      capabilities: EVERYTHING,
      compaction: EAGER,
      replies,
    });
    const { sessionId } = await service.createSession({ memory: false });
    for (const prompt of ["one", "two", "three"]) await service.startTurn({ sessionId, prompt });
    const cost = await service.sessionCost({ sessionId });
    assert.deepEqual(
      cost.turns.map(({ calls }) => calls.map(({ wrote }) => wrote)),
      [["answer"], ["answer"], ["summary", "answer"]],
    );
    for (const turn of cost.turns) assert.deepEqual(sumOf(turn.calls), turn.usage);
    assert.deepEqual(sumOf(cost.turns), cost.usage);
    assert.deepEqual(cost.usage, (await service.read({ sessionId })).usage);
    expects(cost.usage.inputTokens > 0, "input tokens", cost.usage);
    const summaries = cost.turns.flatMap(({ calls }) => calls.filter((c) => c.wrote === "summary"));
    assert.deepEqual(sumOf(summaries), cost.compacting.summaries.usage);
    assert.equal(cost.compacting.compacted, 1);
    const [compaction] = cost.turns.at(-1)?.compactions ?? [];
    expects(compaction, "the compaction in the turn in which it was", cost.turns);
    expects(compaction.savedTokensPerCall > 0, "fewer tokens after it", compaction);
    assert.equal(compaction.callsSince, 1);
    assert.equal(cost.unpricedModels.length, 1);
    assert.equal(cost.costUsd, null);
    const newest = await service.sessionCost({ sessionId, limit: 1 });
    assert.deepEqual(newest.turns, cost.turns.slice(-1));
    assert.deepEqual(sumOf([newest.earlier, ...newest.turns]), cost.usage);
    assert.deepEqual([newest.earlier.turns, newest.earlier.calls], [2, 2]);
  },
  "below the threshold nothing is compacted": async (open) => {
    const setup = { capabilities: EVERYTHING, compaction: { autoCompactThreshold: 50_000 } };
    const service = await open(setup);
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
  "a compaction that fails is told, changes nothing, and the turn goes on": async (open) => {
    const replies = [LONG, LONG, { error: "PROVIDER_ERROR" as const }, "still here"];
    const service = await open({
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
  "messages that compaction discarded are found in memory, from any session of the project": async (
    open,
  ) => {
    const replies = [`The staging port is 7443. ${LONG}`, LONG, "The summary.", "done"];
    const service = await open({
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
  "compaction by hand keeps the recent turns, and doing it again does nothing": async (open) => {
    const replies = ["a1", "a2", "a3", "Summary by hand."];
    const compaction = { recentTurnBudget: 1 };
    const service = await open({ capabilities: EVERYTHING, compaction, replies });
    const { sessionId } = await service.createSession({ memory: false });
    for (const prompt of [LONG, LONG, "the last one"]) {
      await service.startTurn({ sessionId, prompt });
    }
    const first = await service.compact({ sessionId, instructions: "Keep the fox." });
    expects(first.compacted, "a compaction", first);
    assert.equal(first.discardedMessages, 4);
    assert.equal((await service.compact({ sessionId })).compacted, false);
  },
  "a summary that fails is written without a model, where that is the setting": async (open) => {
    const compaction = { ...EAGER, onSummaryFailure: "fallback" as const };
    const replies = [LONG, LONG, { error: "PROVIDER_ERROR" as const }, "done"];
    const service = await open({ capabilities: EVERYTHING, compaction, replies });
    const { sessionId } = await service.createSession({ memory: false });
    for (const prompt of ["Fix the parser.", "two", "three"]) {
      await service.startTurn({ sessionId, prompt });
    }
    const { history } = await service.read({ sessionId });
    const summary = history.find(({ message }) => isSummary(message));
    assert.match(JSON.stringify(summary?.message), /\[Start\] Fix the parser\./);
  },
  "a task record is changed by name, refuses unknown names, and goes with a new task": async (
    open,
  ) => {
    const service = await open({ capabilities: EVERYTHING });
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
  "the task record, the pins and the pinned messages survive compaction and everything being closed":
    durable(async (open) => {
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
      assert.deepEqual(toolResults(results?.message ?? EMPTY)[0]?.tool_use_id, "c1");
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
        replies: [LONG, LONG, "The second summary.", "done", "done"],
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
    }),
  "pins survive 20 compactions, in order, with their tool partners": async (open) => {
    const call = { id: "c1", name: "datetime", args: {} };
    const replies = Array.from({ length: 50 }, (_, n) => `Reply ${n}. ${LONG.slice(0, 600)}`);
    const service = await open({
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
  "pins have a budget; a pin of a message that needs none, or is gone, is refused with the reason":
    async (open) => {
      const replies = [LONG, LONG, "The summary.", "done"];
      const service = await open({
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
  "the context says where each token goes, and when the next compaction comes": async (open) => {
    const compaction = {
      autoCompactThreshold: 5000,
      windowSize: 4,
      minTurnsBetweenCompactions: 1,
    };
    const service = await open({ capabilities: EVERYTHING, compaction });
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
  "no message is outside all tiers: it is in the history, or it left and a search finds it": async (
    open,
  ) => {
    // A request for an answer and one for a summary get the next reply.
    const replies = Array.from({ length: 20 }, (_, n) => `Reply ${n}. ${LONG.slice(0, 2000)}`);
    const compaction = { ...EAGER, windowSize: 2 };
    const service = await open({ capabilities: EVERYTHING, compaction, replies });
    const { sessionId } = await service.createSession({});
    for (let turn = 0; turn < 7; turn += 1) {
      await service.startTurn({ sessionId, prompt: `Question ${turn} about topic${turn}x` });
    }
    const { compactions } = await service.read({ sessionId });
    expects(compactions > 1, "more than one compaction", compactions);
    await assertNothingLost(service, sessionId);
  },
});

const EMPTY: Message = { role: "user", content: "" };

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

/** The sum of what the parts used. */
function sumOf(parts: readonly Pick<Cost, "usage">[]): TokenUsage {
  const sum = (field: keyof TokenUsage) => {
    const counts = parts.flatMap(({ usage }) => usage[field] ?? []);
    return counts.length === 0 ? null : counts.reduce((total, count) => total + count, 0);
  };
  return {
    inputTokens: sum("inputTokens") ?? 0,
    outputTokens: sum("outputTokens") ?? 0,
    cacheCreationTokens: sum("cacheCreationTokens"),
    cacheReadTokens: sum("cacheReadTokens"),
  };
}
