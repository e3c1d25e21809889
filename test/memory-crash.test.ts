import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { builtProgram } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { type ChildProcess, spawn } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

const PROGRAM = builtProgram("remember-until-killed");
const TRIALS = trials(1, 40, "crash points");
const WRITERS = LONG ? 4 : 2;
const SEARCHERS = LONG ? 4 : 2;
/** A store is begun anew after so many trials: checking it takes as long as it is large. */
const TRIALS_OF_A_STORE = 10;

/** What is known of entries: stored for certain, deleted for certain; of others, neither. */
interface Told {
  readonly stored: Set<string>;
  readonly deleted: Set<string>;
  readonly complaints: string[];
}

// Takes over two seconds: writers and searchers are processes, which start, work and are killed.
test(
  `memory survives ${TRIALS} times that all who write and search it are killed`,
  async () => {
    let path = "";
    let told: Told = newTold();
    for (let trial = 0; trial < TRIALS; trial += 1) {
      if (trial % TRIALS_OF_A_STORE === 0) {
        path = join(await temporaryFolder(), "rkat.db");
        told = newTold();
      }
      await killAll(path, trial, told);
      assert.deepEqual(told.complaints, []);
      await assertWhole(path, told);
    }
  },
  60_000 + TRIALS * 60_000,
);

function newTold(): Told {
  return { stored: new Set(), deleted: new Set(), complaints: [] };
}

/** Starts writers and searchers, waits until all are at work, and kills one after the other. */
async function killAll(path: string, trial: number, told: Told): Promise<void> {
  const roles = [
    ...Array.from({ length: WRITERS }, (_, index) => ["writer", `${trial}w${index}`] as const),
    ...Array.from({ length: SEARCHERS }, (_, index) => ["searcher", `${trial}s${index}`] as const),
  ];
  const all = roles.map(([role, name], index) =>
    start(path, role, name, (trial + index) % 2 === 0 ? "main" : "worker", told),
  );
  await Promise.all(all.map(({ works }) => works));
  await sleep(Math.random() * (LONG ? 1500 : 700));
  for (const { child } of all) {
    await sleep(Math.random() * 60);
    child.kill("SIGKILL");
  }
  await Promise.all(all.map(({ ended }) => ended));
}

function start(
  path: string,
  role: string,
  name: string,
  thread: string,
  { stored, deleted, complaints }: Told,
): {
  readonly child: ChildProcess;
  readonly works: Promise<unknown>;
  readonly ended: Promise<unknown>;
} {
  const child = spawn(
    process.execPath,
    [PROGRAM, "--path", path, "--role", role, "--name", name, "--thread", thread],
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
    for (const line of lines) {
      const id = line.slice(1);
      if (line.startsWith("!")) complaints.push(line);
      // It may be deleted, or not: it was killed in between.
      else if (line.startsWith("?")) stored.delete(id);
      else if (line.startsWith("-")) deleted.add(id);
      else if (line !== "searching") stored.add(line);
    }
  });
  const ended = once(child, "close").then(([, signal]) => {
    assert.equal(signal, "SIGKILL", `${name} ended by itself: ${errors}`);
  });
  return { child, works: Promise.race([once(child.stdout, "data"), ended]), ended };
}

async function assertWhole(path: string, { stored, deleted }: Told): Promise<void> {
  const store = new SqliteMemoryStore(openDatabase({ path }));
  try {
    assert.deepEqual((await store.verify()).problems, []);
    const ids: string[] = [];
    for (let after: string | undefined; ; after = ids.at(-1)) {
      const page = await store.list({ limit: 1000, ...(after === undefined ? {} : { after }) });
      ids.push(...page.map(({ id }) => id));
      if (page.length < 1000) break;
    }
    const there = new Set(ids);
    assert.equal(there.size, ids.length, "an entry is there twice");
    assert.deepEqual(
      [...stored].filter((id) => !there.has(id)),
      [],
    );
    assert.deepEqual(
      [...deleted].filter((id) => there.has(id)),
      [],
    );
    const some = [...stored].filter((_, index) => index % 97 === 0);
    const answers = () =>
      Promise.all(
        some.map((id) => store.search({ query: `note ${id.replaceAll("-", "x")}`, limit: 3 })),
      );
    const before = await answers();
    for (const [index, id] of some.entries()) assert.equal(before[index]?.[0]?.id, id);
    await store.reindex();
    assert.deepEqual(await answers(), before);
    assert.deepEqual((await store.verify()).problems, []);
  } finally {
    await store.close();
  }
  const db = new DatabaseSync(path);
  try {
    assert.deepEqual(
      db
        .prepare("PRAGMA integrity_check")
        .all()
        .map(({ integrity_check }) => integrity_check),
      ["ok"],
    );
  } finally {
    db.close();
  }
}
