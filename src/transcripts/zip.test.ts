import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { zipOf } from "../../test/support/zip-of.ts";
import { fileOfBytes } from "./found-file.ts";
import { listZip, readZipEntry } from "./zip.ts";

async function filesIn(bytes: Buffer) {
  const source = fileOfBytes("export.zip", bytes);
  const files: Record<string, string> = {};
  for (const entry of await listZip(source)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of readZipEntry(source, entry)) chunks.push(chunk);
    files[entry.path] = Buffer.concat(chunks).toString();
  }
  return files;
}

test("every file of an archive is read", async () => {
  const files = { "conversations.json": "[]", "a/chat.html": "é".repeat(100_000) };
  expect(await filesIn(zipOf(files))).toEqual(files);
  expect(await filesIn(zipOf({}))).toEqual({});
});

test("an archive that unpacks to more than it says is stopped", async () => {
  const bomb = zipOf({ "conversations.json": "x".repeat(100_000) }, { size: 10 });
  await expect(filesIn(bomb)).rejects.toThrow("more than the 10 bytes");
});

test("an archive that packs more than text can is stopped", async () => {
  const bomb = zipOf({ "conversations.json": " ".repeat(40_000_000) });
  await expect(filesIn(bomb)).rejects.toThrow(/more than the \d+ bytes/);
});

test("an archive that is cut off, encrypted, or none says so", async () => {
  const whole = zipOf({ "conversations.json": "[]" });
  await expect(filesIn(whole.subarray(0, 40))).rejects.toThrow("it is not a whole ZIP archive");
  await expect(filesIn(Buffer.from("hello"))).rejects.toThrow("it is not a whole ZIP archive");
  await expect(filesIn(zipOf({ a: "x" }, { flags: 1 }))).rejects.toThrow("encrypted");
  await expect(filesIn(whole.subarray(1))).rejects.toThrow("damaged");
});

test("a damaged archive is refused or read, and never hangs", async () => {
  const whole = zipOf({ "conversations.json": "[1,2,3]", "b.txt": "b".repeat(500) });
  const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1 });
  const property = fc.asyncProperty(changes, async (all) => {
    const damaged = Buffer.from(whole);
    for (const [at, byte] of all) damaged[at] = byte;
    await filesIn(damaged).catch((error) => expect(error).toBeInstanceOf(Error));
  });
  await fc.assert(property, { numRuns: trials(30, 300) });
});
