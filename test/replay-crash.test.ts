import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import type { StoredEvent } from "../src/core/event.ts";
import type { Stores } from "../src/core/stores.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { builtProgram } from "./support/built-package.ts";
import { heldInMemory, inOrder, owedToMemory } from "./support/memory-account.ts";
import { temporaryFolder } from "./support/obey.ts";
import { spawn } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

const PROGRAM = builtProgram("replay-until-killed");
const CONVERSATION = fileURLToPath(new URL("../demo/conversation.jsonl", import.meta.url));
/** How many replay at once. What holds for two holds for one, which the long form has. */
const REPLAYS = LONG ? [1, 4] : [2];
/** How many times the replays of one store are killed. */
const TRIALS_PER_STORE = 4;

const TRIALS = trials(1, 80, "crash points") / REPLAYS.length;

for (const replays of REPLAYS) {
  test(
    `${replays} at once, killed at any moment: what was told is in the log, and memory misses nothing`,
    async () => {
      let path = "";
      for (let trial = 0; trial < TRIALS; trial += 1) {
        if (trial % TRIALS_PER_STORE === 0) path = join(await temporaryFolder(), "rkat.db");
        const told = await replayUntilKilled(path, replays);
        assertSound(path);
        await assertComplete(path, told);
      }
    },
    60_000 + TRIALS * 10_000,
  );
}

/** The last `seq` that listeners were told, by session. */
type Told = ReadonlyMap<string, number>;

async function replayUntilKilled(path: string, replays: number): Promise<Told> {
  const told = new Map<string, number>();
  await Promise.all(Array.from({ length: replays }, () => killedReplay(path, told)));
  return told;
}

/** Events that a program is told of at the most before it is killed: about a whole replay in the long form. */
const EVENTS_MAX = LONG ? 700 : 250;

/** Starts a program that replays, and kills it after some number of events, or before the first. */
async function killedReplay(path: string, told: Map<string, number>): Promise<void> {
  const args = [PROGRAM, "--path", path, "--file", CONVERSATION];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const complaints = text(child.stderr);
  const closed = once(child, "close");
  let eventsLeft = Math.ceil(Math.random() * EVENTS_MAX);
  // While the store is opened, and at the first time made, nothing happens that could be counted.
  if (Math.random() < 0.1) setTimeout(() => child.kill("SIGKILL"), Math.random() * 1000);
  // What it printed before it died is read to the end, however late.
  for await (const line of createInterface({ input: child.stdout })) {
    const [session = "", seq] = line.split(" ");
    told.set(session, Number(seq));
    eventsLeft -= 1;
    if (eventsLeft === 0) setTimeout(() => child.kill("SIGKILL"), Math.random() * 10);
  }
  const [, signal] = await closed;
  assert.equal(signal, "SIGKILL", `A replay ended by itself: ${await complaints}`);
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
    assert.deepEqual(inOrder(await heldInMemory(stores.memory)), inOrder(owed));
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
    knowledge: false,
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
