import { spawn } from "node:child_process";
import type { Pipes } from "./json-rpc-connection.ts";

/** A program that serves JSON-RPC over its standard input and output. */
export interface ServerProgram {
  /** Default: `rkat`. */
  readonly command?: string;
  /** Default: `["rpc"]`. */
  readonly args?: readonly string[];
  /** The project's folder. Default: the current one. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const KILL_MS = 5000;

/** Starts a server. Its standard error goes to this process's. */
export function spawnServer({ command = "rkat", args = ["rpc"], ...where }: ServerProgram): Pipes {
  const child = spawn(command, args, { ...where, stdio: ["pipe", "pipe", "inherit"] });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.on("error", (error) => child.stdout.destroy(error));
  return {
    input: child.stdout,
    output: child.stdin,
    async ended() {
      const timer = setTimeout(() => child.kill("SIGKILL"), KILL_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}
