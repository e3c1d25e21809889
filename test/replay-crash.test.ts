import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import type { StoredEvent } from "../src/core/event.ts";
import type { Stores } from "../src/core/stores.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { heldInMemory, inOrder, owedToMemory } from "./support/memory-account.ts";
import { temporaryFolder } from "./support/obey.ts";

const PROGRAM = fileURLToPath(new URL("./support/replay-until-killed.ts", import.meta.url));
const CONVERSATION = fileURLToPath(new URL("../demo/conversation.jsonl", import.meta.url));
const TRIALS = Number(process.env.RKAT_CRASH_TRIALS ?? 8);
const TRIALS_PER_STORE = 4;

for (const replays of [1, 4]) {
  test(
    `${replays} at once, killed at any moment: what was told is in the log, and memory misses nothing`,
    async () => {
      for (let trial = 0; trial < TRIALS / 2; trial += TRIALS_PER_STORE) {
        const path = join(await temporaryFolder(), "rkat.db");
        for (let turn = 0; turn < Math.min(TRIALS_PER_STORE, TRIALS / 2 - trial); turn += 1) {
          const told = await replayUntilKilled(path, replays);
          assertSound(path);
          await assertComplete(path, told);
        }
      }
    },
    30_000 + TRIALS * 5000,
  );
}

/** The last `seq` that listeners were told, by session. */
type Told = ReadonlyMap<string, number>;

async function replayUntilKilled(path: string, replays: number): Promise<Told> {
  const told = new Map<string, number>();
  const programs = Array.from({ length: replays }, () => startReplay(path, told));
  // Once in a while before anything is told: while the store is opened and made.
  if (Math.random() < 0.2) await sleep(Math.random() * 600);
  else await Promise.all(programs.map(({ began }) => began));
  for (const { child } of programs) {
    await sleep((Math.random() * 800) / replays);
    child.kill("SIGKILL");
  }
  await Promise.all(programs.map(({ ended }) => ended));
  return told;
}

interface Program {
  readonly child: ChildProcess;
  readonly began: Promise<unknown>;
  /** All that it had printed is read. */
  readonly ended: Promise<unknown>;
}

function startReplay(path: string, told: Map<string, number>): Program {
  const args = [PROGRAM, "--path", path, "--file", CONVERSATION];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
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
      told.set(session, Number(seq));
    }
  });
  const ended = once(child, "close").then(([, signal]) => {
    assert.equal(signal, "SIGKILL", `A replay ended by itself: ${complaints}`);
  });
  return { child, began: Promise.race([once(child.stdout, "data"), ended]), ended };
}

function assertSound(path: string): void {
  const db = new DatabaseSync(path);
  try {
    const [row] = db.prepare("PRAGMA integrity_check").all();
    assert.equal(row?.integrity_check, "ok");
  } finally {
    db.close();
  }
}

async function assertComplete(path: string, told: Told): Promise<void> {
  const stores = sqliteStores({ path });
  try {
    await goOn(stores, [...told.keys()]);
    const logs = await allLogs(stores);
    for (const [session, seq] of told) {
      const last = logs.get(session)?.length ?? 0;
      assert.ok(last >= seq, `${session}: ${seq} was told, the log ends at ${last}`);
    }
    for (const log of logs.values()) {
      assert.deepEqual(
        log.map(({ seq }) => seq),
        log.map((_, index) => index + 1),
      );
    }
    const owed = [...logs].flatMap(([session, log]) => owedToMemory(session, log));
    assert.deepEqual(inOrder(heldInMemory(path)), inOrder(owed));
  } finally {
    await stores.close();
  }
}

/** The next program: it runs a turn in each session that was cut off, and brings memory up to date. */
async function goOn(stores: Stores, sessions: readonly string[]): Promise<void> {
  const failures: unknown[] = [];
  const service = createSessionService({
    model: scriptedModel([]),
    stores,
    memory: stores.memory,
    onBackgroundError: (error) => failures.push(error),
  });
  for (const sessionId of sessions) await service.startTurn({ sessionId, prompt: "Go on." });
  await service.close();
  assert.deepEqual(failures, []);
}

async function allLogs(stores: Stores): Promise<ReadonlyMap<string, readonly StoredEvent[]>> {
  const logs = new Map<string, StoredEvent[]>();
  for (let position = 0; ; ) {
    const events = await stores.events.readAll(position, 1000);
    for (const { sessionId, stored } of events) {
      const log = logs.get(sessionId) ?? [];
      logs.set(sessionId, log);
      log.push(stored);
    }
    const last = events.at(-1);
    if (!last) return logs;
    position = last.position;
  }
}
