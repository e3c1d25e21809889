import fc from "fast-check";
import { expect, test } from "vitest";
import { SessionState } from "../src/core/session-state.ts";
import { SessionError, type SessionService } from "../src/index.ts";
import type { ScriptedReply } from "../src/testing.ts";
import { expectEarlierHistories, FILLER, openProject } from "./support/history-project.ts";
import { temporaryFolder } from "./support/obey.ts";
import { trials } from "./support/trials.ts";

async function undo(
  { service }: Pick<Awaited<ReturnType<typeof openProject>>, "service">,
  sessionId: string,
  how: { readonly redo?: true; readonly event?: number; readonly leaveOut?: number[] } = {},
) {
  const outcome = await service.undoCompaction({ sessionId, ...how });
  if (!outcome.undone) throw new Error(outcome.reason);
  return outcome;
}

test("an undone compaction gives the next request that it had before, and the undone undo the one after it, byte for byte", async () => {
  const project = await openProject();
  const { service, say, nextRequest } = project;
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  await service.updateTask({ sessionId, newTask: "Count the hives of Mirela." });
  await say(sessionId, "My sister Mirela keeps bees near Constanta, twelve hives.");
  for (let turn = 0; turn < 5; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  const whole = await nextRequest(sessionId);
  expect((await service.compact({ sessionId })).compacted).toBe(true);
  const compacted = await nextRequest(sessionId);
  // Records of memory are a part of what is sent.
  await say(sessionId, "How many hives of bees does my sister Mirela keep?");
  const asked = await nextRequest(sessionId);
  expect(asked).toContain("[Recalled from memory]");

  await undo(project, sessionId);
  const undone = await nextRequest(sessionId);
  expect(undone.startsWith(whole.slice(0, -1))).toBe(true);
  expect(undone).not.toContain("[Recalled from memory]");
  await undo(project, sessionId, { redo: true });
  expect(await nextRequest(sessionId)).toBe(asked);
  expect(asked.length).toBeGreaterThan(compacted.length);
  const sent = await say(sessionId, "Thanks.");
  expect(JSON.stringify(sent).startsWith(asked.slice(0, -1))).toBe(true);
});

test("what compactions saved is the same, whether another process undid the last one or not", async () => {
  const folder = await temporaryFolder();
  const project = await openProject({}, folder);
  const { sessionId } = await project.service.createSession({ memory: false });
  for (let times = 0; times < 2; times += 1) {
    for (let turn = 0; turn < 3; turn += 1) await project.say(sessionId, `${turn} ${FILLER}`);
    expect((await project.service.compact({ sessionId })).compacted).toBe(true);
    await project.say(sessionId, "And then?");
  }
  await project.service.close();
  const later = await openProject({}, folder);
  await undo(later, sessionId);
  await later.say(sessionId, "Thanks.");
  const { compacting } = await later.service.sessionCost({ sessionId });
  const folded = await SessionState.fold(sessionId, (after, to) =>
    later.stores.events.read(sessionId, after, to),
  );
  const { saved_tokens } = folded.snapshot().cost?.counts ?? {};
  expect(compacting.savedTokens).toBe(saved_tokens);
});

test("what an undo brings back counts for no growth of the session by its calls", async () => {
  const project = await openProject();
  const { stores, service, say } = project;
  const { sessionId } = await service.createSession({ memory: false });
  const read = (after: number, to?: number) => stores.events.read(sessionId, after, to);
  const growth = async () => {
    const saved = await stores.sessions.load(sessionId);
    if (!saved) throw new Error("no snapshot");
    const states = [
      await SessionState.restore(saved, read),
      await SessionState.fold(sessionId, read),
    ];
    return states.map(({ cache, historyTokens }) => cache.growth(historyTokens));
  };
  for (let turn = 0; turn < 8; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  const [each = 0] = await growth();
  expect((await service.compact({ sessionId })).compacted).toBe(true);
  await say(sessionId, FILLER);
  for (const how of [{}, { redo: true }] as const) {
    await undo(project, sessionId, how);
    expect(await growth()).toEqual([0, 0]);
    await say(sessionId, FILLER);
    for (const undone of await growth()) expect(Math.abs(undone - each)).toBeLessThan(10);
  }
});

test("compactions are undone one after the other, or back to one, in any order with turns, prunings and pins", async () => {
  const step = fc.constantFrom("say", "compact", "undo", "redo", "back", "pin", "tool");
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 4, maxLength: 14 }),
    async (steps) => {
      const call = { id: "c", name: "datetime", args: {} };
      let tool = false;
      const project = await openProject({}, undefined, (n) => {
        const calls = tool;
        tool = false;
        return calls ? { toolCalls: [{ ...call, id: `c${n}` }] } : "Noted.";
      });
      const { service, say, nextRequest } = project;
      const { sessionId } = await service.createSession({ memory: false });
      /** What was sent before each change, and the messages then, by the change that can be undone. */
      const before = new Map<number, string>();
      let said = 0;
      for (const [index, what] of steps.entries()) {
        const request = await nextRequest(sessionId);
        const { seq } = await service.read({ sessionId });
        tool = what === "tool";
        if (what === "say" || what === "tool") await say(sessionId, `${index} ${FILLER}`);
        if (what === "say" || what === "tool") said += 1;
        if (what === "pin" && said > 0) {
          const { history } = await service.read({ sessionId });
          const last = history.findLast(({ message }) => message.role === "block_assistant");
          if (last) await service.pin({ sessionId, message: last.id });
        }
        if (what === "compact") {
          const { compacted } = await service.compact({ sessionId });
          if (compacted) before.set((await service.read({ sessionId })).seq, request);
        }
        if (what !== "undo" && what !== "redo" && what !== "back") continue;
        const first = Math.min(...before.keys());
        const how = { redo: what === "redo", ...(what === "back" ? { event: first } : {}) };
        const outcome = await service
          .undoCompaction({ sessionId, ...how })
          .catch(() => ({ undone: false }) as const);
        if (!outcome.undone) {
          expect((await service.read({ sessionId })).seq).toBe(seq);
          continue;
        }
        const then = before.get(outcome.compaction) ?? "";
        // With what was said since, the request is the one from before, and its end.
        expect((await nextRequest(sessionId)).startsWith(then.slice(0, -1))).toBe(true);
        before.set(outcome.event, request);
      }
      await expectSameFates(service, sessionId);
      await expectEarlierHistories(project.stores, sessionId);
    },
  );
  await fc.assert(property, { numRuns: trials(3, 200) });
}, 300_000);

/** A compaction says of each message what the message says of the compaction. */
async function expectSameFates(service: SessionService, sessionId: string) {
  const { history, seq } = await service.read({ sessionId });
  const { events } = await service.readLog({ sessionId, afterSeq: 0, limit: 1000 });
  expect(events.at(-1)?.seq).toBe(seq);
  const told = new Map<number, unknown[]>();
  for (const { seq: event, payload } of events) {
    if (payload.type !== "compaction_completed" && payload.type !== "tool_output_pruned") continue;
    const { messages, inForce } = await service.readCompaction({ sessionId, event });
    for (const { id, fate } of messages) {
      told.set(id, [...(told.get(id) ?? []), { event, fate, inForce }]);
    }
  }
  const inHistory = new Set(history.map(({ id }) => id));
  for (const [id, compactions] of told) {
    const trace = await service.readMessage({ sessionId, message: id });
    expect(trace.compactions).toEqual(compactions);
    expect(trace.now === "left").toBe(!inHistory.has(id));
  }
}

test("with records of memory, messages brought back, a task and its changes, a fold from a compaction on is one of the whole log", async () => {
  const step = fc.constantFrom(
    ...["say", "ask", "compact", "compact", "undo", "undo", "redo", "back"],
    ...["bring", "keep", "unpin", "task", "refuse", "fork", "forget"],
  );
  const steps = fc.array(fc.tuple(step, fc.nat(30)), { minLength: 6, maxLength: 16 });
  const property = fc.asyncProperty(steps, async (all) => {
    const { service, stores, say, nextRequest } = await openProject({ recallFrom: "project" });
    const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
    const other = await service.createSession({});
    await say(other.sessionId, "The lighthouse of Sulina is painted every third spring.");
    const read = (after: number, to?: number) => stores.events.read(sessionId, after, to);
    for (const [index, [what, at]] of all.entries()) {
      const { seq, history } = await service.read({ sessionId });
      const message = history[at % Math.max(1, history.length)]?.id ?? 1;
      const tries: Record<string, () => Promise<unknown>> = {
        say: () => say(sessionId, `${index} ${FILLER} My port is ${7000 + index}.`),
        ask: () => say(sessionId, "When is the lighthouse of Sulina painted, which spring?"),
        compact: () => service.compact({ sessionId }),
        undo: () => service.undoCompaction({ sessionId }),
        redo: () => service.undoCompaction({ sessionId, redo: true }),
        back: () => service.undoCompaction({ sessionId, event: at * 3 }),
        bring: () => service.bringBack({ sessionId, turn: at % 5 }),
        keep: () => service.bringBack({ sessionId, turn: at % 5, pin: true }),
        unpin: () => service.unpin({ sessionId, message }),
        task: () => service.updateTask({ sessionId, notes: { step: `${index}` }, add: [`${at}`] }),
        refuse: () => service.refuseRecall({ sessionId, ids: [`${other.sessionId}:2`] }),
        forget: () => service.forgetMemory({ ids: [`${sessionId}:${message}`] }),
        fork: async () => {
          const event = Math.max(2, seq - at);
          const fork = await service.forkSession({ sessionId, event });
          const then = await SessionState.fold(sessionId, read, event);
          const texts = (messages: readonly unknown[]) => JSON.stringify(messages);
          const forked = await SessionState.fold(fork.sessionId, (after, to) =>
            stores.events.read(fork.sessionId, after, to),
          );
          expect(texts(forked.sentMessages)).toBe(texts(then.sentMessages));
        },
      };
      await tries[what]?.().catch((error) => {
        if (!SessionError.is(error)) throw error;
      });
      await nextRequest(sessionId);
      const now = await SessionState.fold(sessionId, read);
      const { history: shown } = await service.read({ sessionId });
      expect(shown.map(({ message }) => message)).toEqual(now.messages);
    }
    await expectEarlierHistories(stores, sessionId);
  });
  await fc.assert(property, { numRuns: trials(2, 150) });
}, 300_000);

test("another process that has the session open sees the undo with its next turn", async () => {
  const folder = await temporaryFolder();
  const [one, other] = [await openProject({}, folder), await openProject({}, folder)];
  const { sessionId } = await one.service.createSession({ memory: false });
  for (let turn = 0; turn < 4; turn += 1) await one.say(sessionId, `${turn} ${FILLER}`);
  await one.service.compact({ sessionId });
  expect(JSON.stringify(await other.say(sessionId, "five"))).toContain("[Context compacted]");
  await undo(one, sessionId);
  const sent = await other.say(sessionId, "six");
  expect(JSON.stringify(sent)).not.toContain("[Context compacted]");
  expect(sent.filter(({ role }) => role === "user")).toHaveLength(6);
});

test("as many undos as there were can be taken back, one after the other, and no more", async () => {
  const project = await openProject();
  const { service, say, nextRequest } = project;
  const { sessionId } = await service.createSession({});
  for (let turn = 0; turn < 8; turn += 1) {
    await say(sessionId, `${turn} ${FILLER}`);
    if (turn < 4) continue;
    await service.compact({ sessionId });
  }
  const states = [await nextRequest(sessionId)];
  for (let count = 0; count < 3; count += 1) {
    await undo(project, sessionId);
    states.push(await nextRequest(sessionId));
  }
  for (let count = 0; count < 3; count += 1) {
    states.pop();
    await undo(project, sessionId, { redo: true });
    expect(await nextRequest(sessionId)).toBe(states.at(-1));
  }
  const code = await service.undoCompaction({ sessionId, redo: true }).catch(({ code }) => code);
  expect(code).toBe("NOT_POSSIBLE");
  expect(await nextRequest(sessionId)).toBe(states[0]);
});

test("what is forgotten after an undo is in no request any more, nor after the undo is undone", async () => {
  const project = await openProject();
  const { service, say, nextRequest } = project;
  const { sessionId } = await service.createSession({});
  await service.updateTask({ sessionId, newTask: "Ask about the okapi of Emden." });
  await say(sessionId, "The secret animal is the okapi of Emden.");
  for (let turn = 0; turn < 4; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  await service.compact({ sessionId });
  await say(sessionId, "What is the secret animal, the okapi or another?");
  await undo(project, sessionId);
  await service.forgetMemory({ sessionId });
  for (const how of [{ redo: true }, {}] as const) {
    expect(await nextRequest(sessionId)).not.toMatch(/okapi/);
    await undo(project, sessionId, how);
  }
  expect(await nextRequest(sessionId)).not.toMatch(/okapi/);
  const log = await Array.fromAsync(project.stores.events.read(sessionId, 0));
  expect(JSON.stringify(log)).not.toMatch(/okapi/);
  await expectEarlierHistories(project.stores, sessionId);
});

test("a log of an earlier version, whose compactions do not say what was before them, is undone and forked too", async () => {
  const project = await openProject();
  const { service, stores, say, nextRequest } = project;
  const { sessionId } = await service.createSession({});
  for (let turn = 0; turn < 5; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  const whole = await nextRequest(sessionId);
  await service.compact({ sessionId });
  const { seq } = await service.read({ sessionId });
  await say(sessionId, "And the ferry?");
  const asked = await nextRequest(sessionId);
  for await (const { event } of stores.events.read(sessionId, seq - 1, seq)) {
    if (event.type !== "compaction_completed") throw new Error(event.type);
    const { before, ...earlier } = event;
    expect(before).toBeDefined();
    const told = { type: "message_unpinned", message: 1 } as const;
    const stored = { event_id: "unpinned", timestamp_ms: 1, event: told };
    const last = await stores.events.lastSeq(sessionId);
    await stores.events.redact(sessionId, last, [{ seq, event: earlier }], stored);
  }
  await undo(project, sessionId);
  expect((await nextRequest(sessionId)).startsWith(whole.slice(0, -1))).toBe(true);
  await undo(project, sessionId, { redo: true });
  expect(await nextRequest(sessionId)).toBe(asked);
  const fork = await service.forkSession({ sessionId, event: seq + 2 });
  expect(fork.messages).toBe((await service.read({ sessionId })).history.length - 1);
});

test("messages that stay out take their tool calls and results along", async () => {
  const call = { id: "c1", name: "datetime", args: {} };
  const replies: Record<number, ScriptedReply> = { 0: { toolCalls: [call] } };
  const project = await openProject({}, undefined, (n) => replies[n] ?? "Noted.");
  const { service, say } = project;
  const { sessionId } = await service.createSession({ memory: false });
  await say(sessionId, "What time is it?");
  for (let turn = 0; turn < 3; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  const { history } = await service.read({ sessionId });
  const results = history.find(({ message }) => message.role === "tool_results")?.id ?? 0;
  await service.compact({ sessionId });
  const { leftOut } = await undo(project, sessionId, { leaveOut: [results] });
  expect(leftOut).toHaveLength(2);
  const now = (await service.read({ sessionId })).history;
  expect(JSON.stringify(now)).not.toContain("datetime");
  expect(now).toHaveLength(history.length - 2);
});
