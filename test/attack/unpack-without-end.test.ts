import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/obey.ts";
import { zipOf } from "../support/zip-of.ts";

const CONVERSATION = JSON.stringify([
  {
    ...{ conversation_id: "c1", title: "t", create_time: 1, current_node: "b" },
    mapping: {
      a: { id: "a", parent: null, children: ["b"], message: null },
      b: {
        ...{ id: "b", parent: "a", children: [] },
        message: {
          ...{ id: "b", author: { role: "user" }, create_time: 1 },
          content: { content_type: "text", parts: ["hello"] },
        },
      },
    },
  },
]);

/** Writes numbers over the directory of an archive with one file. */
function withNumber(zip: Buffer, at: number, value: number, bytes: 2 | 4 = 4): Buffer {
  const changed = Buffer.from(zip);
  const place = changed.lastIndexOf("PK\x01\x02", undefined, "latin1") + at;
  if (bytes === 2) changed.writeUInt16LE(value, place);
  else changed.writeUInt32LE(value, place);
  return changed;
}

/** The end of an archive says how many files there are, how long its directory is, and where. */
function withEnd(zip: Buffer, count: number, size: number, start: number): Buffer {
  const changed = Buffer.from(zip);
  const end = changed.lastIndexOf("PK\x05\x06", undefined, "latin1");
  changed.writeUInt16LE(count, end + 8);
  changed.writeUInt16LE(count, end + 10);
  changed.writeUInt32LE(size, end + 12);
  changed.writeUInt32LE(start, end + 16);
  return changed;
}

/** Many names in the directory for the bytes of one file. */
function overlapping(count: number): Buffer {
  const one = zipOf({ "conversations.json": " ".repeat(16_000_000) });
  const [start, end] = [one.lastIndexOf("PK\x01\x02"), one.lastIndexOf("PK\x05\x06")];
  const entry = one.subarray(start, end);
  const names = Array.from({ length: count }, (_, index) => {
    const named = Buffer.from(entry);
    named.write(`conversations-${String(index).padStart(3, "0")}.json`.slice(0, 18), 46);
    return named;
  });
  const whole = Buffer.concat([one.subarray(0, start), ...names, one.subarray(end)]);
  return withEnd(whole, count, entry.length * count, start);
}

const good = zipOf({ "conversations.json": CONVERSATION });
const spaces = deflateRawSync(Buffer.alloc(1_000_000, " "));

const ARCHIVES: Readonly<Record<string, readonly [Buffer, sessions: number]>> = {
  "a good one": [good, 1],
  "a text that packs to nothing": [zipOf({ "conversations.json": " ".repeat(60_000_000) }), 0],
  "200 texts that pack to nothing": [
    zipOf(
      Object.fromEntries(
        Array.from({ length: 200 }, (_, index) => [
          `${index}/conversations.json`,
          " ".repeat(1_000_000),
        ]),
      ),
    ),
    0,
  ],
  "more than it says": [zipOf({ "conversations.json": CONVERSATION }, { size: 5 }), 0],
  "less than it says": [zipOf({ "conversations.json": CONVERSATION }, { size: 0x7fff_ffff }), 0],
  "1 000 names for the same bytes": [overlapping(1000), 0],
  "65 535 files in an empty directory": [withEnd(good, 65_535, 0, 0), 0],
  "a directory that begins behind the end": [withEnd(good, 1, 100, 0x7fff_ffff), 0],
  "a directory that is the file itself": [withEnd(good, 1, good.length, 0), 0],
  "a file that begins behind the end": [withNumber(good, 42, 0x7fff_ffff), 0],
  "a packed size of 4 GB": [withNumber(good, 20, 0xffff_fffe), 0],
  "an unknown packing": [withNumber(good, 10, 99, 2), 0],
  "an encrypted file": [withNumber(good, 8, 1, 2), 0],
  "an archive in an archive": [zipOf({ "conversations.json": good.toString("latin1") }), 0],
  "a name that leads out": [zipOf({ "../../../victim/conversations.json": CONVERSATION }), 1],
  "a name from the root": [zipOf({ "/tmp/victim/conversations.json": CONVERSATION }), 1],
  "a name with a byte of zero": [zipOf({ "a\0/conversations.json": CONVERSATION }), 1],
  "a name with escapes": [zipOf({ "\u001b[2J/conversations.json": CONVERSATION }), 1],
  "60 000 files": [
    zipOf(Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`f${index}`, ""]))),
    0,
  ],
  "bytes that are no packing": [
    Buffer.concat([good.subarray(0, 48), spaces, good.subarray(48)]),
    0,
  ],
};

test.each(Object.entries(ARCHIVES))(
  "%s is imported or told about, and written nowhere",
  async (_, [zip, sessions]) => {
    const folder = join(await temporaryFolder(), "a", "b", "c");
    mkdirSync(folder, { recursive: true });
    const stores = sqliteStores({ path: join(folder, "rkat.db") });
    const path = join(folder, "export.zip");
    writeFileSync(path, zip);
    const report = await importTranscripts({ stores, path });
    await stores.close();
    expect(report.sessions).toBe(sessions);
    if (sessions === 0) expect(report.skipped.length).toBeGreaterThan(0);
    const up = (levels: number) => readdirSync(join(folder, ...Array(levels).fill("..")));
    expect([up(1), up(2), up(3).length]).toEqual([["c"], ["b"], 1]);
    expect(readdirSync(dirname(path)).filter((name) => !name.startsWith("rkat.db"))).toEqual([
      "export.zip",
    ]);
  },
);
