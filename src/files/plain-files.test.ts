import fs from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";

type PlainFiles = typeof import("./plain-files.ts");

/** The module, which does something once, after it has looked at a file called `notes` and before it opens it. */
async function filesThat(
  name: string,
  something: (files: PlainFiles) => void,
): Promise<PlainFiles> {
  let meanwhile = () => {};
  const openSync: typeof fs.openSync = (place, ...others) => {
    if (String(place).endsWith("notes")) meanwhile();
    return fs.openSync(place, ...others);
  };
  onTestFinished(() => void vi.doUnmock("node:fs"));
  vi.doMock("node:fs", () => ({ ...fs, default: fs, openSync }));
  // Another file may have loaded it already, with the file system itself.
  const unshared: string = `./plain-files.ts?${name}`;
  const files: PlainFiles = await import(unshared);
  meanwhile = () => {
    meanwhile = () => {};
    something(files);
  };
  return files;
}

test("a file that another process makes meanwhile is there already", async () => {
  const root = await temporaryFolder();
  const path = join(root, "notes");
  const { makeFile, readText } = await filesThat("make", (files) => {
    expect(files.makeFile(root, path, "theirs")).toBe(true);
  });
  expect(makeFile(root, path, "mine")).toBe(false);
  expect(readText(root, path)).toBe("theirs");
});

test("a file that grows meanwhile is read whole, up to the bound", async () => {
  const root = await temporaryFolder();
  const path = join(root, "notes");
  const long = "and more ".repeat(3_000);
  const { readSmallFile } = await filesThat("grow", () => fs.appendFileSync(path, long));
  fs.writeFileSync(path, "short ");
  expect(readSmallFile(root, path, 100_000)).toBe(`short ${long}`);
  for (const [bytesMax, isRead] of [
    [6 + long.length, true],
    [5 + long.length, false],
  ] as const) {
    const files = await filesThat(`grow to ${bytesMax}`, () => fs.appendFileSync(path, long));
    fs.writeFileSync(path, "short ");
    if (isRead) expect(files.readSmallFile(root, path, bytesMax)).toBe(`short ${long}`);
    else expect(() => files.readSmallFile(root, path, bytesMax)).toThrow(`larger than ${bytesMax}`);
  }
});

test("to read a small file takes room for what is in it", async () => {
  const root = await temporaryFolder();
  const path = join(root, "settings");
  fs.writeFileSync(path, "few words");
  const { readSmallFile } = await import("./plain-files.ts");
  const alloc = vi.spyOn(Buffer, "alloc");
  const unsafe = vi.spyOn(Buffer, "allocUnsafe");
  onTestFinished(() => void vi.restoreAllMocks());
  expect(readSmallFile(root, path, 32 * 1024 * 1024)).toBe("few words");
  const sizes = [...alloc.mock.calls, ...unsafe.mock.calls].map(([size]) => size);
  expect(Math.max(...sizes)).toBeLessThan(100);
});
