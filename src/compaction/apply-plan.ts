import type { RebuildResult } from "../core/compactor.ts";
import { type Message, summaryMessage } from "../core/message.ts";
import { cutEnd, cutToSize } from "./cut-text.ts";
import type { RebuildPlan } from "./plan-rebuild.ts";
import { withShortened } from "./prune-tool-output.ts";

/**
 * The history that a plan makes of `messages`. The summary stands in the place of the first
 * discarded message, or after the leading system messages when none is discarded.
 */
export function applyPlan(
  messages: readonly Message[],
  { discardedAt, shortened, summaryBytesMax }: RebuildPlan,
  summary: string,
): RebuildResult {
  const text = () =>
    summaryBytesMax === Infinity
      ? summary
      : cutToSize(summaryBytesMax, (bytes) => cutEnd(summary, bytes));
  const inserted = summaryBytesMax > 0 ? [summaryMessage(text())] : [];
  const leaves = new Set(discardedAt);
  const spoken = messages.findIndex(({ role }) => role !== "system");
  const place = discardedAt[0] ?? (spoken < 0 ? messages.length : spoken);
  const after = withShortened(messages, shortened);
  const stays = (_: Message, index: number) => !leaves.has(index);
  return {
    messages: [
      ...after.slice(0, place),
      ...inserted,
      ...after.slice(place).filter((message, index) => stays(message, place + index)),
    ],
    discarded: discardedAt.flatMap((index) => messages[index] ?? []),
    discardedAt,
    summaryBytesMax,
    shortened,
  };
}
