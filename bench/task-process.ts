import type { SayProgress } from "./bench.ts";
import { type Answer, TASKS, type TaskName } from "./tasks.ts";

// Started by `inOwnProcess`: does the one task that it is sent, and ends.
process.once("message", async ({ name, input }: { name: TaskName; input: unknown }) => {
  // The parent is gone.
  process.once("disconnect", () => process.exit(1));
  const tell = (answer: Answer) => void process.send?.(answer);
  const say: SayProgress = async (text) => {
    tell({ type: "progress", text });
    await new Promise((resolve) => setImmediate(resolve));
  };
  try {
    const task = (await TASKS[name]()) as (input: unknown, say: SayProgress) => unknown;
    tell({ type: "result", result: await task(input, say) });
  } catch (error) {
    tell({ type: "failed", error: error instanceof Error ? (error.stack ?? "") : String(error) });
  }
  process.removeAllListeners("disconnect");
  process.disconnect();
});
