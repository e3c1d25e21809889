import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";
import { SessionError } from "../core/errors.ts";
import { makeFolders, writingProblem } from "./make-folders.ts";

test("folders are made with those above them, once, and through links that lead to folders", async () => {
  const root = await temporaryFolder();
  mkdirSync(join(root, "real"));
  symlinkSync(join(root, "real"), join(root, "link"));
  const [one, two] = [join(root, "link", "one"), join(root, "link", "one", "two")];
  expect(makeFolders(two, 0o700)).toEqual([one, two]);
  expect(makeFolders(two, 0o700)).toEqual([]);
  expect(statSync(two).mode & 0o777).toBe(0o700);
});

const problems = [
  ["below a file", "file/here", /a part of its path is not a folder/],
  ["in the place of a file", "file", /something else has its name/],
  ["below a link to itself", "circle/here", /its path has too many links/],
  ["in the place of a link to nothing", "dangling", /something else has its name/],
  ["of a very long name", "x".repeat(300), /its path is too long/],
] as const;

test.each(problems)("a folder %s is a problem in one sentence", async (_, path, sentence) => {
  const root = await temporaryFolder();
  writeFileSync(join(root, "file"), "");
  symlinkSync(join(root, "circle"), join(root, "circle"));
  symlinkSync(join(root, "nothing"), join(root, "dangling"));
  expect(problemOf(() => makeFolders(join(root, path)))).toMatch(sentence);
});

test.runIf(existsSync("/proc/self"))("a folder that the system refuses is one too", () => {
  const refused =
    /^The store failed. \/proc\/here could not be used: the system makes no folder there\.$/;
  expect(problemOf(() => makeFolders("/proc/here"))).toMatch(refused);
  expect(problemOf(() => makeFolders("/proc/here/and/there"))).toMatch(refused);
});

test("a writable folder has no problem, and nothing is left in it", async () => {
  const root = await temporaryFolder();
  const folder = join(root, "to", "be made");
  expect(writingProblem(folder)).toBeUndefined();
  expect(existsSync(join(root, "to"))).toBe(false);
  writeFileSync(join(root, "file"), "");
  expect(writingProblem(join(root, "file"))).toMatch(/file could not be used/);
});

function problemOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return SessionError.from(error).message;
  }
}
