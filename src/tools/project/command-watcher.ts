import { spawn } from "node:child_process";
import type { Writable } from "node:stream";

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
export class CommandWatcher {
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
