import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Tool } from "../../core/tool.ts";
import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { visibleCall } from "../../text/visible-text.ts";
import { ownTool } from "../own-tool.ts";
import type { ProjectFolder } from "./project-folder.ts";
import { newCgroup, StartedProcesses } from "./started-processes.ts";

const TIMEOUT_S = 120;
const TIMEOUT_S_MAX = 1_200;
/** Bytes of output that are kept from its start, and from its end. */
const KEPT_BYTES = 15_000;
const COMMAND_MAX = 2_000;
/** How long the last output may take, after everything has ended. */
const CLOSING_MS = 500;
const ROUNDS_AT_EXIT = 10;

/**
 * Runs a command of the shell in the project's folder. It can do all that you can, so every command
 * needs approval, and "always" allows that one command only: `npm install` must not allow
 * `npm install anything`.
 */
export function runCommandTool(folder: ProjectFolder, env: Readonly<Record<string, string>>): Tool {
  return ownTool({
    name: "run_command",
    description:
      "Run a shell command in the project's folder. It has no input and no terminal, and is killed with all that it started when it ends or takes too long.",
    input: z.object({
      command: z.string().min(1).max(COMMAND_MAX),
      timeout_s: z
        .int()
        .min(1)
        .max(TIMEOUT_S_MAX)
        .nullish()
        .describe(`Seconds. Default ${TIMEOUT_S}.`),
    }),
    timeoutMs: (TIMEOUT_S_MAX + 10) * 1_000,
    policy: "ask",
    always: (args) => {
      const { command } = (args ?? {}) as { readonly command?: unknown };
      return typeof command === "string" && canBeKept(command)
        ? { tool: "run_command", command }
        : undefined;
    },
    execute({ command, timeout_s }, { signal }) {
      return runCommand(command, {
        folder: folder.root,
        env,
        timeoutMs: (timeout_s ?? TIMEOUT_S) * 1_000,
        signal,
      });
    },
  });
}

/** Whether a command reads as it runs, and has nothing in it that must not be stored. */
function canBeKept(command: string): boolean {
  const hasControls = /(?![\t\n])\p{Cc}/u.test(command);
  return !hasControls && visibleCall(command) === command && redactSecrets(command) === command;
}

/** Commands that run now. */
const running = new Set<StartedProcesses>();

interface RunOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Runs a command to its end, its limit, or the end of the turn, and ends all that it started. */
async function runCommand(command: string, { folder, env, ...until }: RunOptions): Promise<string> {
  const started = new StartedProcesses(command, { folder, env, cgroup: newCgroup() });
  const { child } = started;
  const output = new Ends(KEPT_BYTES);
  child.stdout.on("data", (bytes: Buffer) => output.push(bytes));
  child.stderr.on("data", (bytes: Buffer) => output.push(bytes));
  if (running.size === 0) process.on("exit", endAll);
  running.add(started);
  try {
    const closed = new Promise((resolve) => child.on("close", resolve));
    const end = await endOf(child, until);
    const left = await started.end();
    // A process that goes on may hold its pipes open for ever.
    await Promise.race([closed, sleep(CLOSING_MS, undefined, { ref: false })]);
    const note = left === 0 ? "" : `; ${left} processes that it started could not be ended`;
    const text = output.text();
    return `[${end}${note}]${text === "" ? "" : `\n${text}`}`;
  } finally {
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
    running.delete(started);
    if (running.size === 0) process.off("exit", endAll);
  }
}

/** Why the command is over: its own end, its limit, or the turn's. */
async function endOf(
  child: ChildProcess,
  { timeoutMs, signal }: Pick<RunOptions, "timeoutMs" | "signal">,
): Promise<string> {
  const over = new AbortController();
  const first = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => resolve(`killed after ${timeoutMs / 1000} s`), timeoutMs);
    over.signal.addEventListener("abort", () => clearTimeout(timer));
    signal.addEventListener("abort", () => resolve("stopped"), { signal: over.signal });
    if (signal.aborted) resolve("stopped");
    child.on("error", reject);
    child.on("exit", (code, by) => resolve(by ? `killed by ${by}` : `exit code ${code}`));
  });
  return await first.finally(() => over.abort());
}

/** This process ends, and nothing asynchronous is done any more. */
function endAll(): void {
  for (const started of running) {
    for (let round = 0; started.endNow() > 0 && round < ROUNDS_AT_EXIT; round += 1);
  }
}

/** The beginning and the end of an output of any length, in chunks of any length. */
class Ends {
  readonly #bytesMax: number;
  readonly #head: Buffer;
  #headBytes = 0;
  /** Its last bytes count. It is cut only when it is full, so that tiny chunks cost no more than large ones. */
  readonly #tail: Buffer;
  #tailBytes = 0;
  #bytes = 0;

  /** Keeps this many bytes of each end. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#head = Buffer.alloc(bytesMax);
    this.#tail = Buffer.alloc(2 * bytesMax);
  }

  push(bytes: Buffer): void {
    this.#bytes += bytes.length;
    const taken = bytes.copy(this.#head, this.#headBytes);
    this.#headBytes += taken;
    const rest = bytes.subarray(taken).subarray(-this.#bytesMax);
    if (this.#tailBytes + rest.length > this.#tail.length) {
      this.#tailBytes = this.#lastBytes().copy(this.#tail);
    }
    this.#tailBytes += rest.copy(this.#tail, this.#tailBytes);
  }

  text(): string {
    const [head, tail] = [this.#head.subarray(0, this.#headBytes), this.#lastBytes()];
    const left = this.#bytes - head.length - tail.length;
    // Joined first where nothing is missing, because a letter may be cut in two.
    return left === 0
      ? Buffer.concat([head, tail]).toString()
      : `${head}\n[… ${left} bytes left out …]\n${tail}`;
  }

  #lastBytes(): Buffer {
    return this.#tail.subarray(Math.max(0, this.#tailBytes - this.#bytesMax), this.#tailBytes);
  }
}
