import * as node from "node:child_process";
import { promisify } from "node:util";
import { systemEnvironment } from "./system-environment.ts";

export type { ChildProcess, ChildProcessByStdio } from "node:child_process";

// Node's own functions, with another environment: `env` is added to what the system needs, instead of
// replacing what this process has. A variable that is `undefined` there is left out.

export const spawn = inSystemEnvironment(node.spawn);
export const spawnSync = inSystemEnvironment(node.spawnSync);
export const execFileSync = inSystemEnvironment(node.execFileSync);
export const fork = inSystemEnvironment(node.fork);
export const execFile = Object.assign(inSystemEnvironment(node.execFile), {
  // It promises both outputs, and has the process.
  [promisify.custom]: inSystemEnvironment(promisify(node.execFile)),
});

// biome-ignore lint/suspicious/noExplicitAny: each of Node's functions has many signatures, and keeps them
function inSystemEnvironment<Start extends (file: string, ...rest: any[]) => unknown>(
  start: Start,
): Start {
  const started = (file: string, ...rest: unknown[]) => {
    const args = Array.isArray(rest[0]) ? rest.shift() : [];
    const isGiven = typeof rest[0] === "object" && rest[0] !== null;
    const options = (isGiven ? rest.shift() : {}) as node.SpawnOptions;
    return start(file, args, { ...options, env: environmentOf(options) }, ...rest);
  };
  return started as Start;
}

function environmentOf({ env }: node.SpawnOptions): NodeJS.ProcessEnv {
  return { ...systemEnvironment(), ...env };
}
