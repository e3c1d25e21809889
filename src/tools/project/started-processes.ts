import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A command of the shell and everything that it started, however that detached itself.
 *
 * On Linux each of its processes has four marks, and hands them to those that it starts:
 *
 *     a cgroup       where this user may make one: one write ends all in it
 *     a session      until a process begins one of its own       ┐
 *     a variable     until a process removes its environment     ├ found in /proc
 *     a limit        of locks: Linux ignores it since 2.4,       ┘
 *                    and only root can raise it again
 *
 * Elsewhere it is what the system knows as one: the process group, or on Windows the tree of processes.
 */
export class StartedProcesses {
  /** The shell. */
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #mark = randomBytes(12).toString("hex");
  readonly #limit = ON_LINUX ? newLimit() : "";
  readonly #cgroup: string | undefined;
  /** Ends them when this process is killed. */
  readonly #watcher: CommandWatcher;
  /** When the shell started, in ticks of the system. */
  readonly #since: number;

  /** Starts the command. `cgroup` is an empty one, from `newCgroup`. */
  constructor(
    command: string,
    {
      folder: cwd,
      env,
      cgroup,
    }: { readonly folder: string; readonly env: Environment; readonly cgroup?: string | undefined },
  ) {
    this.#cgroup = cgroup;
    const marks = [process.env[VARIABLE], this.#mark].filter(Boolean).join(" ");
    const options = {
      cwd,
      env: { ...env, [VARIABLE]: marks },
      // A group and a session of its own.
      detached: process.platform !== "win32",
      stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
      windowsHide: true,
    };
    const procs = cgroup === undefined ? "" : join(cgroup, "cgroup.procs");
    const variable = ON_LINUX ? this.#mark : "";
    this.#watcher = new CommandWatcher({ variable, limit: this.#limit, cgroup: cgroup ?? "" });
    this.child = ON_LINUX
      ? spawn("/bin/sh", ["-c", MARKED, "/bin/sh", procs, this.#limit, command], options)
      : spawn(command, { ...options, shell: true });
    if (this.child.pid !== undefined) this.#watcher.watch(this.child.pid);
    // Until its exit is read, the process has this number, even if it has ended.
    this.#since = statusOf(this.child.pid ?? 0)?.startedAt ?? 0;
  }

  /** Ends all of them. Resolves with how many go on: another user's, or those that the system holds. */
  async end(): Promise<number> {
    let { left, isSure } = this.#endOnce();
    let unsure = 0;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      unsure = isSure || left > 0 ? 0 : unsure + 1;
      if (left === 0 && (isSure || unsure > UNSURE_MAX)) break;
      await sleep(Math.min(2 ** round, ROUND_MS_MAX));
      ({ left, isSure } = this.#endOnce());
    }
    this.#watcher.release();
    if (this.#cgroup !== undefined) removeCgroup(this.#cgroup);
    return left;
  }

  /** Ends those that there are now. Returns how many had not ended before. */
  endNow(): number {
    return this.#endOnce().left;
  }

  /**
   * Ends those that there are now. `left` is how many had not ended before. It is not sure that these were all when
   * another process ended meanwhile: it may have started one that the list of processes does not have yet.
   */
  #endOnce(): { readonly left: number; readonly isSure: boolean } {
    const { pid } = this.child;
    if (pid === undefined) return ALL_ENDED;
    if (process.platform === "win32") {
      spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { windowsHide: true }).unref();
      return ALL_ENDED;
    }
    if (this.#cgroup !== undefined) endCgroup(this.#cgroup);
    kill(-pid);
    if (!ON_LINUX) return ALL_ENDED;
    let left = 0;
    let isSure = true;
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const status = statusOf(Number(name));
      if (!status) isSure = false;
      else if (status.startedAt < this.#since) continue;
      else if (status.hasEnded) isSure &&= Number(name) === pid;
      else if (this.#has(Number(name), status.session === pid)) {
        kill(Number(name));
        left += 1;
      }
    }
    const isHeld = left === 0 && this.#cgroup !== undefined && isPopulated(this.#cgroup);
    return { left: isHeld ? 1 : left, isSure };
  }

  /** Whether a process was started by the command. */
  #has(pid: number, isOfSession: boolean): boolean {
    return (
      isOfSession ||
      (this.#limit !== "" && limitIn(`/proc/${pid}/limits`) === this.#limit) ||
      readOf(`/proc/${pid}/environ`).includes(this.#mark)
    );
  }
}

const ALL_ENDED = { left: 0, isSure: true };
/** On a machine where processes end all the time, no list is sure. */
const UNSURE_MAX = 4;

const ON_LINUX = process.platform === "linux";
/** Marks of the commands around this one, and its own. */
const VARIABLE = "STARTED_BY_RKAT";
/** About two seconds. */
const ROUNDS_MAX = 40;
const ROUND_MS_MAX = 50;

/** Gives itself the marks, and becomes the shell of the command. Shells write the limit with -w or -x. */
const MARKED = `{ [ -z "$1" ] || echo $$ >"$1"; ulimit -w "$2" || ulimit -x "$2"; } 2>/dev/null
exec /bin/sh -c "$3"`;

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended, or is another user's.
  }
}

function statusOf(pid: number) {
  const line = readOf(`/proc/${pid}/stat`);
  // The name of the program stands in brackets, and may have any character.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 20) return undefined;
  const [state = ""] = fields;
  return {
    hasEnded: state === "Z" || state === "X",
    session: Number(fields[3]),
    startedAt: Number(fields[19]),
  };
}

/** A file of the system; empty when there is none, or this user may not read it. */
function readOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** The hard limit of locks. */
function limitIn(path: string): string | undefined {
  return /^Max file locks\s+\S+\s+(\S+)/m.exec(readOf(path))?.[1];
}

/** A number that no other process has. Within a command of rkat it has to be below that command's. */
function newLimit(): string {
  const own = limitIn("/proc/self/limits");
  const most = Math.min(own === "unlimited" ? 2 ** 52 : Number(own ?? 0), 2 ** 52);
  const half = Math.floor(most / 2);
  return half < 2 ** 20 ? "" : String(half + randomInt(Math.min(half, 2 ** 47)));
}

let cgroups = 0;

/** Makes a cgroup below this process's own; undefined where this user may not. */
export function newCgroup(): string | undefined {
  const own = /^0::(\/.*)$/m.exec(readOf("/proc/self/cgroup"))?.[1];
  const mount = readOf("/proc/self/mountinfo")
    .split("\n")
    .find((line) => line.includes(" - cgroup2 "))
    ?.split(" ");
  const [root, at] = [mount?.[3], mount?.[4]];
  if (own === undefined || root === undefined || at === undefined) return undefined;
  const inside = relative(root, own);
  if (inside.startsWith("..")) return undefined;
  cgroups += 1;
  try {
    removeAbandoned(join(at, inside));
    const made = join(at, inside, `${CGROUP}${process.pid}-${cgroups}`);
    mkdirSync(made);
    // Since Linux 5.14.
    if (existsSync(join(made, "cgroup.kill"))) return made;
    removeCgroup(made);
  } catch {
    // It is read-only, or another user's.
  }
  return undefined;
}

const CGROUP = "rkat-";

/** A process that was killed could not remove its cgroups. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^rkat-(\d+)-\d+$/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeCgroup(join(parent, name));
  }
}

function endCgroup(path: string): void {
  try {
    writeFileSync(join(path, "cgroup.kill"), "1");
  } catch {
    // The processes in it are found by their other marks.
  }
}

function isPopulated(path: string): boolean {
  return readOf(join(path, "cgroup.events")).includes("populated 1");
}

/** Removes a cgroup and those in it, unless it has processes. */
function removeCgroup(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeCgroup(join(path, entry.name));
    }
    rmdirSync(path);
  } catch {
    // The next command removes it.
  }
}

/** How the processes of a command are known: see `StartedProcesses`. Empty where there is none. */
interface Marks {
  readonly variable: string;
  readonly limit: string;
  readonly cgroup: string;
}

/**
 * A shell that waits for the end of this process, and then ends what a command left. A process that is killed can do
 * nothing any more, but the system closes its end of a pipe, which nobody else holds.
 */
class CommandWatcher {
  readonly #orders: Writable | undefined;

  constructor({ variable, limit, cgroup }: Marks) {
    if (process.platform === "win32") return;
    const child = spawn("/bin/sh", ["-c", WATCH, "rkat-watcher", variable, limit, cgroup], {
      cwd: "/",
      // No terminal's signal reaches it.
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    child.unref();
    if ("unref" in child.stdin) (child.stdin as { unref(): void }).unref();
    this.#orders = child.stdin;
  }

  /** The command is this process, and the group and session of it. */
  watch(pid: number): void {
    this.#orders?.write(`${pid}\n`);
  }

  /** The command has ended with all that it started. */
  release(): void {
    this.#orders?.end("released\n");
  }
}

/** Reads the process, and then either a line or the end of the pipe. Twenty rounds take about a second. */
const WATCH = `
trap '' HUP INT QUIT TERM PIPE
variable=$1 limit=$2 cgroup=$3
read -r shell
read -r _ && exit
cd /proc 2>/dev/null
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -z "$cgroup" ] || echo 1 >"$cgroup/cgroup.kill"
  [ -z "$shell" ] || kill -9 "-$shell"
  [ -n "$variable" ] || exit
  found=$(
    grep -lFe "$variable" [0-9]*/environ
    [ -z "$limit" ] || grep -le "^Max file locks .* $limit " [0-9]*/limits
    [ -z "$shell" ] || grep -lE "\\) [^ZX] [0-9]+ [0-9]+ $shell " [0-9]*/stat
  )
  [ -n "$found" ] || break
  for file in $found; do kill -9 "\${file%%/*}"; done
  sleep 0.05
done
[ -z "$cgroup" ] || rmdir "$cgroup"`;
