import { randomBytes } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { type FoundFile, fileOfBytes } from "./found-file.ts";
import type { ImportNotes } from "./imported.ts";
import { type FileRecord, readRecords } from "./read-records.ts";

/** Reads a file, and what was noted about it. */
async function read(file: FoundFile) {
  const told: string[] = [];
  const notes: ImportNotes = {
    skip: (_, line, reason) => told.push(`line ${line}: ${reason}`),
    unknown() {},
    otherBranch() {},
    unfinished: () => told.push("unfinished"),
    readOn() {},
  };
  const records: FileRecord[] = await Array.fromAsync(readRecords(file, notes));
  return { records, told };
}

const texts = ({ records }: { readonly records: readonly FileRecord[] }) =>
  records.map(({ value }) => value.text);

test("a record has its line, its place and the place of the next", async () => {
  const { records } = await read(fileOfBytes("a.jsonl", Buffer.from('{"a":1}\n\n{"b":"é"}\n')));
  expect(records).toEqual([
    { value: { a: 1 }, line: 1, offset: 0, end: 8 },
    { value: { b: "é" }, line: 3, offset: 9, end: 20 },
  ]);
});

test("a bad line is told with its number, and the next one is read", async () => {
  const lines = ['{"text":1}', "{", "[]", "3", '{"text":2}'].join("\n");
  const bytes = Buffer.concat([Buffer.from(lines), Buffer.from([10, 0xff, 10])]);
  const found = await read(fileOfBytes("a.jsonl", bytes));
  expect(texts(found)).toEqual([1, 2]);
  expect(found.told).toEqual([
    "line 2: it is not JSON",
    "line 3: it is not a JSON object",
    "line 4: it is not a JSON object",
    "line 6: it is not UTF-8",
  ]);
});

test("a last line that is cut is still being written, and one that is whole is a line", async () => {
  const cut = await read(fileOfBytes("a.jsonl", Buffer.from('{"text":1}\n{"text":')));
  expect([texts(cut), cut.told]).toEqual([[1], ["unfinished"]]);
  const whole = await read(fileOfBytes("a.jsonl", Buffer.from('{"text":1}\n{"text":2}')));
  expect([texts(whole), whole.told]).toEqual([[1, 2], []]);
});

test("a file of several frames of zstd is read to its end, wherever it is cut", async () => {
  const line = (text: number) =>
    Buffer.from(`{"text":${text},"x":"${randomBytes(5000).toString("hex")}"}\n`);
  const frames = Array.from({ length: 20 }, (_, text) => zstdCompressSync(line(text)));
  const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]);
  const pieces = [...frames.slice(0, 3), skippable, ...frames.slice(3)];
  const bytes = Buffer.concat(pieces);
  const ends = new Set([0]);
  for (const { length } of pieces) ends.add(Math.max(...ends) + length);
  const whole = await read(fileOfBytes("a.jsonl.zst", bytes));
  expect(texts(whole)).toEqual(Array.from({ length: 20 }, (_, text) => text));
  expect(whole.told).toEqual([]);
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length), async (size) => {
      const { records, told } = await read(fileOfBytes("a.jsonl.zst", bytes.subarray(0, size)));
      expect(records).toEqual(whole.records.slice(0, records.length));
      expect(told).toEqual(ends.has(size) ? [] : ["line undefined: it is cut off"]);
    }),
    { numRuns: trials(2, 30) },
  );
});

test("a packed file is read right when the file uses its buffer again", async () => {
  const line = (text: number) => `{"text":${text},"x":"${randomBytes(3000).toString("hex")}"}\n`;
  const lines = Array.from({ length: 300 }, (_, text) => line(text));
  const bytes = zstdCompressSync(Buffer.from(lines.join("")));
  const buffer = Buffer.alloc(4096);
  const file: FoundFile = {
    ...fileOfBytes("a.jsonl.zst", bytes),
    async *read(start = 0, end = bytes.length) {
      for (let at = start; at < Math.min(end, bytes.length); at += buffer.length) {
        const size = bytes.copy(buffer, 0, at, Math.min(end, at + buffer.length));
        yield buffer.subarray(0, size);
      }
    },
  };
  expect(texts(await read(file))).toEqual(lines.map((_, text) => text));
});

test("a packed file that is damaged gives what comes before, and says so", async () => {
  const frames = [1, 2].map((text) => zstdCompressSync(Buffer.from(`{"text":${text}}\n`)));
  const bytes = Buffer.concat([...frames, Buffer.from("no frame at all")]);
  const found = await read(fileOfBytes("a.jsonl.zst", bytes));
  expect(texts(found)).toEqual([1, 2]);
  expect(found.told).toEqual([expect.stringMatching(/^line undefined: it is damaged: /)]);
});

test("a packed file that is cut or damaged in its only frame gives the lines before, and says so once", async () => {
  const line = (text: number) => `{"text":${text},"x":"${randomBytes(5000).toString("hex")}"}\n`;
  const lines = Array.from({ length: 100 }, (_, text) => line(text));
  const bytes = zstdCompressSync(Buffer.from(lines.join("")));
  const half = Math.floor(bytes.length / 2);
  const damaged = Buffer.from(bytes).fill(0xff, half);
  for (const [broken, reason] of [
    [bytes.subarray(0, half), /: it is cut off$/],
    [damaged, /: it is damaged: /],
    [bytes.subarray(0, 3), /: it is cut off$/],
  ] as const) {
    const found = await read(fileOfBytes("a.jsonl.zst", broken));
    expect(found.told).toEqual([expect.stringMatching(reason)]);
    expect(texts(found)).toEqual(found.records.map((_, text) => text));
    expect(found.records.length).toBeGreaterThanOrEqual(broken.length < 5 ? 0 : 30);
  }
});

test("a small packed file that holds gigabytes is read up to a bound, and it is told", async () => {
  const line = Buffer.from(`{"text":"${"x".repeat(1024 * 1024)}"}\n`);
  const bytes = zstdCompressSync(Buffer.concat(Array.from({ length: 64 }, () => line)));
  const { records, told } = await read(fileOfBytes("a.jsonl.zst", bytes));
  expect(records.length).toBeGreaterThan(10);
  expect(records.length).toBeLessThan(32);
  expect(told).toEqual(["line undefined: it is damaged: it holds more than packed text can"]);
});
