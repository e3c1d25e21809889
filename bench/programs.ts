import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { spawn } from "../test/support/start-process.ts";

/** A file of the measured package: the build, as it is installed. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.resolve("rkat")));
}

/** The arguments for Node that start the measured `rkat` command. */
export const RKAT = [packageFile("bin/rkat.js")] as const;

/** The flags of Node for programs that import the measured package: tests say which package that is. */
export const NODE_FLAGS = [...process.execArgv, "--disable-warning=ExperimentalWarning"];

/** A file of this folder, to be run as a program. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`./${name}`, import.meta.url));
}

/** Milliseconds from starting a program to its end. */
export async function timeOfNode(
  args: readonly string[],
  signal: AbortSignal,
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, args, {
    env,
    stdio: ["ignore", "ignore", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });
  const complaint = text(child.stderr);
  const [code] = await once(child, "close");
  const elapsedMs = performance.now() - start;
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}: ${await complaint}`);
  return elapsedMs;
}
