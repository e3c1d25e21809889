import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { SessionError } from "../../src/core/errors.ts";
import { diskFile } from "../../src/import/disk-file.ts";
import { findTranscripts } from "../../src/import/find-transcripts.ts";
import { IMPORT_FORMATS } from "../../src/transcripts/import-formats.ts";
import { temporaryFolder } from "../support/obey.ts";
import { execFileSync } from "../support/start-process.ts";
import { trials } from "../support/trials.ts";

const TRIES = trials(100, 20_000);
const CANARY = "-----BEGIN OPENSSH PRIVATE KEY-----";
const LINE = `${JSON.stringify({ type: "user", message: { role: "user", content: "hi" } })}\n`;

/** Swaps the folder of the transcript, and then the transcript, with links to what is outside. */
const SWAP = `
const { lstatSync, renameSync, rmSync, symlinkSync } = require("node:fs");
const { folder, outside, stop } = require("node:worker_threads").workerData;
const swap = (path, target) => {
  const aside = path + ".aside";
  try {
    renameSync(path, aside);
    symlinkSync(target, path);
    for (let spin = 0; spin < 3000; spin += 1) Atomics.load(stop, 0);
    rmSync(path);
    renameSync(aside, path);
  } catch {}
};
while (Atomics.load(stop, 0) === 0) {
  swap(folder, outside);
  swap(folder + "/talk.jsonl", outside + "/talk.jsonl");
}
`;

async function transcript() {
  const home = await temporaryFolder();
  const [root, outside] = [join(home, "projects"), join(home, "outside")];
  const folder = join(root, "-project");
  for (const made of [folder, outside]) mkdirSync(made, { recursive: true });
  writeFileSync(join(outside, "talk.jsonl"), `${CANARY}\n`);
  const path = join(folder, "talk.jsonl");
  writeFileSync(path, LINE);
  return { root, outside, folder, path };
}

const find = (root: string, path: string) =>
  findTranscripts({ root, path, formats: IMPORT_FORMATS, machine: { env: {}, home: root } });

async function textOf(chunks: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const copied: Uint8Array[] = [];
  for await (const chunk of chunks ?? []) copied.push(Uint8Array.from(chunk));
  return Buffer.concat(copied).toString();
}

test.runIf(process.platform !== "win32")(
  "a transcript that another process swaps with links is read as it was, or not at all",
  async () => {
    const { root, outside, folder, path } = await transcript();
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(SWAP, { eval: true, workerData: { folder, outside, stop } });
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    onTestFinished(async () => {
      Atomics.store(stop, 0, 1);
      await ended;
    });
    let [read, refused] = [0, 0];
    for (let count = 0; count < TRIES || read === 0 || refused === 0; count += 1) {
      try {
        for (const { files } of find(root, path)) {
          for (const file of files) {
            expect(await textOf(file.read())).toBe(LINE);
            read += 1;
          }
        }
      } catch (error) {
        if (error instanceof Error && error.name === "AssertionError") throw error;
        if (SessionError.is(error)) expect(error.code).toBe("UNSAFE_FILE");
        refused += 1;
      }
    }
  },
);

const REPLACED: Readonly<Record<string, (path: string, outside: string) => void>> = {
  "a link to a key": (path, outside) => symlinkSync(join(outside, "talk.jsonl"), path),
  "the key itself": (path, outside) => renameSync(join(outside, "talk.jsonl"), path),
  "a pipe": (path) => void execFileSync("mkfifo", [path]),
  "a device": (path) => symlinkSync("/dev/zero", path),
  "a folder": (path) => void mkdirSync(path),
};

test.runIf(process.platform !== "win32").each(Object.entries(REPLACED))(
  "%s in the place of a transcript that was found is not read",
  async (_, replace) => {
    const { root, path, outside } = await transcript();
    const [file] = find(root, path)[0]?.files ?? [];
    rmSync(path);
    replace(path, outside);
    await expect(textOf(file?.read())).rejects.toThrow();
  },
);

test("a transcript that grows while it is read, or shrinks, ends", async () => {
  const { path } = await transcript();
  const growing = diskFile(path, () => []);
  let bytes = 0;
  for await (const chunk of growing?.read() ?? []) {
    bytes += chunk.length;
    appendFileSync(path, LINE.repeat(10));
    if (bytes > LINE.length) break;
  }
  expect(bytes).toBe(LINE.length);
  const shrinking = diskFile(path, () => []);
  truncateSync(path, 3);
  expect(await textOf(shrinking?.read())).toBe(LINE.slice(0, 3));
});
