import assert from "node:assert/strict";
import type { EventEnvelope } from "../../core/event.ts";
import type { Message } from "../../core/message.ts";
import { durable, expects, type Law, lawsOf } from "../law.ts";
import {
  ASKED,
  assertCode,
  assertWholeCalls,
  EAGER,
  EVERYTHING,
  LONG,
  type OpenService,
  RESULT,
  replay,
} from "./service-scenes.ts";

/** Turns, their events, and messages of loops that are not rkat's. */
export const turnLaws: readonly Law<OpenService>[] = lawsOf({
  "a listener that throws or rejects does not end the turn": async (open) => {
    const service = await open({ capabilities: EVERYTHING, replies: ["one", "two"] });
    const { sessionId } = await service.createSession({});
    const seen: string[] = [];
    const fails = new Error("The listener of this law always fails.");
    // An implementation may warn of such a listener.
    await withoutWarning(/The listener of this law always fails/, async () => {
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
    });
  },
  "a second turn in a running session is SESSION_BUSY, and the first one does not notice": async (
    open,
  ) => {
    // On a busy machine the first turn may be over before the second one starts: then that says nothing.
    for (const delayMs of [100, 1000, 10_000]) {
      const replies = [{ text: "slow", delayMs }];
      const service = await open({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      let isOver = false;
      const begun = Promise.withResolvers<void>();
      const first = service
        .startTurn({ sessionId, prompt: "one" }, { onEvent: () => begun.resolve() })
        .finally(() => {
          isOver = true;
        });
      await Promise.race([begun.promise, first]);
      const second = service.startTurn({ sessionId, prompt: "two" });
      const isRefused = await second.then(
        () => false,
        () => true,
      );
      const wasOver = isOver;
      assert.equal((await first).text, "slow");
      if (!isRefused && wasOver && delayMs < 10_000) continue;
      await assertCode(second, "SESSION_BUSY");
      assert.equal((await service.startTurn({ sessionId, prompt: "three" })).text, "ok");
      return;
    }
  },
  "an interrupted turn is TURN_INTERRUPTED, and the next one goes on": async (open) => {
    const replies = [{ text: "never", delayMs: 60_000 }, "back again"];
    const service = await open({ capabilities: EVERYTHING, replies });
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
  "a turn that fails says so in the log and leaves every call with its result": async (open) => {
    const call = { id: "c1", name: "datetime", args: {} };
    const replies = [{ toolCalls: [call] }, { error: "PROVIDER_ERROR" as const }, "fine"];
    const service = await open({ capabilities: EVERYTHING, replies });
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
  "an event is in the log before a listener sees it": async (open) => {
    const service = await open({ capabilities: EVERYTHING, replies: ["one"] });
    const { sessionId } = await service.createSession({});
    const told: Promise<readonly [EventEnvelope, EventEnvelope | undefined]>[] = [];
    const onEvent = (event: EventEnvelope) => {
      if (event.payload.type.endsWith("_delta")) return;
      told.push(replay(service, sessionId, event.seq - 1, 1).then(([stored]) => [event, stored]));
    };
    await service.startTurn({ sessionId, prompt: "a" }, { onEvent });
    expects(told.length > 2, "several events", told.length);
    for (const [event, stored] of await Promise.all(told)) assert.deepEqual(stored, event);
  },
  "events have consecutive numbers, and a subscriber can have them again from any of them": async (
    open,
  ) => {
    const service = await open({ capabilities: EVERYTHING, replies: ["one", "two"] });
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
  "appended messages are turns of the history, without a model call, and a search finds them":
    durable(async (open) => {
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
    }),
  "a batch that is appended again under its key adds nothing, also after everything was closed":
    durable(async (open) => {
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
    }),
  "a batch of messages is appended whole or not at all": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
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
  "appending past the threshold calls no model; the next turn compacts": async (open) => {
    const replies = ["The summary of the fox.", "done"];
    const service = await open({
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
  "messages are not appended while a turn runs": async (open) => {
    const replies = [{ text: "never", delayMs: 60_000 }];
    const service = await open({ capabilities: EVERYTHING, replies });
    const { sessionId } = await service.createSession({});
    const begun = Promise.withResolvers<void>();
    const turn = service.startTurn({ sessionId, prompt: "1" }, { onEvent: () => begun.resolve() });
    const interrupted = assertCode(turn, "TURN_INTERRUPTED");
    await begun.promise;
    await assertCode(service.appendMessages({ sessionId, messages: ASKED }), "SESSION_BUSY");
    await service.interrupt({ sessionId });
    await interrupted;
    const { added } = await service.appendMessages({ sessionId, messages: ASKED });
    assert.equal(added, ASKED.length);
  },
  "appended messages teach the project only when a user wrote them": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
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
});

/**
 * Runs `body` and drops the process warnings that match `pattern`. A law that provokes a warning on purpose would only
 * hide those that deserve attention.
 */
export async function withoutWarning(pattern: RegExp, body: () => Promise<void>): Promise<void> {
  // The first of several that run at once replaces the function, and the last one puts it back.
  if (dropped.length === 0) {
    original = process.emitWarning;
    process.emitWarning = emitOthers as typeof process.emitWarning;
  }
  dropped.push(pattern);
  try {
    await body();
  } finally {
    dropped.splice(dropped.indexOf(pattern), 1);
    if (dropped.length === 0) process.emitWarning = original;
  }
}

const dropped: RegExp[] = [];
let original = process.emitWarning;

function emitOthers(...args: Parameters<typeof process.emitWarning>): void {
  const [warning] = args;
  const text = typeof warning === "string" ? warning : warning.message;
  if (!dropped.some((pattern) => pattern.test(text))) original.apply(process, args);
}
