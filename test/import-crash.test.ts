import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { builtProgram } from "./support/built-package.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { temporaryFolder } from "./support/obey.ts";
import { spawn } from "./support/start-process.ts";
import { trials } from "./support/trials.ts";

const PROGRAM = builtProgram("import-until-killed");
const TRIALS = trials(1, 60, "crash points");
/** More messages than one commit has. */
const SESSIONS = 80;

// Takes over two seconds: an import is a process, which is killed and started again.
test(
  `an import that is killed ${TRIALS} times, and then goes on, stores each message once`,
  async () => {
    const top = await temporaryFolder();
    const folder = join(top, "projects");
    mkdirSync(folder);
    for (let number = 0; number < SESSIONS; number += 1) writeSession(folder, number);
    const atOnce = sqliteStores({ path: ":memory:" });
    await importTranscripts({ stores: atOnce, path: folder });
    const expected = await contentOf(atOnce);
    await atOnce.close();
    expect(expected.entries).toHaveLength(SESSIONS * 40);

    const path = join(top, "rkat.db");
    for (let trial = 0; trial < TRIALS; trial += 1) await importUntilKilled(path, folder);
    const stores = sqliteStores({ path });
    const report = await importTranscripts({ stores, path: folder });
    expect(report.messages).toBe(SESSIONS * 40);
    expect(await contentOf(stores)).toEqual(expected);
    expect((await stores.memory.verify()).problems).toEqual([]);
    await stores.close();
  },
  60_000 + TRIALS * 5000,
);

function writeSession(folder: string, number: number): void {
  const id = `${String(number).padStart(8, "0")}-1111-4222-8333-444455556666`;
  const lines = new ClaudeLines(id);
  for (let turn = 0; turn < 20; turn += 1) {
    lines.user(`Question ${turn} of session ${number}.`);
    lines.text(`msg_${number}_${turn}`, `Answer ${turn} of session ${number}.`);
  }
  writeFileSync(join(folder, `${id}.jsonl`), String(lines));
}

async function importUntilKilled(path: string, folder: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, "--path", path, "--folder", folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  await Promise.race([once(child.stdout, "data"), ended]);
  await sleep(Math.random() * 100);
  child.kill("SIGKILL");
  await ended;
}

/** What the log and memory have. */
async function contentOf({ events, sessions, memory }: SqliteStores) {
  const saved = await sessions.list({});
  const entries = await memory.list({ limit: 10_000 });
  const logs = await Promise.all(
    saved.map(({ id }) =>
      Array.fromAsync(events.read(id, 0), ({ seq, event }) => ({ seq, event })),
    ),
  );
  return {
    entries: entries.map(({ id, content }) => `${id} ${content}`).sort(),
    logs: logs.map((log) => JSON.stringify(log)).sort(),
    snapshots: saved.map(({ id, seq, turns }) => `${id} ${seq} ${turns}`).sort(),
  };
}
