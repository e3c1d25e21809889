import assert from "node:assert/strict";
import { once } from "node:events";
import { expect, onTestFinished } from "vitest";
import type { StoredEvent } from "../../src/core/event.ts";
import { createSessionService } from "../../src/index.ts";
import { type PostgresStores, postgresStores } from "../../src/postgres.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { builtProgram } from "./built-package.ts";
import { type ChildProcess, spawn } from "./start-process.ts";

const PROGRAM = builtProgram("converse-until-killed");

/** By how much the clocks of the last two writers are wrong. */
const SKEWS_MS = [2 * 60 * 60_000, -2 * 60 * 60_000];

interface Writer {
  readonly child: ChildProcess;
  /** Its first event. */
  readonly works: Promise<unknown>;
  readonly ended: Promise<unknown>;
}

export interface CrowdOptions {
  readonly url: string;
  readonly schema: string;
  readonly writers: number;
  /** Where the writers connect, when it is not the server itself. */
  readonly writersUrl?: string;
  /** How long a writer rests before a turn, on average. */
  readonly pauseMs?: number;
  /** Each writer is also told of events by notices, and watches its sessions. */
  readonly watches?: boolean;
}

/**
 * Processes that run turns on one PostgreSQL, each in a session of its own and all in a shared one. What
 * they saw is compared with what the server has. The clocks of two are hours off.
 */
export class ConversingCrowd {
  readonly stores: PostgresStores;
  /** Failures that may be tried again. */
  readonly failures: string[] = [];
  readonly #options: CrowdOptions;
  readonly #sessions: readonly string[];
  readonly #writers: Writer[];
  /** The ids of the events that a writer saw, by their places. */
  readonly #seen = new Map<string, string>();
  readonly #complaints: string[] = [];
  /** The end of what was checked, by session. */
  readonly #checked = new Map<string, { seq: number; running: boolean }>();
  readonly #eventIds = new Set<string>();
  readonly #prompts = new Set<string>();
  readonly #read = new Map<string, number>();
  #position = 0;

  private constructor(options: CrowdOptions, stores: PostgresStores, sessions: readonly string[]) {
    this.#options = options;
    this.stores = stores;
    this.#sessions = sessions;
    this.#writers = Array.from({ length: options.writers }, (_, index) => this.#start(index));
  }

  static async start(options: CrowdOptions): Promise<ConversingCrowd> {
    const { url: connectionString, schema, writers } = options;
    const stores = postgresStores({ connectionString, schema });
    const service = createSessionService({ model: scriptedModel([]), stores });
    const made = Array.from({ length: writers + 1 }, () => service.createSession({}));
    const sessions = (await Promise.all(made)).map(({ sessionId }) => sessionId);
    await service.close();
    const crowd = new ConversingCrowd(options, stores, sessions);
    onTestFinished(async () => {
      await crowd.end();
      await stores.close();
    });
    await crowd.allWork();
    return crowd;
  }

  get size(): number {
    return this.#writers.length;
  }

  /** The number of events that the writers saw. */
  get events(): number {
    return this.#seen.size;
  }

  async allWork(): Promise<void> {
    await Promise.all(this.#writers.map(({ works }) => works));
  }

  /** Waits until the writers have seen so many more events. */
  async seesMore(events: number): Promise<void> {
    const wanted = this.events + events;
    const seen = () => {
      assert.deepEqual(this.#complaints, []);
      return this.events;
    };
    await expect
      .poll(seen, {
        timeout: 60_000,
        interval: 5,
        message: `the writers saw no ${events} more events`,
      })
      .toBeGreaterThanOrEqual(wanted);
  }

  /** Kills a writer and starts it again. */
  async kill(index: number): Promise<void> {
    await this.#end(this.#writers[index] as Writer);
    this.#writers[index] = this.#start(index);
  }

  async end(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => this.#end(writer)));
  }

  /** What a projection sees so far: all events, each once, and those of a session in their order. */
  async follow(): Promise<void> {
    for (;;) {
      const page = await this.stores.events.readAll(this.#position, 1000);
      for (const { position, sessionId, stored } of page) {
        assert.ok(position > this.#position, "positions grow");
        this.#position = position;
        assert.equal(stored.seq, (this.#read.get(sessionId) ?? 0) + 1, "no reader misses an event");
        this.#read.set(sessionId, stored.seq);
      }
      if (page.length === 0) return;
    }
  }

  /** Checks everything that came since the last check. */
  async assertLogsWhole(): Promise<void> {
    assert.deepEqual(this.#complaints, []);
    const seen = new Map(this.#seen);
    for (const session of this.#sessions) {
      const end = this.#checked.get(session) ?? { seq: 0, running: false };
      for await (const stored of this.stores.events.read(session, end.seq)) {
        assert.equal(stored.seq, end.seq + 1, "the log has no gap");
        end.seq = stored.seq;
        this.#check(session, stored, end);
        const key = `${session} ${stored.seq}`;
        const acknowledged = seen.get(key);
        if (acknowledged !== undefined) assert.equal(stored.event_id, acknowledged);
        seen.delete(key);
      }
      this.#checked.set(session, end);
      for (const key of seen.keys()) {
        const [of, seq] = key.split(" ");
        if (of === session && Number(seq) <= end.seq) seen.delete(key);
      }
    }
    assert.deepEqual([...seen.keys()], [], "each event that was seen is in the log");
  }

  #check(session: string, { event, event_id }: StoredEvent, end: { running: boolean }): void {
    assert.ok(!this.#eventIds.has(event_id), "no event is there twice");
    this.#eventIds.add(event_id);
    if (event.type === "run_started") {
      assert.ok(!end.running, `one turn at a time in ${session}`);
      end.running = true;
      const prompt = `${session} ${event.prompt}`;
      assert.ok(!this.#prompts.has(prompt), "no prompt is there twice");
      this.#prompts.add(prompt);
    }
    if (event.type === "run_completed" || event.type === "run_failed") {
      assert.ok(end.running, "a turn ends once");
      end.running = false;
    }
  }

  /** Ends the writers, and checks everything. */
  async assertWhole(): Promise<void> {
    await this.end();
    await this.assertLogsWhole();
    await expect.poll(() => this.#caughtUp(), { timeout: 60_000 }).toBe(true);
    for (const [session, { seq }] of this.#checked) assert.equal(this.#read.get(session), seq);
    await this.#assertMemoryWhole();
  }

  /** A transaction of a dead writer may hold positions back for a moment. */
  async #caughtUp(): Promise<boolean> {
    await this.follow();
    return [...this.#checked].every(([session, { seq }]) => this.#read.get(session) === seq);
  }

  async #assertMemoryWhole(): Promise<void> {
    const { stores } = this;
    const expected = new Set<string>();
    for (const session of this.#sessions) {
      for await (const { seq, event } of stores.events.read(session, 0)) {
        const isMessage = event.type === "run_started" || event.type === "turn_completed";
        if (isMessage) expected.add(`${session}:${seq}`);
      }
    }
    // Whoever opens the stores brings the memory up to date.
    const service = createSessionService({ model: scriptedModel([]), stores });
    const entries = async () => (await stores.memory.stats()).entries;
    await expect.poll(entries, { timeout: 120_000, interval: 200 }).toBe(expected.size);
    await service.close();
    const found: string[] = [];
    for (let after: string | undefined; ; after = found.at(-1)) {
      const page = await stores.memory.list({ limit: 1000, ...(after ? { after } : {}) });
      found.push(...page.map(({ id }) => id));
      if (page.length < 1000) break;
    }
    assert.equal(new Set(found).size, found.length, "an entry is there once");
    assert.deepEqual(new Set(found), expected);
    assert.deepEqual((await stores.memory.verify()).problems, []);
  }

  #start(index: number): Writer {
    const { url, writersUrl = url, schema, writers, pauseMs = 0, watches } = this.#options;
    const [shared = "", ...own] = this.#sessions;
    const skew = SKEWS_MS[writers - 1 - index] ?? 0;
    const args = {
      url: writersUrl,
      schema,
      writer: `writer${index}`,
      sessions: [own[index], shared].join(),
      pause: String(pauseMs),
    };
    const child = spawn(
      process.execPath,
      [
        ...(skew === 0 ? [] : [`--import=${wrongClock(skew)}`]),
        PROGRAM,
        ...Object.entries(args).flatMap(([name, value]) => [`--${name}`, value]),
        ...(watches ? ["--watches"] : []),
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text;
    });
    let unfinished = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop() ?? "";
      for (const line of lines) this.#hear(line);
    });
    const ended = once(child, "close").then(([, signal]) => {
      if (signal !== "SIGKILL") this.#complaints.push(`writer ${index} ended by itself: ${errors}`);
    });
    return { child, works: Promise.race([once(child.stdout, "data"), ended]), ended };
  }

  #hear(line: string): void {
    if (line.startsWith("!")) this.#complaints.push(line);
    else if (line.startsWith("~")) this.failures.push(line);
    else {
      const [session, seq, id = ""] = line.split(" ");
      this.#seen.set(`${session} ${seq}`, id);
    }
  }

  async #end({ child, ended }: Writer): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }
}

/** A module that sets the clock of its process wrong. */
function wrongClock(byMs: number): string {
  const code = `
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...given) { given.length ? super(...given) : super(Real.now() + ${byMs}); }
      static now() { return Real.now() + ${byMs}; }
    };`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
