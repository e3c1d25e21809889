import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Stores } from "../src/sqlite.ts";
import { builtProgram } from "./support/built-package.ts";
import { expectForgotten } from "./support/expect-forgotten.ts";
import { expectWhole } from "./support/expect-whole.ts";
import { filesOf } from "./support/files-of.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import { filledPlace, openStoresAt, type Prepared, WORK } from "./support/interrupted-work.ts";
import { temporaryFolder } from "./support/obey.ts";
import { FATES, RecordedDisk, STRACE } from "./support/recorded-disk.ts";
import { countSample } from "./support/running-test.ts";
import { spawnSync } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

// Every write of some work is recorded. Then the files are made as a disk may have them after power failed at any
// moment: what was synced is there, and of the rest any part, torn and in any order. The next command opens them.

const STATES = trials(2, 250, "crash points");

/** What is never to be lost, and what is never to come back. */
const WORKS = LONG ? Object.keys(WORK) : ["turns", "forget"];
countSample("cases", WORKS.length, Object.keys(WORK).length);

const canTrace =
  process.platform === "linux" &&
  spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status === 0;
const NEEDS_STRACE = { meta: { skipReason: "strace is not installed, or may not trace here" } };

// Each takes over two seconds: a program is traced, which slows it down, and many stores are opened.
describe.skipIf(!canTrace)("power that fails", NEEDS_STRACE, () => {
  test.each(WORKS)(
    `loses nothing that was acknowledged of: %s`,
    async (work) => {
      const { disk, prepared, folder } = await recorded(work);
      const state = fc.record({
        moment: fc.integer({ min: 0, max: disk.moments }),
        fate: fc.constantFrom(...FATES),
        sectors: fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      });
      const law = fc.asyncProperty(state, async ({ moment, fate, sectors }) => {
        const random = () => sectors.next().value as number;
        disk.write(folder, moment, fate, random);
        const what = `${work}, ${fate} of what was not synced at ${moment} of ${disk.moments}`;
        const said = disk.saidBefore(moment);
        if (said.includes("done") && work.startsWith("forget")) expectForgotten(folder, what);
        await expectAcknowledged(folder, prepared, work, said, what);
        await expectWhole({ store: join(folder, "rkat.db"), folder }, prepared, what);
      });
      const seed = GIVEN_SEED === undefined ? {} : { seed: GIVEN_SEED };
      await fc.assert(law, { numRuns: STATES, endOnFailure: true, ...seed });
    },
    60_000 + STATES * 4000,
  );
});

interface Recorded {
  readonly disk: RecordedDisk;
  readonly prepared: Prepared;
  /** Where the states are written. */
  readonly folder: string;
}

/** Does the work once, in a program whose writes are recorded. */
async function recorded(work: string): Promise<Recorded> {
  const top = await temporaryFolder();
  const place = { store: join(top, "place/rkat.db"), folder: join(top, "place") };
  const prepared = await filledPlace(place);
  const before = filesOf(place.folder);
  const trace = join(top, "trace");
  const flags = { ...place, work, how: "tell", prepared: JSON.stringify(prepared) };
  const given = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const program = [process.execPath, builtProgram("work-until-killed"), ...given];
  const ended = spawnSync("strace", [...STRACE, "-o", trace, ...program], { encoding: "utf8" });
  expect(ended.stdout, ended.stderr).toMatch(/^done$/m);
  const disk = new RecordedDisk(place.folder, before, readFileSync(trace, "latin1"));
  rmSync(trace);
  const folder = join(top, "state");
  // All that the program did to the folder is known.
  disk.write(folder, disk.moments, "kept", Math.random);
  expect(filesOf(folder)).toEqual(filesOf(place.folder));
  return { disk, prepared, folder };
}

/** What holds once the work was acknowledged. Where there is nothing, the laws of `expectWhole` say all. */
async function expectAcknowledged(
  folder: string,
  prepared: Prepared,
  work: string,
  said: readonly string[],
  what: string,
): Promise<void> {
  const stores = openStoresAt(join(folder, "rkat.db"));
  try {
    const last = said.findLast((line) => line.startsWith("seq "))?.slice("seq ".length) ?? 0;
    expect(await stores.events.lastSeq(prepared.first), what).toBeGreaterThanOrEqual(Number(last));
    if (said.includes("done")) await DONE[work]?.(stores, prepared, what);
  } finally {
    await stores.close();
  }
}

type Check = (stores: Stores, prepared: Prepared, what: string) => Promise<void>;

const typesOf = async ({ events }: Stores, sessionId: string): Promise<readonly string[]> => {
  const all = await Array.fromAsync(events.read(sessionId, 0));
  return all.map(({ event }) => event.type);
};

const has =
  (...types: readonly string[]): Check =>
  async (stores, { first }, what) => {
    expect(await typesOf(stores, first), what).toEqual(expect.arrayContaining([...types]));
  };

const DONE: Readonly<Record<string, Check>> = {
  compaction: has("compaction_completed"),
  undo: has("compaction_completed", "compaction_undone"),
  fork: has("session_forked"),
  archive: has("session_archived"),
  delete: async ({ events }, { first }, what) => {
    expect(await events.lastSeq(first), what).toBe(0);
  },
};
