import type { UserMessage } from "./message.ts";

/** What a summary begins with in the rebuilt history: the specification's text. */
export const SUMMARY_PREFIX =
  "[Context compacted] A previous context produced the following summary of work so far. The current tool and session state is preserved. Use this summary to continue without duplicating work:\n\n";

/** The message that stands for what a compaction removed. */
export function summaryMessage(summary: string): UserMessage {
  return { role: "user", kind: "compaction_summary", content: SUMMARY_PREFIX + summary };
}
