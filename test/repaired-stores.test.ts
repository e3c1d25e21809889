import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SessionState } from "../src/core/session-state.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { GIVEN_PATH, GIVEN_SEED } from "./support/given-seed.ts";
import { filledPlace, newWorkPlace } from "./support/interrupted-work.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";
import { trials } from "./support/trials.ts";

// A store is damaged, and `rkat repair` is run. Each event that could be read before is as it was; one that could not
// is named, or the command says that it cannot go on, and why.

const DAMAGED = trials(2, 300);
const SECTOR_BYTES = 512;

interface Damage {
  readonly kind: "bit" | "sector" | "end" | "event";
  /** Where in the file, from 0 to 1. */
  readonly share: number;
  readonly bit: number;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom("bit", "event", "event", "sector", "end"),
  share: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  bit: fc.nat({ max: 7 }),
});

// Takes over two seconds: three commands over each damaged store.
test(
  "a repair keeps every event that can be read, and names what cannot",
  async () => {
    const place = await newWorkPlace("SQLite", await temporaryFolder());
    const own = await filledPlace(place);
    const whole = readFileSync(place.store);
    const sessions = [own.first, own.waiting];
    const intact = await eventsOf(place.store, sessions);
    const project = await Project.open();
    const store = join(project.folder, ".rkat/rkat.db");
    const law = fc.asyncProperty(damage, async (damage) => {
      rmSync(join(project.folder, ".rkat"), { recursive: true, force: true });
      mkdirSync(join(project.folder, ".rkat"), { mode: 0o700 });
      const bytes = damaged(whole, damage);
      writeFileSync(store, bytes, { mode: 0o600 });
      const before = await eventsOf(store, sessions);
      // What the file is after it was only looked at.
      writeFileSync(store, bytes, { mode: 0o600 });
      for (const end of ["-wal", "-shm"]) rmSync(store + end, { force: true });
      const { code, stdout, stderr } = await project.rkat(["repair", "--json"]);
      expect(stderr).not.toMatch(/INTERNAL_ERROR|\n {4}at /);
      const named: string[] = [];
      let kept: string | undefined;
      if (code === 0) {
        const done = JSON.parse(stdout) as {
          kept?: string;
          events: { session_id: string; seq: number }[];
        };
        const { events } = done;
        kept = done.kept;
        named.push(...events.map(({ session_id, seq }) => `${session_id} ${seq}`));
      } else {
        const error = JSON.parse(stderr) as { code: string; hint: string };
        expect(error).toMatchObject({ code: expect.any(String), hint: expect.any(String) });
        // A copy that was made is told of, however far the repair came.
        kept = /kept as (\S+)\. /.exec(error.hint)?.[1];
        const copies = readdirSync(dirname(store)).filter((name) => name.includes(".damaged-"));
        expect(copies.length > 0).toBe(kept !== undefined);
      }
      const after = await eventsOf(store, sessions);
      for (const [place, text] of before) {
        if (text !== undefined) expect(after.get(place), `${place} after ${stderr}`).toBe(text);
        else if (code === 0) expect(named, `${place}, which could not be read`).toContain(place);
      }
      for (const [place] of intact) {
        if (code === 0 && !before.has(place) && !named.includes(place)) expect(kept).toBeDefined();
      }
      if (kept !== undefined) expect(readFileSync(kept)).toEqual(bytes);
      if (code !== 0 || named.length > 0) return;
      const doctor = await project.rkat(["doctor", "--json"]);
      // Nothing was lost, or it is named.
      const { findings } = JSON.parse(doctor.stdout) as { findings: { state: string }[] };
      const isNamed = kept !== undefined || findings.some(({ state }) => state === "wrong");
      if (!sameTexts(intact, after)) expect(isNamed).toBe(true);
    });
    const given = {
      ...(GIVEN_SEED === undefined ? {} : { seed: GIVEN_SEED }),
      ...(GIVEN_PATH === undefined ? {} : { path: GIVEN_PATH }),
    };
    await fc.assert(law, { numRuns: DAMAGED, endOnFailure: true, ...given });
  },
  60_000 + 10_000 * DAMAGED,
);

// Takes over two seconds: a store is filled, and three commands are run.
test("a repair makes damaged snapshots again from the log, also where calls wait for approval", async () => {
  const project = await Project.open();
  mkdirSync(join(project.folder, ".rkat"), { mode: 0o700 });
  const store = join(project.folder, ".rkat/rkat.db");
  const own = await filledPlace({ store, folder: join(project.folder, ".rkat") });
  const ids = [own.first, own.waiting];
  /** The next call of each, from its snapshot on and from the whole log; undefined without a snapshot. */
  const states = async () => {
    const stores = sqliteStores({ path: store });
    try {
      return await Promise.all(
        ids.map(async (id) => {
          const read = (after: number, to?: number) => stores.events.read(id, after, to);
          const saved = await stores.sessions.load(id);
          const both = saved && [
            await SessionState.restore(saved, read),
            await SessionState.fold(id, read),
          ];
          return both?.map(({ sentMessages, openCalls, turns }) => ({
            sentMessages,
            openCalls,
            turns,
          }));
        }),
      );
    } finally {
      await stores.close();
    }
  };
  const before = await states();
  expect(before[1]?.[0]?.openCalls).toHaveLength(1);
  const database = new DatabaseSync(store);
  for (const [id, damage] of [
    [own.first, "replace(snapshot, 'turn', 'burn')"],
    [own.waiting, "'{'"],
  ] as const)
    database.prepare(`UPDATE snapshot SET snapshot = ${damage} WHERE session_id = ?`).run(id);
  database.close();
  expect(await states()).toEqual([undefined, undefined]);
  const done = await project.rkat(["repair", "--json"]);
  expect(JSON.parse(done.stdout), done.stderr).toMatchObject({
    events: [],
    snapshots: ids.toSorted(),
  });
  expect(await states()).toEqual(before);
  const again = await project.rkat(["repair", "--json"]);
  expect(JSON.parse(again.stdout)).toMatchObject({ snapshots: [] });
});

test("a repair that cannot go on says where the damaged file is kept", async () => {
  const project = await Project.open();
  await project.rkat(["memory", "add", "Staging listens on port 4310."]);
  const store = join(project.folder, ".rkat", "rkat.db");
  const bytes = readFileSync(store).fill(0xa5, 24 * SECTOR_BYTES, 26 * SECTOR_BYTES);
  writeFileSync(store, bytes);
  const { code, stderr } = await project.rkat(["repair"]);
  expect(code).not.toBe(0);
  const [, kept = ""] = /kept as (\S+)\. /.exec(stderr) ?? [];
  expect(readFileSync(kept)).toEqual(bytes);
});

test("a repair follows no link, and copies nothing of a store that is not trusted", async () => {
  const project = await Project.open();
  project.write("diary.txt", "The PIN is 51285.");
  const folder = join(project.folder, ".rkat");
  mkdirSync(folder);
  symlinkSync("../diary.txt", join(folder, "rkat.db"));
  const linked = await project.rkat(["repair"]);
  expect([linked.code, readdirSync(folder)]).toEqual([41, ["rkat.db"]]);
  rmSync(join(folder, "rkat.db"));
  project.write(".rkat/rkat.db", "A stranger wrote this.");
  const foreign = await project.rkat(["repair"], "", { RKAT_TRUST: "" });
  expect([foreign.code, readdirSync(folder)]).toEqual([42, ["rkat.db"]]);
});

function damaged(whole: Buffer, { kind, share, bit }: Damage): Buffer {
  const bytes = Buffer.from(whole);
  if (kind === "end") return bytes.subarray(0, Math.floor(share * bytes.length));
  let at = Math.floor(share * bytes.length);
  // Among the events, which take a small part of the file.
  if (kind === "event") at = Math.max(0, bytes.indexOf('"message":{', at)) + Math.floor(share * 40);
  if (kind !== "sector") bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  else bytes.fill(0, at - (at % SECTOR_BYTES), at - (at % SECTOR_BYTES) + SECTOR_BYTES);
  return bytes;
}

/** The events of some sessions by their places; undefined for one that cannot be read. */
async function eventsOf(
  path: string,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const found = new Map<string, string | undefined>();
  let stores: SqliteStores | undefined;
  try {
    stores = sqliteStores({ path });
    for (const id of sessions) {
      const last = await stores.events.lastSeq(id);
      for (let seq = 1; seq <= last; seq += 1)
        found.set(`${id} ${seq}`, await eventAt(stores, id, seq));
    }
  } catch {
    // What it has given until here is what can be read.
  } finally {
    await stores?.close().catch(() => {});
  }
  return found;
}

async function eventAt(
  { events }: SqliteStores,
  sessionId: string,
  seq: number,
): Promise<string | undefined> {
  try {
    const [one] = await Array.fromAsync(events.read(sessionId, seq - 1, seq));
    return one && JSON.stringify(one.event);
  } catch {
    return undefined;
  }
}

function sameTexts(
  one: ReadonlyMap<string, string | undefined>,
  other: ReadonlyMap<string, string | undefined>,
): boolean {
  return JSON.stringify([...one]) === JSON.stringify([...other]);
}
