import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fork } from "../test/support/start-process.ts";
import type { BenchWatch } from "./bench.ts";
import { NODE_FLAGS, programOf } from "./programs.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "./tasks.ts";

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
  const child = fork(programOf("task-process.ts"), [], {
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
