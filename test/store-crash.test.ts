import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteEventStore } from "../src/stores/sqlite/sqlite-event-store.ts";
import { builtProgram } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { type ChildProcess, spawn } from "./support/start-process.ts";
import { trials } from "./support/trials.ts";

const PROGRAM = builtProgram("append-until-killed");
const TRIALS = trials(1, 100, "crash points");
const WRITERS = ["ann", "ben", "cleo"];

// Takes over two seconds: the writers are processes, which are killed and started again.
test(
  `what was acknowledged survives ${TRIALS} times that all its writers are killed`,
  async () => {
    const path = join(await temporaryFolder(), "rkat.db");
    const acknowledged = new Map<string, number>();
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const writers = WRITERS.map((name, index) =>
        startWriter(path, name, (trial + index) % 2 === 0 ? "main" : "worker", acknowledged),
      );
      await Promise.all(writers.map(({ wrote }) => wrote));
      // One after the other: those who are left must not be held up by the dead.
      for (const { child } of writers) {
        await sleep(Math.random() * 60);
        child.kill("SIGKILL");
      }
      await Promise.all(writers.map(({ ended }) => ended));
      assertSound(path);
      await assertComplete(path, acknowledged);
    }
  },
  60_000 + TRIALS * 4000,
);

interface Writer {
  readonly child: ChildProcess;
  /** Its first acknowledged append. */
  readonly wrote: Promise<unknown>;
  /** All that it had printed is read. */
  readonly ended: Promise<unknown>;
}

function startWriter(
  path: string,
  name: string,
  thread: string,
  acknowledged: Map<string, number>,
): Writer {
  const child = spawn(
    process.execPath,
    [PROGRAM, "--path", path, "--writer", name, "--thread", thread],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    complaints += text;
  });
  let unfinished = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop() ?? "";
    for (const line of lines) {
      const [session = "", seq] = line.split(" ");
      acknowledged.set(session, Math.max(acknowledged.get(session) ?? 0, Number(seq)));
    }
  });
  const ended = once(child, "close").then(([, signal]) => {
    assert.equal(signal, "SIGKILL", `${name} ended by itself: ${complaints}`);
  });
  return { child, wrote: Promise.race([once(child.stdout, "data"), ended]), ended };
}

function assertSound(path: string): void {
  const db = new DatabaseSync(path);
  try {
    assert.deepEqual(db.prepare("PRAGMA integrity_check").all(), [
      Object.assign(Object.create(null), { integrity_check: "ok" }),
    ]);
    db.exec("INSERT INTO event_words (event_words) VALUES ('integrity-check')");
  } finally {
    db.close();
  }
}

async function assertComplete(path: string, acknowledged: Map<string, number>): Promise<void> {
  const store = new SqliteEventStore(openDatabase({ path }));
  try {
    for (const [session, seq] of acknowledged) {
      const events = await Array.fromAsync(store.read(session, 0));
      assert.ok(events.length >= seq, `${session}: ${seq} acknowledged, ${events.length} there`);
      for (const [index, event] of events.entries()) {
        assert.equal(event.seq, index + 1);
        assert.equal(event.event_id, `${session}-${index + 1}`);
      }
      const [hit] = await store.search({ query: `place${seq}`, sessionId: session, limit: 1 });
      assert.equal(hit?.seq, seq);
    }
  } finally {
    await store.close();
  }
}
