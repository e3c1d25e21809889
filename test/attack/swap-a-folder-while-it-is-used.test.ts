import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { SessionError } from "../../src/core/errors.ts";
import { makeFolder, readText, remove, replaceFile, writeAt } from "../../src/files/plain-files.ts";
import { temporaryFolder } from "../support/obey.ts";
import { trials } from "../support/trials.ts";

const TRIES = trials(300, 20_000);
const VICTIM = "# mine\n";

/** Swaps a folder with a link to another one, again and again. */
const SWAP = `
const { existsSync, renameSync, rmSync, symlinkSync, unlinkSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const { folder, outside, aside, stop } = workerData;
parentPort.postMessage("swapping");
while (Atomics.load(stop, 0) === 0) {
  try {
    renameSync(folder, aside);
    symlinkSync(outside, folder);
    unlinkSync(folder);
    renameSync(aside, folder);
  } catch {
    // The other side made a folder or a file meanwhile.
    try {
      rmSync(folder, { recursive: true, force: true });
      if (existsSync(aside)) renameSync(aside, folder);
    } catch {}
  }
}
`;

test.runIf(process.platform !== "win32")(
  "a .rkat that becomes a link while it is used leads to no text outside of it",
  async () => {
    const root = await temporaryFolder();
    const [folder, aside, outside] = ["project/.rkat", "aside", "outside"].map((name) =>
      join(root, name),
    ) as [string, string, string];
    mkdirSync(folder, { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(outside, "index.jsonl"), VICTIM);
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(SWAP, { eval: true, workerData: { folder, outside, aside, stop } });
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    onTestFinished(async () => {
      Atomics.store(stop, 0, 1);
      await ended;
    });
    const project = join(root, "project");
    const file = join(folder, "index.jsonl");
    const works = [
      () => writeAt(project, file, "theirs", 0),
      () => expect(readText(project, file)).not.toContain(VICTIM),
      () => replaceFile(project, file, "theirs"),
      () => makeFolder(project, join(folder, "sessions")),
      () => remove(project, file),
    ];
    await once(worker, "message");
    let refused = 0;
    // On a busy machine the other side may not have had a turn yet.
    for (let count = 0; count < TRIES || (refused === 0 && count < 100 * TRIES); count += 1) {
      try {
        works[count % works.length]?.();
      } catch (error) {
        if (error instanceof Error && error.name === "AssertionError") throw error;
        if (SessionError.is(error)) expect(error.code).toBe("UNSAFE_FILE");
        else expect(error).toHaveProperty("syscall");
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(0);
    expect(
      existsSync(join(outside, "index.jsonl")) &&
        readFileSync(join(outside, "index.jsonl"), "utf8"),
    ).toBe(VICTIM);
    // Linux can work in a folder that is open. Elsewhere an empty file may be made outside.
    if (process.platform === "linux") expect(readdirSync(outside)).toEqual(["index.jsonl"]);
  },
);
