import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { DiskFile } from "./disk-file.ts";
import { filesInOrder, findTranscripts } from "./find-transcripts.ts";

/** A file of 64 KB, the last line of which was written at a time. */
function fileOf(number: number, timeMs: number, extra = ""): DiskFile {
  const line = `{"timestamp":"${new Date(timeMs).toISOString()}"${extra}}\n`;
  const size = 64 * 1024;
  return {
    path: `${number}`,
    size,
    mtimeMs: 1_000_000 - number,
    stamp: "",
    is: () => true,
    others: () => [],
    hasShrunk: () => false,
    async *read() {
      yield Buffer.from(line.padStart(size, `${number} `));
    },
  };
}

test("files are in the order of the last time that they name, and copies come last", async () => {
  const files = [
    fileOf(1, 3_000),
    fileOf(2, 1_000, ',"sessionKind":"bg"'),
    fileOf(3, 2_000),
    fileOf(5, 2_000),
    fileOf(4, 2_000),
  ];
  const sorted = await filesInOrder(files);
  expect(sorted.map(({ path }) => path)).toEqual(["3", "4", "5", "1", "2"]);
});

test("a file that names no time has the time of its last change", async () => {
  const untold: DiskFile = { ...fileOf(1, 0), mtimeMs: 1_500, read: async function* () {} };
  const sorted = await filesInOrder([fileOf(2, 2_000), untold, fileOf(3, 1_000)]);
  expect(sorted.map(({ path }) => path)).toEqual(["3", "1", "2"]);
});

test("the ends of the files are not kept in memory while they are sorted", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held: number[] = [];
  const files = Array.from({ length: 800 }, (_, number) => fileOf(number, number));
  const watched: DiskFile = {
    ...fileOf(-1, 0),
    async *read() {
      collect();
      held.push(process.memoryUsage().heapUsed);
      yield Buffer.alloc(0);
    },
  };
  await filesInOrder([watched, ...files, watched]);
  const [before = 0, after = 0] = held;
  // All of it are 51 MB.
  expect(after - before).toBeLessThan(10_000_000);
});

test("a device is no file and no folder, and the error says so", () => {
  const machine = { env: {}, home: "/" };
  const find = () => findTranscripts({ formats: [], machine, path: "/dev/zero" });
  expect(find).toThrow("/dev/zero cannot be imported: it is no file and no folder.");
});
