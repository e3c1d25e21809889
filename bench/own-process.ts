import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { BenchWatch } from "./bench.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "./tasks.ts";

const NODE_FLAGS = ["--disable-warning=ExperimentalWarning"];

/** A file of the measured package: the build, as it is installed. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.resolve("rkat")));
}

/** The arguments for Node that start the measured `rkat` command. */
export const RKAT = [packageFile("bin/rkat.js")] as const;

/** A file of this folder, to be run as a program. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
}

/**
 * Runs a task in its own process: its memory is its own, and this process can be
 * interrupted meanwhile. When the promise settles, that process is gone.
 */
export async function inOwnProcess<Name extends TaskName>(
  name: Name,
  input: TaskInput<Name>,
  { signal, onProgress }: BenchWatch,
): Promise<TaskOutput<Name>> {
  signal.throwIfAborted();
  const child = fork(programOf("task-process"), [], {
    execArgv: NODE_FLAGS,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const kill = () => void child.kill("SIGKILL");
  signal.addEventListener("abort", kill);
  let answer: Answer | undefined;
  child.on("message", (message: Answer) => {
    if (message.type === "progress") onProgress(message.text);
    else answer = message;
  });
  try {
    const closed = once(child, "close");
    const complaint = child.stderr ? text(child.stderr) : "";
    child.send({ name, input });
    const [code] = await closed;
    signal.throwIfAborted();
    if (answer?.type === "result") return answer.result as TaskOutput<Name>;
    const why = answer?.type === "failed" ? answer.error : await complaint;
    throw new Error(`${name} failed in its process (exit code ${code}): ${why}`);
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

/** Milliseconds from starting a program to its end. */
export async function timeOfNode(
  args: readonly string[],
  signal: AbortSignal,
  env: NodeJS.ProcessEnv = process.env,
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
