import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { RKAT } from "./built-package.ts";
import { type ChildProcess, execFileSync, spawn } from "./start-process.ts";

/** An id without a name. */
export const CONTAINER_ID = 54_321;

/** Where the folder is that can be written. */
export const CONTAINER_DATA = "/mnt";

const MEMORY_BYTES = 256 * 1024 * 1024;
const MEMORY_GROUPS = "/sys/fs/cgroup/memory";

/** What a container is made of: every mount read-only but the data, nothing in `/dev/shm`, an id without a name and without rights. */
const ENTER = `
set -e
mount --make-rprivate /
mount --bind "$1" ${CONTAINER_DATA}
grep -o '^[^ ]* [^ ]*' /proc/self/mounts | cut -d' ' -f2 | sort -ru | while read -r place; do
  case "$place" in ${CONTAINER_DATA} | /proc* | /sys*) ;; *) mount -o remount,bind,ro "$place" 2> /dev/null || true ;; esac
done
if [ -d /dev/shm ]; then mount -t tmpfs -o ro none /dev/shm; fi
cd ${CONTAINER_DATA}
shift
exec setpriv --reuid ${CONTAINER_ID} --regid ${CONTAINER_ID} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
`;

const READS = 'require("node:fs").readFileSync(process.argv[1])';

/** Why a container cannot be had here; undefined if it can. */
export function containerProblem(): string | undefined {
  if (process.platform !== "linux") return "it needs Linux";
  if (process.getuid?.() !== 0) return "only root can make one";
  try {
    const id = ["setpriv", "--reuid", String(CONTAINER_ID), "--clear-groups"];
    const reading = [process.execPath, "--eval", READS, RKAT];
    execFileSync("unshare", ["--mount", ...id, ...reading], { stdio: "ignore" });
    return undefined;
  } catch {
    return "unshare and setpriv do not work here, or only you can read this checkout";
  }
}

/** Takes from a process what the tests give to all of them. */
const NOTHING = {
  HOME: undefined,
  TMPDIR: undefined,
  TZ: undefined,
  NODE_COMPILE_CACHE: undefined,
};

/** Starts a program as a container does that may write `data` alone. It has these variables and no others. */
export function startInContainer(
  data: string,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  const group = memoryGroup();
  const inGroup = group === undefined ? "" : `echo $$ > '${join(group, "cgroup.procs")}'\n`;
  const words = ["--mount", "sh", "-c", inGroup + ENTER, "sh", data, ...command];
  const child = spawn("unshare", words, { env: { ...NOTHING, ...env }, stdio: "pipe" });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return child;
}

/** A group of processes that has 256 MB, where this system has such groups and lets us make one. */
function memoryGroup(): string | undefined {
  if (!existsSync(join(MEMORY_GROUPS, "memory.limit_in_bytes"))) return undefined;
  const group = join(MEMORY_GROUPS, `rkat-${crypto.randomUUID()}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, "memory.limit_in_bytes"), String(MEMORY_BYTES));
  } catch {
    return undefined;
  }
  onTestFinished(() => removeGroup(group));
  return group;
}

function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // Its last process is still ending.
  }
}
