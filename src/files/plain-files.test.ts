import fs from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";

test("a file that another process makes meanwhile is there already", async () => {
  const root = await temporaryFolder();
  const path = join(root, "notes");
  let meanwhile = () => {};
  const openSync: typeof fs.openSync = (place, ...others) => {
    if (String(place).endsWith("notes")) meanwhile();
    return fs.openSync(place, ...others);
  };
  onTestFinished(() => void vi.doUnmock("node:fs"));
  vi.doMock("node:fs", () => ({ ...fs, default: fs, openSync }));
  // Another file may have loaded it already, with the file system itself.
  const unshared: string = "./plain-files.ts?unshared";
  const { makeFile, readText }: typeof import("./plain-files.ts") = await import(unshared);
  meanwhile = () => {
    meanwhile = () => {};
    expect(makeFile(root, path, "theirs")).toBe(true);
  };
  expect(makeFile(root, path, "mine")).toBe(false);
  expect(readText(root, path)).toBe("theirs");
});
