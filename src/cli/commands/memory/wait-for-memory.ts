import { SessionError } from "../../../core/errors.ts";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural } from "../../render/amounts.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";

/** The time between two looks, and the looks without progress after which the wait ends. */
const LOOK_MS = 250;
const LOOKS_MAX = 40;

/**
 * Waits until memory has what the log has: what it lacks would not be found, and would stay.
 *
 * @throws SessionError `NOT_POSSIBLE` when memory does not get on
 */
export async function waitForMemory(
  { terminal, rkat }: Pick<CliContext, "terminal" | "rkat">,
  memory: Pick<OpenMemory, "memoryStats">,
): Promise<void> {
  const progress = new ProgressLine(terminal.stderr);
  let least = Number.POSITIVE_INFINITY;
  try {
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const { behind } = await memory.memoryStats({});
      if (!behind) return;
      if (behind.events < least) looks = 0;
      least = Math.min(least, behind.events);
      progress.show(`memory lacks ${plural(behind.events, "event")} of the log`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    progress.clear();
  }
  throw new SessionError("NOT_POSSIBLE", {
    message: `Nothing was forgotten. Memory is behind: it lacks the last ${plural(least, "event")} of the log, and does not get on. What they say would not be found.`,
    hint: `\`${rkat} doctor\` looks for the cause. Then run the command again.`,
  });
}
