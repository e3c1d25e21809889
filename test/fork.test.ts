import fc from "fast-check";
import { expect, test } from "vitest";
import { SessionState } from "../src/core/session-state.ts";
import { expectEarlierHistories, FILLER, openProject } from "./support/history-project.ts";
import { trials } from "./support/trials.ts";

type Project = Awaited<ReturnType<typeof openProject>>;

/** What the model of a session was about to be sent after an event. */
async function requestAt({ stores }: Project, sessionId: string, event?: number) {
  const read = (after: number, to?: number) => stores.events.read(sessionId, after, to);
  return JSON.stringify((await SessionState.fold(sessionId, read, event)).sentMessages);
}

test("a fork sends what the other session would have sent at that event, byte for byte, whatever came before it", async () => {
  const step = fc.constantFrom(
    "say",
    "ask",
    "compact",
    "undo",
    "pin",
    "tool",
    "task",
    "fork",
    "bring",
  );
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 4, maxLength: 12 }),
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 4 }),
    async (steps, places) => {
      let tool = false;
      const project = await openProject({}, undefined, (n) => {
        const calls = tool;
        tool = false;
        return calls ? { toolCalls: [{ id: `c${n}`, name: "datetime", args: {} }] } : "Noted.";
      });
      const { service, say, nextRequest } = project;
      let { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
      await say(sessionId, "My sister Mirela keeps bees near Constanta, twelve hives.");
      for (const [index, what] of steps.entries()) {
        tool = what === "tool";
        if (what === "say" || what === "tool") await say(sessionId, `${index} ${FILLER}`);
        if (what === "ask") await say(sessionId, "How many hives of bees does Mirela keep?");
        if (what === "compact") await service.compact({ sessionId });
        if (what === "undo") await service.undoCompaction({ sessionId }).catch(() => {});
        if (what === "task") await service.updateTask({ sessionId, newTask: `Count ${index}.` });
        if (what === "fork") ({ sessionId } = await service.forkSession({ sessionId }));
        if (what === "bring") {
          const pin = index % 2 === 0;
          await service.bringBack({ sessionId, turn: index % 3, pin }).catch(() => {});
        }
        if (what === "pin") {
          const { history } = await service.read({ sessionId });
          await service.pin({ sessionId, message: history.at(-1)?.id ?? 0 });
        }
      }
      const { seq } = await service.read({ sessionId });
      for (const event of [seq, ...places.map((place) => 2 + Math.floor(place * (seq - 2)))]) {
        const wanted = await requestAt(project, sessionId, event);
        const forking = service.forkSession({ sessionId, event });
        const fork = await forking.catch((error: Error) => error);
        if (fork instanceof Error) {
          // Only calls that have no results yet are in the way.
          expect(fork.message).toMatch(/calls of message \d+ have no results/);
          continue;
        }
        expect(await requestAt(project, fork.sessionId)).toBe(wanted);
        expect(await nextRequest(fork.sessionId)).toBe(wanted);
      }
      await expectEarlierHistories(project.stores, sessionId);
      const whole = await requestAt(project, sessionId);
      const fork = await service.forkSession({ sessionId });
      const sent = await say(fork.sessionId, "Thanks.");
      expect(JSON.stringify(sent).startsWith(whole.slice(0, -1))).toBe(true);
      expect(await nextRequest(fork.sessionId)).toContain("Thanks.");
    },
  );
  await fc.assert(property, { numRuns: trials(2, 200) });
}, 300_000);

test("the context of a fork says what it is sent from memory, with who said it where and when", async () => {
  const { service, say } = await openProject();
  const { sessionId } = await service.createSession({});
  await say(sessionId, "My sister Mirela keeps bees near Constanta, twelve hives.");
  for (let at = 0; at < 8; at += 1) await say(sessionId, `${at} ${FILLER}`);
  await service.compact({ sessionId });
  await say(sessionId, "How many hives of bees does my sister Mirela keep?");
  const [shown] = (await service.context({ sessionId })).recalled;
  expect(shown?.records.length).toBeGreaterThan(0);
  let forked = sessionId;
  for (const depth of [1, 2]) {
    ({ sessionId: forked } = await service.forkSession({ sessionId: forked }));
    const view = await service.context({ sessionId: forked });
    expect(view.recalled, `${depth} forks deep`).toHaveLength(1);
    const { message = 0, event, bar, records = [] } = view.recalled[0] ?? {};
    const { history } = await service.read({ sessionId: forked });
    const prompt = history.find(({ id }) => id === message)?.message;
    expect(JSON.stringify(prompt)).toContain("How many hives");
    expect({ event, bar }).toEqual({ event: expect.any(Number), bar: null });
    expect(records).toEqual(
      shown?.records.map((record) => ({
        ...record,
        session: record.session ?? sessionId,
        time: record.time?.slice(0, 10) ?? null,
        score: null,
      })),
    );
    await say(forked, "Thanks.");
    expect((await service.context({ sessionId: forked })).recalled).toEqual(view.recalled);
  }
});

test("a fork costs what the window has, not what the log has", async () => {
  const { service, stores, say } = await openProject();
  const { sessionId } = await service.createSession({ memory: false });
  for (let turn = 0; turn < 3; turn += 1) {
    for (let at = 0; at < 8; at += 1) await say(sessionId, `${turn} ${at} ${FILLER}`);
    await service.compact({ sessionId });
  }
  const { seq, history } = await service.read({ sessionId });
  let reads = 0;
  const { read } = stores.events;
  stores.events.read = async function* (id, after, to) {
    for await (const event of read.call(stores.events, id, after, to)) {
      reads += Number(id === sessionId);
      yield event;
    }
  };
  const fork = await service.forkSession({ sessionId });
  expect(seq).toBeGreaterThan(100);
  expect(reads).toBeLessThan(60);
  const events = await Array.fromAsync(read.call(stores.events, fork.sessionId, 0));
  expect(events.length).toBeLessThan(history.length + 4);
});

test("a summary that a fork began with is written again when the other session forgets what it told of", async () => {
  const project = await openProject();
  const { service, say } = project;
  const { sessionId } = await service.createSession({});
  await say(sessionId, "The secret animal is the okapi of Emden.");
  for (let turn = 0; turn < 4; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  await service.compact({ sessionId });
  const fork = await service.forkSession({ sessionId });
  const forkOfFork = await service.forkSession({ sessionId: fork.sessionId });
  const before = await requestAt(project, fork.sessionId);
  const [entry] = await service.listMemory({ sessionId });
  await service.forgetMemory({ ids: [entry?.id ?? ""] });
  const after = await requestAt(project, fork.sessionId);
  expect(after).not.toBe(before);
  expect(after).toBe(await requestAt(project, forkOfFork.sessionId));
  const parent = await requestAt(project, sessionId);
  expect(summaryIn(after)).toBe(summaryIn(parent));
});

function summaryIn(request: string): unknown {
  const messages: { readonly kind?: string; readonly content: unknown }[] = JSON.parse(request);
  return messages.find(({ kind }) => kind === "compaction_summary")?.content;
}

test("a fork teaches the project nothing again, and is allowed nothing that the other session was", async () => {
  const { service, stores } = await openProject({ knowledge: {} });
  const { sessionId } = await service.createSession({});
  await service.appendMessages({
    sessionId,
    messages: [
      { role: "user", content: "Always moor the barge in the harbour of Emden." },
      { role: "assistant", content: "Noted." },
    ],
    origin: { author: "user" },
  });
  const known = await service.listKnowledge({ kind: "preference" });
  expect(known.map(({ count }) => count)).toEqual([1]);
  const fork = await service.forkSession({ sessionId });
  await service.startTurn({ sessionId: fork.sessionId, prompt: "And now?" });
  expect(await service.listKnowledge({ kind: "preference" })).toEqual(known);
  const { instructions } = await service.read({ sessionId: fork.sessionId });
  expect(instructions).toHaveLength(1);
  expect((await stores.sessions.load(fork.sessionId))?.allowed).toBeUndefined();
});

test("what had left the other session's window before a fork comes back in the fork, until it is forgotten or the other session is deleted", async () => {
  const { service, say } = await openProject();
  const { sessionId } = await service.createSession({});
  const secret = "My sister Mirela keeps bees near Constanta, twelve hives.";
  await say(sessionId, secret);
  for (let turn = 0; turn < 6; turn += 1) await say(sessionId, `${turn} ${FILLER}`);
  await service.compact({ sessionId });
  const question = "How many hives of bees does my sister Mirela keep?";
  const ask = async () => {
    const fork = await service.forkSession({ sessionId });
    return { ...fork, sent: JSON.stringify(await say(fork.sessionId, question)) };
  };
  const first = await ask();
  expect(first.sent).toContain("[Recalled from memory]");
  expect(first.sent).toContain("twelve hives");
  const { history } = await service.read({ sessionId: first.sessionId });
  const [entry] = (await service.searchMemory({ query: secret, sessionId })).filter(
    ({ content }) => content === secret,
  );
  await service.forgetMemory({ ids: [entry?.id ?? ""] });
  const { events } = await service.readLog({ sessionId: first.sessionId, limit: 1000 });
  expect(JSON.stringify(events)).not.toContain("twelve hives");
  expect((await ask()).sent).not.toContain("twelve hives");
  await service.delete({ sessionId, now: true });
  const after = await service.read({ sessionId: first.sessionId });
  expect(after.history).toHaveLength(history.length);
});

test("what had left the window of the first session comes back in a fork of a fork of its fork, and nothing that it said later", async () => {
  const { service, say } = await openProject();
  const { sessionId } = await service.createSession({});
  await say(sessionId, "My sister Mirela keeps bees near Constanta, twelve hives.");
  const filled = async (session: string) => {
    for (let turn = 0; turn < 6; turn += 1) await say(session, `${turn} ${FILLER}`);
    expect((await service.compact({ sessionId: session })).compacted).toBe(true);
  };
  await filled(sessionId);
  let last = sessionId;
  for (const generation of ["Vlad keeps four goats", "Anca keeps nine ducks"]) {
    ({ sessionId: last } = await service.forkSession({ sessionId: last }));
    await say(last, `My cousin ${generation} near Brasov.`);
    await filled(last);
  }
  // After the forks: it is no part of them.
  await say(sessionId, "My brother Radu keeps trout near Sibiu, five ponds.");
  await filled(sessionId);
  const asked = async (question: string) => {
    const fork = await service.forkSession({ sessionId: last });
    return JSON.stringify(await say(fork.sessionId, question));
  };
  expect(await asked("How many hives of bees does my sister Mirela keep?")).toContain(
    "twelve hives",
  );
  expect(await asked("How many goats does my cousin Vlad keep?")).toContain("four goats");
  expect(await asked("How many ponds of trout does my brother Radu keep?")).not.toContain(
    "five ponds",
  );
});

test("sessions that go on from each other, as only somebody else makes them, have turns", async () => {
  const { service, stores, say } = await openProject({});
  const { sessionId } = await service.createSession({});
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  for (const [id, other] of [
    ["one", "two"],
    ["two", "one"],
  ] as const) {
    const parent = { id: other, relation: "fork", event: 1 } as const;
    const source = { agent: "rkat", native_id: id, parent };
    const events = log.map(({ event_id: _, ...stored }) => {
      const { event } = stored;
      const made = event.type === "session_created";
      return {
        event_id: crypto.randomUUID(),
        timestamp_ms: stored.timestamp_ms,
        event: made ? { ...event, session_id: id, settings: { ...event.settings, source } } : event,
      };
    });
    await stores.events.append(id, 0, events);
    const read = (after: number, to?: number) => stores.events.read(id, after, to);
    await stores.sessions.save((await SessionState.fold(id, read)).snapshot());
  }
  expect(JSON.stringify(await say("one", "Hello there, otter."))).toContain("otter");
});

test("the last prompt is edited in a fork at the event before it", async () => {
  const { service, say } = await openProject();
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  await say(sessionId, "one");
  await say(sessionId, "tow");
  const { history } = await service.read({ sessionId });
  const last = history.findLast(({ message }) => message.role === "user")?.id ?? 0;
  const fork = await service.forkSession({ sessionId, event: last - 1 });
  const sent = await say(fork.sessionId, "two");
  expect(sent.flatMap((message) => (message.role === "user" ? [message.content] : []))).toEqual([
    "one",
    "two",
  ]);
});
