import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { cleanEnvironment } from "./clean-environment.ts";

/** Gives the tests of a run their environment, with a home and a temporary folder of their own. Workers inherit it. */
export default function takeOwnEnvironment({ vite }: TestProject): () => void {
  cleanEnvironment();
  const isLong = vite.config.mode === "long";
  const temporary = mkdtempSync(join(isLong ? tmpdir() : fastFolder(), "rkat-tests-"));
  const home = join(temporary, "home");
  mkdirSync(home);
  const inHome = { APPDATA: home, LOCALAPPDATA: home, USERPROFILE: home };
  const inTemporary = { TEMP: temporary, TMP: temporary };
  const onWindows = process.platform === "win32" ? { ...inHome, ...inTemporary } : {};
  Object.assign(process.env, { HOME: home, TMPDIR: temporary }, onWindows);
  return () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
}

const MEMORY = "/dev/shm";
const MEMORY_BYTES_MIN = 2 ** 30;

/**
 * Where the daily tests keep their files: in memory, if Linux offers enough of it. Each commit waits for a
 * disk otherwise, thousands of times. Files in memory outlive a killed process just as well.
 */
function fastFolder(): string {
  // `npm run test:repeat` wants the disk.
  if (process.env.RKAT_TEST_DISK) return tmpdir();
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize < MEMORY_BYTES_MIN ? tmpdir() : MEMORY;
  } catch {
    return tmpdir();
  }
}
