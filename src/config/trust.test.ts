import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { markAsMadeHere, trustIn } from "./trust.ts";

test("the process that made a store without a home follows when another one takes its mark back", ({
  skip,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-trust-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dataFolder = join(folder, ".rkat");
  const storeFile = join(dataFolder, "rkat.db");
  mkdirSync(dataFolder, { mode: 0o700 });
  writeFileSync(storeFile, "");
  if (statSync(storeFile, { bigint: true }).birthtimeNs === 0n) {
    skip("this file system keeps no time of birth, so there is no mark");
  }
  const places = { folder, dataFolder, storeFile };
  const isTrusted = () => trustIn(places, { HOME: "/" }).store;
  expect(isTrusted()).toBe(false);
  markAsMadeHere(places, storeFile);
  expect(isTrusted()).toBe(true);
  // As `rkat trust --revoke` does in its process.
  rmSync(join(dataFolder, "made-here"));
  expect(isTrusted()).toBe(false);
});
