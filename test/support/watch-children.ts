import childProcess, { type ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { syncBuiltinESMExports } from "node:module";
import { outputHere, startTimed } from "./running-test.ts";

type Call = (...args: readonly unknown[]) => unknown;

/**
 * From here on, what a child would print where the tests print belongs to the test that started it, and the time until
 * the child shows a sign of life counts as its start.
 */
export function watchChildren(): void {
  const { spawn, fork, spawnSync, execFileSync, execSync } = childProcess;
  Object.assign(childProcess, {
    spawn: watched(spawn as Call, "pipe"),
    fork: watched(fork as Call, "inherit"),
    spawnSync: timedCall(spawnSync as Call),
    execFileSync: timedCall(execFileSync as Call),
    execSync: timedCall(execSync as Call),
  });
  // Node tells of each child here, also of those that `execFile` starts.
  subscribe("child_process", (message) => {
    timeStart((message as { readonly process: ChildProcess }).process);
  });
  // The names that modules import are the functions above, too.
  syncBuiltinESMExports();
}

function timedCall(call: Call): Call {
  return (...args) => {
    const ended = startTimed("processes");
    try {
      return call(...args);
    } finally {
      ended();
    }
  };
}

function watched(start: Call, byDefault: "pipe" | "inherit"): Call {
  return (...args) => {
    const { stdio, ...options } = optionsOf(args);
    const ports = typeof stdio === "string" ? [stdio, stdio, stdio] : [...(stdio ?? [])];
    const printed: readonly unknown[] = ["inherit", 1, 2, process.stdout, process.stderr];
    const taken = [1, 2].filter((at) => printed.includes(ports[at] ?? byDefault));
    if (options.silent || taken.length === 0) return start(...args);
    for (const at of [0, 1, 2]) ports[at] ??= byDefault;
    for (const at of taken) ports[at] = "pipe";
    if (byDefault === "inherit" && !ports.includes("ipc")) ports.push("ipc");
    const before = args.filter((arg) => typeof arg === "string" || Array.isArray(arg));
    const child = start(...before, { ...options, stdio: ports }) as ChildProcess;
    const output = outputHere();
    for (const at of taken) {
      const stream = at === 1 ? child.stdout : child.stderr;
      stream?.on("data", (chunk) => output?.add(String(chunk)));
      // A child that is let go does not keep the tests from ending by what it prints.
      if (stream && "unref" in stream) (stream as { unref(): void }).unref();
    }
    return child;
  };
}

interface StartOptions {
  readonly stdio?: string | readonly unknown[];
  readonly silent?: boolean;
}

function optionsOf(args: readonly unknown[]): StartOptions {
  const last = args.at(-1);
  return typeof last === "object" && last !== null && !Array.isArray(last) ? last : {};
}

function timeStart(child: ChildProcess): void {
  const ended = startTimed("processes");
  const emit = child.emit.bind(child) as (event: string | symbol, ...args: unknown[]) => boolean;
  // Not listeners: a listener for messages keeps a process from ending, and one for data lets data flow.
  child.emit = (event: string | symbol, ...args: unknown[]) => {
    const canSpeak = child.stdout ?? child.stderr ?? child.channel;
    if (event !== "spawn" || !canSpeak) ended();
    return emit(event, ...args);
  };
  // Its streams are made after this.
  process.nextTick(() => {
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      const push = stream.push.bind(stream);
      stream.push = (...args) => {
        ended();
        return push(...args);
      };
    }
  });
}
