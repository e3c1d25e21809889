import { once } from "node:events";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { StoredEvent } from "../src/core/event.ts";
import { builtProgram } from "./support/built-package.ts";
import { expectForgotten } from "./support/expect-forgotten.ts";
import { expectWhole } from "./support/expect-whole.ts";
import { GIVEN_PATH, GIVEN_SEED } from "./support/given-seed.ts";
import {
  filledPlace,
  newWorkPlace,
  openStoresAt,
  type Prepared,
  serviceOver,
  type WorkPlace,
} from "./support/interrupted-work.ts";
import { temporaryFolder } from "./support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresPlace, postgresPool } from "./support/postgres.ts";
import { type ChildProcess, spawn } from "./support/start-process.ts";
import { trials } from "./support/trials.ts";

// A process stops at one of its writes, in the middle of a turn, of a compaction, or of renewing its lease. Its time
// runs out, and another one, whose clock may be hours off, takes its sessions and works on them. Then the first goes on.

const HOUR_MS = 3_600_000;

/** What the first process does, and the other one. All is on the same session. */
const FIRST = [
  ...["turns", "compaction", "undo", "fork", "archive", "delete", "delete now", "forget"],
  "forget a session",
];
const OTHER = ["turns", "compaction", "delete", "delete now", "forget", "forget a session"];

interface Trial {
  readonly first: string;
  readonly other: string;
  /** At which of its writes the first one stops, from 0 to 1. */
  readonly share: number;
  /** How far the clock of the other one is off, and how far that of the first one jumps while it is stopped. */
  readonly off: number;
  readonly jump: number;
}

const trial: fc.Arbitrary<Trial> = fc.record({
  first: fc.constantFrom(...FIRST),
  other: fc.constantFrom(...OTHER),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  off: fc.constantFrom(-2 * HOUR_MS, -60_000, 60_000, 2 * HOUR_MS),
  jump: fc.constantFrom(-2 * HOUR_MS, -60_000, 0, 60_000, 2 * HOUR_MS),
});

// Each takes over two seconds: every trial starts two processes, and opens the store again.
describe.each(["SQLite", "PostgreSQL"] as const)("on %s", (engine) => {
  const count = engine === "SQLite" ? trials(1, 400) : trials(1, 150);

  test.skipIf(engine === "PostgreSQL" && !hasPostgres)(
    "a process that goes on after another took its session writes nothing more",
    { ...NEEDS_POSTGRES, timeout: 60_000 + count * 20_000 },
    async () => {
      const top = await temporaryFolder();
      const template = await newWorkPlace(engine, join(top, "template"));
      const prepared = await filledPlace(template);
      const totals = new Map<string, number>();
      let number = 0;
      const placed = async (): Promise<readonly [WorkPlace, Prepared]> => {
        number += 1;
        const place = await newWorkPlace(engine, join(top, String(number)));
        if (engine === "PostgreSQL") return [place, await filledPlace(place)];
        cpSync(template.folder, place.folder, { recursive: true });
        return [place, prepared];
      };
      const writesOf = async (work: string) => {
        const known = totals.get(work);
        if (known !== undefined) return known;
        const [place, own] = await placed();
        const [writes = ""] =
          (await new Worker(place, own, work, { how: "stop" }).ended).at(-1) ?? [];
        totals.set(work, Number(writes));
        return Number(writes);
      };
      const law = fc.asyncProperty(trial, async (trial) => {
        const at = 1 + Math.floor(trial.share * (await writesOf(trial.first)));
        const [place, own] = await placed();
        await suspend(engine, place, own, { ...trial, at });
        rmSync(place.folder, { recursive: true, force: true });
      });
      const given = {
        ...(GIVEN_SEED === undefined ? {} : { seed: GIVEN_SEED }),
        ...(GIVEN_PATH === undefined ? {} : { path: GIVEN_PATH }),
      };
      await fc.assert(law, { numRuns: count, endOnFailure: true, ...given });
    },
  );
});

async function suspend(
  engine: string,
  place: WorkPlace,
  own: Prepared,
  { first: firstWork, other: otherWork, at, off, jump }: Trial & { readonly at: number },
): Promise<void> {
  const what = `${engine}: ${firstWork} stops at write ${at}, ${otherWork} meanwhile`;
  const first = new Worker(place, own, firstWork, { how: "stop", at, jump });
  const stopped = await first.stopped;
  if (stopped === "stops" && engine === "PostgreSQL") await letLeasesEnd(place);
  // The clock of a PostgreSQL server decides; that of a process does for SQLite.
  const other = new Worker(place, own, otherWork, { how: "tell", clock: off });
  let before: readonly StoredEvent[] | undefined;
  if (stopped === "stops") {
    await other.ended;
    before = await logOf(place, own.first);
  } else {
    // It holds locks, so the other one waits for it.
    await Promise.race([other.begun, other.ended]);
    await sleep(100);
  }
  first.goOn();
  const [mine = "", theirs = ""] = (await Promise.all([first.ended, other.ended])).map(failureIn);
  for (const failure of [mine, theirs]) expect(failure, what).toMatch(TOLD);
  const after = await logOf(place, own.first);
  expectOneTurnAtATime(after, what);
  if (before && mine.startsWith("SESSION_CONFLICT")) expect(after, what).toEqual(before);
  const isForgotten = [firstWork, otherWork].some((work, at) => {
    return work.startsWith("forget") && [mine, theirs][at] === "";
  });
  await expectWhole(place, own, `${what}: now, ${mine}, ${theirs}`);
  if (isForgotten && engine === "SQLite") expectForgotten(place.folder, what);
}

/**
 * How either of them may end: what one says who has lost its session, or who finds it gone or in use. The clocks of
 * processes that share a file are that of one machine; here they take the lease on the readable files from each other.
 */
const TOLD =
  /^(?:|(?:SESSION_CONFLICT|SESSION_NOT_FOUND|SESSION_BUSY|NOT_POSSIBLE)\b.*|.*Another process keeps writing the files of sessions\.)$/;

/** A program that works on a store. */
class Worker {
  readonly begun: Promise<unknown>;
  /** What it says when it stops; "ends" when it came to its end before. */
  readonly stopped: Promise<string>;
  /** The words of each line that it said. */
  readonly ended: Promise<readonly (readonly string[])[]>;
  readonly #child: ChildProcess;

  constructor(
    { store, folder }: WorkPlace,
    prepared: Prepared,
    work: string,
    options: Readonly<Record<string, string | number>>,
  ) {
    const given = { store, folder, work, prepared: JSON.stringify(prepared), ...options };
    // A clock that is behind would be read as another flag.
    const flags = Object.entries(given).map(([flag, value]) => `--${flag}=${value}`);
    const program = [builtProgram("work-until-killed"), ...flags];
    const child = spawn(process.execPath, program, { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    this.#child = child;
    const said: string[] = [];
    const lines = createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
    const errors = text(child.stderr);
    this.ended = once(child, "close").then(async ([code, signal]) => {
      expect(signal ?? code, await errors).toBe(0);
      return said.map((line) => line.split(" "));
    });
    this.begun = once(lines, "line");
    this.stopped = new Promise((resolve) => {
      lines.on("line", (line) => line.startsWith("stops") && resolve(line));
      this.ended.then(
        () => resolve("ends"),
        () => resolve("ends"),
      );
    });
  }

  goOn(): void {
    this.#child.kill("SIGCONT");
  }
}

/** What the last line of a program says of how its work ended. */
function failureIn(lines: readonly (readonly string[])[]): string {
  return (lines.at(-1) ?? []).slice(1).join(" ");
}

/** As after fifteen seconds in which nothing was renewed. */
async function letLeasesEnd({ store }: WorkPlace): Promise<void> {
  const { connectionString, schema } = await postgresPlace();
  const pool = await postgresPool(connectionString);
  const namespace = new URL(store).searchParams.get("namespace");
  const ended = "clock_timestamp() - interval '1 s'";
  for (const [table, column] of [
    ["lease", "expires_at"],
    ["memory_lease", "held_until"],
  ]) {
    const sql = `update "${schema}".${table} set ${column} = ${ended} where namespace = $1`;
    await pool.query(sql, [namespace]);
  }
}

async function logOf({ store }: WorkPlace, sessionId: string): Promise<readonly StoredEvent[]> {
  const stores = openStoresAt(store);
  try {
    return await Array.fromAsync(stores.events.read(sessionId, 0));
  } finally {
    await stores.close();
  }
}

const ENDS = ["run_completed", "run_failed", "run_paused"];

/** A turn begins when the one before has its end, and no call of the model is answered twice. */
function expectOneTurnAtATime(log: readonly StoredEvent[], what: string): void {
  let running = false;
  let calls = 0;
  for (const { seq, event } of log) {
    if (event.type === "run_started") expect(running, `${what}: event ${seq}`).toBe(false);
    running = event.type === "run_started" || (running && !ENDS.includes(event.type));
    calls += event.type === "turn_started" ? 1 : 0;
    calls -= event.type === "turn_completed" || event.type === "run_failed" ? calls : 0;
    expect(calls, `${what}: event ${seq}`).toBeLessThan(2);
  }
  expect(
    log.map(({ seq }) => seq),
    what,
  ).toEqual(log.map((_, at) => at + 1));
}

/** A filled store with two services over it. */
async function twoServices() {
  const place = await newWorkPlace("SQLite", await temporaryFolder());
  const { first: sessionId } = await filledPlace(place);
  const [stores, others] = [openStoresAt(place.store), openStoresAt(place.store)];
  const [service, other] = [serviceOver(stores, place), serviceOver(others, place)];
  const close = async () => {
    for (const one of [service, other, stores, others]) await one.close();
  };
  onTestFinished(close);
  /** Does `work` when the service takes its next lease. */
  const beforeNextLease = (work: () => Promise<unknown>) => {
    const { acquire } = stores.sessions;
    let isFirst = true;
    stores.sessions.acquire = async (...lease) => {
      if (isFirst) {
        isFirst = false;
        await work();
      }
      return await acquire.apply(stores.sessions, lease);
    };
  };
  return { place, sessionId, stores, service, other, beforeNextLease, close };
}

test("a fork that begins while its session is about to lose a text loses it too", async () => {
  const { place, sessionId, service, other, beforeNextLease, close } = await twoServices();
  beforeNextLease(async () => {
    await other.compact({ sessionId });
    await other.forkSession({ sessionId });
  });
  const [hit] = await other.searchMemory({ query: "Ada asks for otter 3.", limit: 1 });
  const receipt = await service.forgetMemory({ ids: [hit?.id ?? ""] });
  expect(receipt).toMatchObject({ forgotten: 1, remaining: [] });
  await close();
  expectForgotten(place.folder, "a fork meanwhile");
});

test("a session that another process deleted for good is not stored again by one that has it open", async () => {
  const { sessionId, stores, service, other } = await twoServices();
  await service.startTurn({ sessionId, prompt: "Where is the heron?" });
  await other.delete({ sessionId, now: true });
  await expect(service.startTurn({ sessionId, prompt: "And now?" })).rejects.toThrow();
  await service.unarchive({ sessionId }).catch(() => {});
  expect((await stores.sessions.list({})).map(({ id }) => id)).not.toContain(sessionId);
});

test("of two that delete a session at once, neither takes the copy out of the trash", async () => {
  const { sessionId, service, other, beforeNextLease } = await twoServices();
  beforeNextLease(() => other.delete({ sessionId }));
  await service.delete({ sessionId }).catch(() => {});
  await other.restore({ sessionId });
  expect((await other.read({ sessionId })).history).not.toEqual([]);
});
