import { join } from "node:path";
import { type ChildProcess, execFileSync, spawn } from "../support/start-process.ts";

/** A state that other people's machines are in. */
export interface Condition {
  readonly name: string;
  /** Starts what makes the state, and returns what a command starts with in it, and how to end it. */
  start(folder: string): StartedCondition;
}

export interface StartedCondition {
  readonly before: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  end(): void;
}

const NOTHING: StartedCondition = { before: [], env: {}, end() {} };
const BUSY_LOOPS = 4;
const DELAY_MS = 20;

export const CONDITIONS: readonly Condition[] = [
  { name: "alone", start: () => NOTHING },
  {
    name: "one-core",
    start: () => ({ ...NOTHING, before: has("taskset") ? ["taskset", "-c", firstCore()] : [] }),
  },
  {
    name: "busy",
    start() {
      const loops = Array.from({ length: BUSY_LOOPS }, busyLoop);
      return { ...NOTHING, end: () => loops.forEach((loop) => void loop.kill("SIGKILL")) };
    },
  },
  { name: "slow-disk", start: slowDisk },
];

/** Ends by itself when this process is gone: then its input ends. */
function busyLoop(): ChildProcess {
  const code =
    "process.stdin.on('end', () => process.exit()).resume(); const spin = () => { for (let n = 0; n < 1e8; n += 1); setImmediate(spin); }; spin();";
  return spawn(process.execPath, ["-e", code], { stdio: ["pipe", "ignore", "ignore"] });
}

/** Each `fsync` takes longer, on a real disk. Without a compiler of C the tests come last at the disk instead. */
function slowDisk(folder: string): StartedCondition {
  const env = { RKAT_TEST_DISK: "1" };
  const compiler = ["cc", "gcc", "clang"].find(has);
  if (process.platform === "linux" && compiler !== undefined) {
    const library = join(folder, "slow-fsync.so");
    const source = join(import.meta.dirname, "slow-fsync.c");
    const delay = `-DDELAY_US=${1000 * DELAY_MS}`;
    execFileSync(compiler, ["-shared", "-fPIC", "-O2", delay, "-o", library, source, "-ldl"]);
    return { ...NOTHING, env: { ...env, LD_PRELOAD: library } };
  }
  return { ...NOTHING, env, before: has("ionice") ? ["ionice", "-c", "3"] : [] };
}

function firstCore(): string {
  // A container may not have the core 0.
  const list = execFileSync("taskset", ["-cp", String(process.pid)], { encoding: "utf8" });
  return /(\d+)[^:]*$/.exec(list)?.[1] ?? "0";
}

function has(program: string): boolean {
  try {
    execFileSync("sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
