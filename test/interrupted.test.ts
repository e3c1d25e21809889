import { once } from "node:events";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { builtProgram } from "./support/built-package.ts";
import { expectWhole } from "./support/expect-whole.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import {
  filledPlace,
  newWorkPlace,
  type Prepared,
  WORK,
  type WorkPlace,
} from "./support/interrupted-work.ts";
import { temporaryFolder } from "./support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES } from "./support/postgres.ts";
import { note } from "./support/running-test.ts";
import { spawn } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

// Work that changes what is stored is killed, or the disk gets full, at one of its writes. After the next command,
// memory has what the log has, each message once, and every session is there or can be restored.

/**
 * Which points of the campaign: the first so many, which the databases share, or on each a range such as `600-1200`, to
 * go on where one ended. `17-18` is one point.
 */
const POINTS = process.env.RKAT_POINTS ?? "2000";
const [FROM, TO] = rangeOf(POINTS);
const SHARES = POINTS.includes("-")
  ? { SQLite: [0, 1], PostgreSQL: [0, 1] }
  : { SQLite: [0, 0.7], PostgreSQL: [0.7, 1] };
const AT_ONCE = LONG ? 4 : 2;
/** The daily run takes other places each time. Its failure names them. */
const SEED = GIVEN_SEED ?? (LONG ? 0 : Math.floor(Math.random() * 1e6));
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;
/** Of each three points the short form has one, so that it comes to more kinds of work, killed and on a full disk. */
const isOfForm = ({ at }: Point) => LONG || process.env.RKAT_POINTS !== undefined || at % 3 === 1;
/** A machine that is busy with others may stop earlier. */
const MINUTES = Number(process.env.RKAT_MINUTES ?? Infinity);

type Way = "kill" | "full";
interface Point {
  /** Its number in the campaign. */
  readonly at: number;
  readonly work: string;
  readonly how: Way;
  /** Where in the work, from 0 to 1. */
  readonly share: number;
}
const tried = { SQLite: 0, PostgreSQL: 0 };

afterAll(() => {
  const { SQLite, PostgreSQL } = tried;
  if (LONG) note(`Interrupted writes: ${SQLite} on SQLite, ${PostgreSQL} on PostgreSQL`);
});

function rangeOf(text: string): readonly [from: number, to: number] {
  const [first = 0, second] = text.split("-").map(Number);
  const [from, to] = second === undefined ? [0, first] : [first, second];
  const some = Math.ceil(Object.keys(WORK).length / 4);
  const count = trials(some, to - from, "crash points");
  return [from, from + (LONG ? count : 3 * count)];
}

// Each takes over two seconds: every piece of work is a process, once to count its writes, and once to interrupt it.
describe.each(["SQLite", "PostgreSQL"] as const)("on %s", (engine) => {
  const isThere = engine === "SQLite" || hasPostgres;
  const [start = 0, end = 1] = SHARES[engine];

  test.skipIf(!isThere)(
    "interrupted work leaves memory as the log is, each message once",
    { ...NEEDS_POSTGRES, timeout: 60_000 + (TO - FROM) * 10_000 },
    async () => {
      const top = await temporaryFolder();
      const template = await newWorkPlace(engine, join(top, "template"));
      const prepared = await filledPlace(template);
      const totals = new Map<string, number>();
      const all = pointsOf(FROM + (TO - FROM) * start, FROM + (TO - FROM) * end);
      const points = all.filter(isOfForm);
      let next = 0;
      const givesUpAt = performance.now() + MINUTES * 60_000;
      const failures: unknown[] = [];
      const run = async () => {
        for (let at = next++; at < points.length; at = next++) {
          const point = points[at];
          if (!point || performance.now() > givesUpAt) return;
          const place = await newWorkPlace(engine, join(top, String(at)));
          const own =
            engine === "SQLite" ? copied(template, place, prepared) : await filledPlace(place);
          const total = totals.get(point.work) ?? 0;
          const write = 1 + Math.floor(point.share * total);
          await work(place, own, point, write);
          const what = `${engine}, point ${point.at}: ${point.work}, ${point.how} at write ${write} of ${total}`;
          await expectWhole(place, own, what).catch((error) => failures.push(error));
          tried[engine] += 1;
          rmSync(place.folder, { recursive: true, force: true });
        }
      };
      // Uninterrupted, to count the writes.
      for (const name of new Set(points.map((point) => point.work))) {
        const place = await newWorkPlace(engine, join(top, name));
        const own =
          engine === "SQLite" ? copied(template, place, prepared) : await filledPlace(place);
        totals.set(name, await work(place, own, { at: 0, work: name, how: "kill", share: 0 }, 0));
      }
      await Promise.all(Array.from({ length: AT_ONCE }, run));
      if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
    },
  );
});

/** Each work in turn, killed and on a full disk by turns, at places that are spread over all its writes. */
function pointsOf(from: number, to: number): readonly Point[] {
  const names = Object.keys(WORK);
  const [first, end] = [Math.round(from), Math.round(to)];
  return Array.from({ length: end - first }, (_, index) => {
    const at = first + index;
    return {
      at,
      work: names[at % names.length] ?? "",
      how: Math.floor(at / names.length + at) % 2 === 0 ? "kill" : "full",
      share: ((at + SEED) * GOLDEN_RATIO) % 1,
    };
  });
}

function copied(from: WorkPlace, to: WorkPlace, prepared: Prepared): Prepared {
  cpSync(from.folder, to.folder, { recursive: true });
  return prepared;
}

/** Does the work in a process of its own. Returns how many writes it made, if it came to its end. */
async function work(
  { store, folder }: WorkPlace,
  prepared: Prepared,
  { work: name, how }: Point,
  at: number,
): Promise<number> {
  const args = {
    store,
    folder,
    work: name,
    how,
    at: String(at),
    prepared: JSON.stringify(prepared),
  };
  const flags = Object.entries(args).flatMap(([flag, value]) => [`--${flag}`, value]);
  const child = spawn(process.execPath, [builtProgram("work-until-killed"), ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  expect(signal ?? code, errors).toBeOneOf([0, "SIGKILL"]);
  if (at === 0) expect(said, errors).toMatch(/^\d+ \n$/);
  return Number.parseInt(said, 10);
}
