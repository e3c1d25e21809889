import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { PositionedEvent, Projection } from "../src/core/event-store.ts";
import { newId } from "../src/core/ids.ts";
import { indexableText, isSummary } from "../src/core/message.ts";
import { SessionState } from "../src/core/session-state.ts";
import { Outages } from "../src/core/warn.ts";
import { createSessionService } from "../src/index.ts";
import { MemoryIndex } from "../src/projections/memory-index.ts";
import { type ProjectionLease, ProjectionRunner } from "../src/projections/projection-runner.ts";
import { SessionFiles } from "../src/projections/session-files.ts";
import { newOwner, withFilesLease } from "../src/session/session-lease.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "../src/stores/ephemeral/ephemeral-session-store.ts";
import { SimpleMemoryStore } from "../src/stores/ephemeral/simple-memory-store.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { trials } from "./support/trials.ts";

const LONG = "some words to fill a small window with, over and over again. ".repeat(12);

/** The log of `events`, to which another process appends an event with each page that is read of it, `most` in all. */
function growingLog(events: EphemeralEventStore, most: number) {
  let appended = 0;
  return {
    async readAll(after: number, limit: number) {
      const found = await events.readAll(after, limit);
      const event = { type: "text_complete", content: "By another process." } as const;
      const added = { event_id: `${appended}`, timestamp_ms: 0, event };
      if (appended < most) await events.append("another", appended++, [added]);
      return found;
    },
  };
}

/** A log with two sessions in it, one of them compacted. */
async function someLog(): Promise<EphemeralEventStore> {
  const events = new EphemeralEventStore();
  const service = createSessionService({
    model: scriptedModel((_, call) => `answer ${call}. ${LONG}`),
    stores: { events, sessions: new EphemeralSessionStore() },
    memory: new SimpleMemoryStore(),
    compaction: {
      autoCompactThreshold: 1500,
      minTurnsBetweenCompactions: 1,
      summarizer: "fallback",
    },
    builtinTools: false,
  });
  const one = await service.createSession({ labels: { name: "one" } });
  const two = await service.createSession({});
  for (let turn = 0; turn < 16; turn += 1) {
    await service.startTurn({ sessionId: one.sessionId, prompt: `question ${turn}` });
    if (turn < 2) await service.startTurn({ sessionId: two.sessionId, prompt: "and you?" });
  }
  await service.close();
  return events;
}

/** Every file below a folder, by its path. */
async function filesOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const texts = paths.map(async (path) => [
    path.slice(folder.length),
    await readFile(path, "utf8"),
  ]);
  return Object.fromEntries(await Promise.all(texts));
}

async function project(events: EphemeralEventStore, files: SessionFiles, batch = 200, until = 1e9) {
  for (;;) {
    const position = await files.position();
    const next = (await events.readAll(position, batch)).filter((event) => event.position <= until);
    if (next.length === 0) return;
    await files.apply(next);
  }
}

test("session files come out the same from nothing, in any batches, however often", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, join(folder, "whole")));
  const whole = await filesOf(join(folder, "whole"));
  await project(events, new SessionFiles(events, join(folder, "small")), 3);
  expect(await filesOf(join(folder, "small"))).toEqual(whole);

  await rm(join(folder, "small", "checkpoint"));
  await project(events, new SessionFiles(events, join(folder, "small")), 7);
  expect(await filesOf(join(folder, "small"))).toEqual(whole);
});

test("each session has its state, its log, its last answer and its checkpoint as files", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, folder));
  const index = (await readFile(join(folder, "index.jsonl"), "utf8")).trimEnd().split("\n");
  const [one] = index.map((line) => JSON.parse(line));
  expect(index).toHaveLength(2);
  expect(one.labels).toEqual({ name: "one" });
  const session = join(folder, one.session_id);
  expect((await readdir(session)).sort()).toEqual([
    "checkpoint",
    "events.jsonl",
    "session.json",
    "summary.txt",
  ]);
  const lines = (await readFile(join(session, "events.jsonl"), "utf8")).trimEnd().split("\n");
  const stored = await Array.fromAsync(events.read(one.session_id, 0));
  expect(lines.map((line) => JSON.parse(line))).toEqual(stored);
  expect(JSON.parse(await readFile(join(session, "session.json"), "utf8"))).toMatchObject({
    turns: 16,
    seq: stored.length,
    version: 1,
  });
  expect(await readFile(join(session, "summary.txt"), "utf8")).toMatch(/^answer 17\. /);
});

test("what a crash leaves in the files is healed, whatever it is", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, join(folder, "whole")));
  const whole = await filesOf(join(folder, "whole"));
  const damage = {
    "a half-written line": (session: string) =>
      appendFile(join(session, "events.jsonl"), '{"seq":99'),
    "whole lines that no checkpoint knows": (session: string) =>
      appendFile(join(session, "events.jsonl"), '{"seq":99}\n{"seq":100}\n'),
    "a log that fell short": (session: string) => truncate(join(session, "events.jsonl"), 50),
    "no log": (session: string) => rm(join(session, "events.jsonl")),
    "no checkpoint": (session: string) => rm(join(session, "checkpoint")),
    "a checkpoint of garbage": (session: string) =>
      writeFile(join(session, "checkpoint"), "garbage"),
    "a state of garbage": (session: string) => writeFile(join(session, "session.json"), "{"),
    "no folder": (session: string) => rm(session, { recursive: true }),
  };
  const positions = (await events.readAll(0, 1000)).map((event) => event.position);
  const crash = fc.record({
    at: fc.constantFrom(...positions.slice(4)),
    what: fc.constantFrom(...Object.keys(damage)),
    batch: fc.integer({ min: 1, max: 9 }),
  });
  let trial = 0;
  await fc.assert(
    fc.asyncProperty(crash, async ({ at, what, batch }) => {
      trial += 1;
      const files = join(folder, `trial-${trial}`);
      await project(events, new SessionFiles(events, files), batch, at);
      const last = (await events.readAll(0, 1000)).findLast((event) => event.position <= at);
      await damage[what as keyof typeof damage](join(files, last?.sessionId ?? ""));
      // The batch that was cut short comes again, and the rest after it.
      const again = (await events.readAll(at - 1, 1000)).slice(0, batch);
      await new SessionFiles(events, files).apply(again);
      await project(events, new SessionFiles(events, files), batch);
      const session = `/${last?.sessionId}/`;
      const ofSession = (all: Record<string, string>) =>
        Object.entries(all).filter(([path]) => path.startsWith(session));
      expect(ofSession(await filesOf(files))).toEqual(ofSession(whole));
    }),
    {
      numRuns: trials(2, 500),
      examples: [[{ at: positions.at(-1) ?? 0, what: "a state of garbage", batch: 1 }]],
    },
  );
});

test("a process that starts removes what a killed one left of the files beside the sessions", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, folder));
  const before = await filesOf(folder);
  for (const name of ["index.jsonl", "checkpoint"]) {
    await writeFile(join(folder, `${name}.${crypto.randomUUID()}.tmp`), "half");
  }
  await writeFile(join(folder, "mine.tmp"), "a person's");
  await project(events, new SessionFiles(events, folder));
  expect(await filesOf(folder)).toEqual({ ...before, "/mine.tmp": "a person's" });
});

test("a deleted session leaves no file and no line in the index", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  const files = new SessionFiles(events, folder);
  await project(events, files);
  const [first, second] = (await readFile(join(folder, "index.jsonl"), "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).session_id);
  await files.remove(first);
  expect((await readdir(folder)).sort()).toEqual([second, "checkpoint", "index.jsonl"].sort());
  expect(await readFile(join(folder, "index.jsonl"), "utf8")).not.toContain(first);
});

test("files of a session do not come back by events that were read before it was deleted", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  const files = new SessionFiles(events, folder);
  const all = await events.readAll(0, 1000);
  const [first = "", second = ""] = new Set(all.map(({ sessionId }) => sessionId));
  await files.apply(all.slice(0, 20));
  const event = { type: "session_deleted", session_id: first } as const;
  const marked = { event_id: newId(), timestamp_ms: 0, event };
  await events.append(first, await events.lastSeq(first), [marked]);
  await files.remove(first);
  await files.apply(all.slice(20, 30));
  await events.delete(first);
  await files.apply(all.slice(30));
  expect((await readdir(folder)).sort()).toEqual([second, "checkpoint", "index.jsonl"].sort());
  expect(await readFile(join(folder, "index.jsonl"), "utf8")).not.toContain(first);
});

test("files of a session do not come back when it is deleted while its process writes them", async () => {
  const events = await someLog();
  const all = await events.readAll(0, 1000);
  const [first = "", second = ""] = new Set(all.map(({ sessionId }) => sessionId));
  const asked = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const slow = {
    read: events.read.bind(events),
    async lastSeq(id: string) {
      const seq = await events.lastSeq(id);
      asked.resolve();
      await goesOn.promise;
      return seq;
    },
  };
  const folder = await temporaryFolder();
  const sessions = new EphemeralSessionStore();
  const owner = newOwner();
  const files = new SessionFiles(slow, folder, (work) => withFilesLease(sessions, owner, work));
  const applied = files.apply(all);
  await asked.promise;
  const event = { type: "session_deleted", session_id: first } as const;
  const marked = { event_id: newId(), timestamp_ms: 0, event };
  await events.append(first, await events.lastSeq(first), [marked]);
  const removed = files.remove(first).then(() => events.delete(first));
  await setImmediate();
  goesOn.resolve();
  await Promise.all([applied, removed]);
  expect((await readdir(folder)).sort()).toEqual([second, "checkpoint", "index.jsonl"].sort());
});

test.each(["new", "lost"])(
  "a process that was suspended while it wrote %s files, and whose session was deleted meanwhile, leaves none of it",
  async (what) => {
    const events = await someLog();
    const all = await events.readAll(0, 1000);
    const [first = "", second = ""] = new Set(all.map(({ sessionId }) => sessionId));
    const folder = await temporaryFolder();
    let hours = 0;
    const sessions = new EphemeralSessionStore({ now: () => hours * 3_600_000 });
    const [owner, otherOwner] = [newOwner(), newOwner()];
    const other = new SessionFiles(events, folder, (work) =>
      withFilesLease(sessions, otherOwner, work),
    );
    const suspended = {
      lastSeq: events.lastSeq.bind(events),
      /** It knows that the session is there when it stops. */
      async *read(...range: Parameters<typeof events.read>) {
        if (hours === 0) {
          hours = 1;
          const event = { type: "session_deleted", session_id: first } as const;
          const marked = { event_id: newId(), timestamp_ms: 0, event };
          const before = await Array.fromAsync(events.read(...range));
          await events.append(first, await events.lastSeq(first), [marked]);
          await other.apply(await events.readAll(0, 1000));
          await other.remove(first);
          await events.delete(first);
          yield* before;
        } else yield* events.read(...range);
      },
    };
    const files = new SessionFiles(suspended, folder, (work) =>
      withFilesLease(sessions, owner, work),
    );
    if (what === "lost") {
      await other.apply(all);
      await rm(join(folder, first, "checkpoint"));
      await mkdir(join(folder, "mine"));
      await files.position();
    }
    // Without its first event, so that it reads the log.
    else await files.apply(all.slice(1));
    const own = what === "lost" ? ["mine"] : [];
    expect((await readdir(folder)).sort()).toEqual(
      [second, "checkpoint", "index.jsonl", ...own].sort(),
    );
    expect(await readFile(join(folder, "index.jsonl"), "utf8")).not.toContain(first);
  },
);

test("who only reads does not look at the files of all sessions, and others have their turn meanwhile", async () => {
  const events = await someLog();
  const all = await events.readAll(0, 1000);
  const folder = await temporaryFolder();
  await new SessionFiles(events, folder).apply(all);
  const lost = join(folder, all[0]?.sessionId ?? "", "events.jsonl");
  await rm(lost);
  for (let at = 0; at < 450; at += 1) await mkdir(join(folder, `of-nobody-${at}`));

  const slow = new SessionFiles(events, folder);
  let asked = 0;
  let turns = 0;
  let isOver = false;
  const takeTurns = (async () => {
    for (; !isOver; turns += 1) await setImmediate();
  })();
  // It is asked before each part.
  await slow.position(() => ++asked === 2);
  isOver = true;
  await takeTurns;
  expect({ asked, hadTurns: turns > 0 }).toEqual({ asked: 2, hadTurns: true });
  await expect(readFile(lost)).rejects.toThrow();

  const runner = new ProjectionRunner(events, [slow], new Outages(() => {}), { readerCloseMs: 0 });
  await runner.close();
  await expect(readFile(lost)).rejects.toThrow();
  await slow.position();
  expect(await readFile(lost, "utf8")).not.toBe("");

  // The same while it writes an index that is gone: it writes none, and the next process all of it.
  const index = join(folder, "index.jsonl");
  const whole = await readFile(index, "utf8");
  await rm(index);
  for (const stopsAt of [1, 4, 7, 8]) {
    let times = 0;
    await new SessionFiles(events, folder).position(() => ++times === stopsAt);
    await expect(readFile(index)).rejects.toThrow();
  }
  await new SessionFiles(events, folder).position();
  expect(await readFile(index, "utf8")).toBe(whole);
});

test("memory has each discarded message once, however often and by however many it is indexed", async () => {
  const events = await someLog();
  const memory = new SimpleMemoryStore();
  const all = await events.readAll(0, 1000);
  const options = { scope: "discarded" } as const;
  for (const _ of [1, 2, 3]) {
    await Promise.all([
      new MemoryIndex(events, memory, options).apply(all),
      new MemoryIndex(events, memory, options).apply(all.slice(0, all.length / 2)),
    ]);
  }
  const discarded = all.flatMap(({ stored: { event } }) =>
    event.type === "compaction_completed" ? [event.discarded_messages] : [],
  );
  expect(discarded.length).toBeGreaterThan(1);
  const { entries } = await memory.stats();
  expect(entries).toBe(discarded.reduce((sum, count) => sum + count, 0));
});

test("a copy of the files is worth nothing: the log is the truth", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, join(folder, "files")));
  await cp(join(folder, "files"), join(folder, "copy"), { recursive: true });
  await writeFile(join(folder, "copy", "checkpoint"), "not a number");
  await project(events, new SessionFiles(events, join(folder, "copy")), 5);
  expect(await filesOf(join(folder, "copy"))).toEqual(await filesOf(join(folder, "files")));
});

test("memory has everything that was said once, in any batches, by any processes, with its turn", async () => {
  const events = await someLog();
  const all = await events.readAll(0, 1000);
  const said = await Promise.all(
    [...new Set(all.map(({ sessionId }) => sessionId))].map(async (sessionId) => {
      const state = new SessionState(sessionId);
      const found: object[] = [];
      for await (const stored of events.read(sessionId, 0)) {
        state.apply(stored);
        const last = state.history.at(-1);
        if (last?.id !== stored.seq || isSummary(last.message)) continue;
        const content = indexableText(last.message);
        const turn = Math.max(0, last.turn);
        if (content !== "") found.push({ id: `${sessionId}:${stored.seq}`, content, turn });
      }
      return found;
    }),
  );
  const expected = said.flat();
  expect(expected.length).toBeGreaterThan(30);
  const life = fc.array(
    fc.record({ process: fc.nat(2), batch: fc.integer({ min: 1, max: 40 }), dies: fc.boolean() }),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(life, async (steps) => {
      const memory = new SimpleMemoryStore();
      let place = 0;
      const processes = [0, 1, 2].map(() => new MemoryIndex(events, memory));
      for (const { process, batch, dies } of [...steps, { process: 0, batch: 1000, dies: false }]) {
        const index = processes[process] as MemoryIndex;
        const next = (await events.readAll(place, 1000)).slice(0, batch);
        await index.apply(next);
        // A process that dies has not saved how far it is; the next one has read nothing.
        if (dies) processes[process] = new MemoryIndex(events, memory);
        else place = next.at(-1)?.position ?? place;
      }
      const entries = await memory.list({ limit: 1000 });
      const found = entries.map(({ id, content, turn }) => ({ id, content, turn }));
      const byId = (one: { id?: string }, other: { id?: string }) =>
        `${one.id}` < `${other.id}` ? -1 : 1;
      expect(found.toSorted(byId)).toEqual(expected.toSorted(byId));
    }),
    { numRuns: trials(2, 500) },
  );
});

test("a process that goes on with memory reads what was added, not the whole session", async () => {
  const events = await someLog();
  const [first] = await events.readAll(0, 1);
  const sessionId = first?.sessionId ?? "";
  const whole = new SimpleMemoryStore();
  const all = await events.readAll(0, 1e6);
  await new MemoryIndex(events, whole).apply(all);

  let read = 0;
  const counting = countingReads(events, () => {
    read += 1;
  });
  const memory = new SimpleMemoryStore();
  await new MemoryIndex(events, memory).apply(all.slice(0, -10));
  for (const event of all.slice(-10)) {
    read = 0;
    await new MemoryIndex(counting, memory).apply([event]);
    expect(read).toBeLessThan(50);
  }
  expect(await events.lastSeq(sessionId)).toBeGreaterThan(80);
  const entries = async (store: SimpleMemoryStore) =>
    (await store.list({ sessionId, limit: 100 })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  expect(await entries(memory)).toEqual(await entries(whole));
  expect(await entries(memory)).toHaveLength(32);
});

test("catching up reads each event at most twice, however many sessions take turns in the log", async () => {
  const events = new EphemeralEventStore();
  const stores = { events, sessions: new EphemeralSessionStore() };
  const memory = new SimpleMemoryStore();
  const service = createSessionService({ model: scriptedModel([]), stores, memory });
  const created = Array.from({ length: 8 }, () => service.createSession({}));
  const sessions = (await Promise.all(created)).map(({ sessionId }) => sessionId);
  for (let note = 0; note < 60; note += 1) {
    for (const sessionId of sessions) {
      const message = { role: "user", content: `Note ${note} of the day.` } as const;
      await service.appendMessages({ sessionId, messages: [message] });
    }
  }
  await service.close();
  const all = await events.readAll(0, 1e6);
  let read = 0;
  const counting = countingReads(events, () => {
    read += 1;
  });
  const filled = new SimpleMemoryStore();
  const index = new MemoryIndex(counting, filled);
  for (let at = 0; at < all.length; at += 20) await index.apply(all.slice(at, at + 20));
  expect((await filled.stats()).entries).toBe(60 * sessions.length);
  expect(read).toBeLessThan(2 * all.length);
});

test("what is forgotten while memory catches up does not come in with a later batch", async () => {
  const events = new EphemeralEventStore();
  const stores = { events, sessions: new EphemeralSessionStore() };
  const memory = new SimpleMemoryStore();
  const service = createSessionService({ model: scriptedModel([]), stores, memory });
  const { sessionId } = await service.createSession({});
  for (const note of ["one", "two", "three", "four", "five", "six"]) {
    const message = { role: "user", content: `The note ${note}.` } as const;
    await service.appendMessages({ sessionId, messages: [message] });
  }
  // Read before two texts are forgotten, and projected after that.
  const all = await events.readAll(0, 1e6);
  const said = all.filter(({ stored: { event } }) => event.type === "message_added");
  const ids = [said.at(1), said.at(-1)].map((event) => `${sessionId}:${event?.stored.seq}`);
  await service.forgetMemory({ ids });
  await service.close();
  const filled = new SimpleMemoryStore();
  const index = new MemoryIndex(events, filled);
  for (let at = 0; at < all.length; at += 2) await index.apply(all.slice(at, at + 2));
  const kept = (await filled.list({ limit: 100 })).map(({ content }) => content);
  expect(kept.toSorted()).toEqual(
    (await memory.list({ limit: 100 })).map(({ content }) => content).toSorted(),
  );
  expect(kept).toHaveLength(4);
});

/** The same log. It tells of each event that is read from a session. */
function countingReads(events: EphemeralEventStore, tell: () => void): EphemeralEventStore {
  return new Proxy(events, {
    get(target, name) {
      if (name !== "read") return Reflect.get(target, name)?.bind(target);
      return async function* (...given: Parameters<typeof target.read>) {
        for await (const event of target.read(...given)) {
          tell();
          yield event;
        }
      };
    },
  });
}

/** What so many services read of the log, together, for the same turns. */
async function readBy(services: number) {
  const events = new EphemeralEventStore();
  const sessions = new EphemeralSessionStore();
  const memory = new SimpleMemoryStore();
  let read = 0;
  const counted = new Proxy(events, {
    get(target, name) {
      if (name !== "readAll") return Reflect.get(target, name)?.bind(target);
      return async (after: number, limit: number) => {
        const found = await target.readAll(after, limit);
        read += found.length;
        // As over a network. Meanwhile other processes look, too.
        await new Promise((resolve) => setTimeout(resolve, 50));
        return found;
      };
    },
  });
  const all = Array.from({ length: services }, () =>
    createSessionService({
      model: scriptedModel((_, call) => `answer ${call}`),
      stores: { events: counted, sessions },
      memory,
      builtinTools: false,
    }),
  );
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, at) => all[at % services]?.createSession({})),
  );
  const talk = async (at: number) => {
    const sessionId = made[at]?.sessionId ?? "";
    for (let turn = 0; turn < 20; turn += 1) {
      await all[at % services]?.startTurn({ sessionId, prompt: `question ${turn}` });
      await vi.advanceTimersByTimeAsync(20);
    }
  };
  await Promise.all(made.map((_, at) => talk(at)));
  const closed = Promise.all(all.map((service) => service.close()));
  await vi.advanceTimersByTimeAsync(3000);
  await closed;
  return { read, entries: (await memory.stats()).entries };
}

test("what is read of the log for memory does not grow with the number of processes", async () => {
  vi.useFakeTimers();
  try {
    const one = await readBy(1);
    const eight = await readBy(8);
    expect(one.entries).toBe(8 * 20 * 2);
    expect(eight.entries).toBe(one.entries);
    expect(eight.read).toBeLessThan(1.5 * one.read);
  } finally {
    vi.useRealTimers();
  }
});

/** A projection that only notes how far it is. */
class Noted implements Projection {
  readonly name: string;
  readonly isLocal: boolean;
  at = 0;
  batches = 0;

  constructor(name: string, isLocal = false) {
    this.name = name;
    this.isLocal = isLocal;
  }

  async position(): Promise<number> {
    return this.at;
  }

  async apply(added: readonly PositionedEvent[]): Promise<void> {
    this.at = added.at(-1)?.position ?? this.at;
    this.batches += 1;
  }
}

/** A lease that another process has or has not. */
class GivenLease implements ProjectionLease {
  isHeld = false;
  isFree = true;

  async take(): Promise<boolean> {
    this.isHeld = this.isFree;
    return this.isHeld;
  }

  async release(): Promise<void> {
    this.isHeld = false;
  }
}

test("a process goes on with the projections when the one that did them is gone", async () => {
  vi.useFakeTimers();
  try {
    const events = await someLog();
    const [shared, local] = [new Noted("shared"), new Noted("local", true)];
    const lease = new GivenLease();
    lease.isFree = false;
    const runner = new ProjectionRunner(events, [shared, local], new Outages(() => {}), {
      lease,
      batch: 1000,
    });
    runner.wake();
    await vi.advanceTimersByTimeAsync(5000);
    expect([shared.batches, local.batches]).toEqual([0, 1]);
    lease.isFree = true;
    await vi.advanceTimersByTimeAsync(1000);
    expect([shared.batches, local.batches]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(lease.isHeld).toBe(false);
    await runner.close();
  } finally {
    vi.useRealTimers();
  }
});

test("a process that loses the lease in a long run leaves the rest to the one that has it", async () => {
  vi.useFakeTimers();
  try {
    const events = await someLog();
    const lease = new GivenLease();
    const [shared, local] = [new Noted("shared"), new Noted("local", true)];
    const losing = {
      async readAll(after: number, limit: number) {
        lease.isFree = shared.batches < 2;
        return await events.readAll(after, limit);
      },
    };
    const runner = new ProjectionRunner(losing, [shared, local], new Outages(() => {}), {
      lease,
      batch: 5,
    });
    runner.wake();
    await vi.advanceTimersByTimeAsync(100);
    expect(shared.batches).toBe(3);
    expect(await events.readAll(local.at, 1)).toEqual([]);
    const closed = runner.close();
    await vi.advanceTimersByTimeAsync(5000);
    await closed;
  } finally {
    vi.useRealTimers();
  }
});

test("projections at different positions come together, and read the log once from there", async () => {
  const events = await someLog();
  const all = await events.readAll(0, 1e6);
  const noted = ["one", "two", "three"].map((name) => new Noted(name));
  for (const [at, one] of noted.entries()) one.at = all[2 * at]?.position ?? 0;
  let read = 0;
  const counting = {
    async readAll(after: number, limit: number) {
      const found = await events.readAll(after, limit);
      read += found.length;
      return found;
    },
  };
  await new ProjectionRunner(counting, noted, new Outages(() => {}), { batch: 5 }).flush();
  expect(noted.map(({ at }) => at)).toEqual(noted.map(() => all.at(-1)?.position));
  expect(read).toBe(all.length - 1);
});

test("the process that has the lease goes on while others append", async () => {
  vi.useFakeTimers();
  try {
    const events = await someLog();
    const shared = new Noted("shared");
    const lease = new GivenLease();
    const runner = new ProjectionRunner(events, [shared], new Outages(() => {}), { lease });
    runner.wake();
    await vi.advanceTimersByTimeAsync(100);
    for (let turn = 0; turn < 5; turn += 1) {
      const event = { type: "text_complete", content: "By another process." } as const;
      const added = { event_id: `${turn}`, timestamp_ms: 0, event };
      await events.append("another", turn, [added]);
      await vi.advanceTimersByTimeAsync(500);
      expect(await events.readAll(shared.at, 1)).toEqual([]);
      expect(lease.isHeld).toBe(true);
    }
    await vi.advanceTimersByTimeAsync(2000);
    expect(lease.isHeld).toBe(false);
    await runner.close();
  } finally {
    vi.useRealTimers();
  }
});

test("while others append all the time, their events come in a batch for each rest", async () => {
  vi.useFakeTimers();
  try {
    const events = await someLog();
    const shared = new Noted("shared");
    shared.at = (await events.readAll(0, 1000)).at(-5)?.position ?? 0;
    const growing = growingLog(events, 100);
    const lease = new GivenLease();
    const runner = new ProjectionRunner(growing, [shared], new Outages(() => {}), { lease });
    runner.wake();
    await vi.advanceTimersByTimeAsync(1900);
    expect(shared.batches).toBe(4);
    await runner.close();
    expect(await events.readAll(shared.at, 1)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("what others append after this process saw no work is theirs", async () => {
  vi.useFakeTimers();
  try {
    const events = await someLog();
    const [shared, local] = [new Noted("shared"), new Noted("local", true)];
    shared.at = (await events.readAll(0, 1000)).at(-1)?.position ?? 0;
    const lease = new GivenLease();
    const growing = growingLog(events, 20);
    const runner = new ProjectionRunner(growing, [shared, local], new Outages(() => {}), { lease });
    runner.wake();
    await vi.advanceTimersByTimeAsync(5000);
    expect([shared.batches, lease.isHeld]).toEqual([0, false]);
    expect(await events.readAll(local.at, 1)).toEqual([]);
    await runner.close();
    expect(await events.readAll(shared.at, 1)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("a flush does not wait for the process that has the lease", async () => {
  const events = await someLog();
  const shared = new Noted("shared");
  const lease = new GivenLease();
  lease.isFree = false;
  await new ProjectionRunner(events, [shared], new Outages(() => {}), { lease }).flush();
  expect(await events.readAll(shared.at, 1)).toEqual([]);
});

test("a file that is deleted or damaged comes back with the next event of its session", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  const whole = join(folder, "whole");
  await project(events, new SessionFiles(events, whole));
  const ids = [...new Set((await events.readAll(0, 1e6)).map(({ sessionId }) => sessionId))];
  const before = await filesOf(whole);
  for (const id of ids) {
    const next = { event_id: newId(), timestamp_ms: 1, event: archived(id) };
    await events.append(id, await events.lastSeq(id), [next]);
  }
  await project(events, new SessionFiles(events, join(folder, "expected")));
  const expected = await filesOf(join(folder, "expected"));
  const names = [
    "index.jsonl",
    ...ids.flatMap((id) => [`${id}/events.jsonl`, `${id}/session.json`]),
  ];
  const changes = {
    deleted: (path: string) => rm(path),
    emptied: (path: string) => truncate(path, 0),
    cut: (path: string) => truncate(path, 40),
    longer: (path: string) => appendFile(path, "x\n"),
    async "another text of the same length"(path: string) {
      await writeFile(path, (await readFile(path, "utf8")).replaceAll(/[a-z]{3}/g, "xyz"));
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    for (const name of names) {
      const place = await temporaryFolder();
      await cp(whole, place, { recursive: true, preserveTimestamps: true });
      await change(join(place, name));
      await project(events, new SessionFiles(events, place));
      expect(await filesOf(place), `${what}: ${name}`).toEqual(expected);
    }
  }
  expect(Object.keys(before)).toHaveLength(2 + 4 * ids.length);
});

/** A log, and the sessions whose events are read from it. */
function watching(events: EphemeralEventStore) {
  const reads: string[] = [];
  const watched = {
    lastSeq: (id: string) => events.lastSeq(id),
    read(...args: Parameters<typeof events.read>) {
      reads.push(args[0]);
      return events.read(...args);
    },
  };
  return { watched, reads };
}

test("what is deleted comes back when a process starts, without reading what is whole", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, folder));
  const before = await filesOf(folder);
  const [id = ""] = (await events.readAll(0, 1)).map(({ sessionId }) => sessionId);
  await rm(join(folder, id, "events.jsonl"));
  await rm(join(folder, "index.jsonl"));
  const { watched, reads } = watching(events);
  await new SessionFiles(watched, folder).position();
  expect(await filesOf(folder)).toEqual(before);
  expect(new Set(reads)).toEqual(new Set([id]));
});

test("files that were written last are written again once the machine has started again, and no others", async () => {
  const events = await someLog();
  const folder = await temporaryFolder();
  await project(events, new SessionFiles(events, folder));
  const before = await filesOf(folder);
  const ids = new Set((await events.readAll(0, 1000)).map(({ sessionId }) => sessionId));
  const [recent = "", old = ""] = ids;
  // Power failed: what was written has its length, and nothing in it.
  const lost = join(folder, recent, "events.jsonl");
  await writeFile(lost, Buffer.alloc((await stat(lost)).size));
  const changeAt = async (seconds: number, ...names: readonly string[]) => {
    for (const name of names) await utimes(join(folder, name), seconds, seconds);
  };
  const HOUR = 3600;
  const FILES = ["events.jsonl", "session.json", "summary.txt", "checkpoint"];
  await changeAt(0, ...FILES.map((name) => join(old, name)));
  await changeAt(HOUR, ...FILES.map((name) => join(recent, name)), "index.jsonl", "checkpoint");
  const { watched, reads } = watching(events);
  await new SessionFiles(watched, folder).position();
  expect(await filesOf(folder)).toEqual(before);
  expect(new Set(reads)).toEqual(new Set([recent]));
  reads.length = 0;
  await new SessionFiles(watched, folder).position();
  expect(reads).toEqual([]);
});

const archived = (session_id: string) => ({ type: "session_archived", session_id }) as const;
