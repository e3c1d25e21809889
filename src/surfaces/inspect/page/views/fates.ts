import type { Fate } from "../../../../core/operations/history.ts";

/** What a compaction did to a message, in words. */
export const FATES: Readonly<Record<Fate, string>> = {
  kept: "Kept word for word",
  shortened: "Kept, its output shortened",
  quoted: "Left; quoted in the summary",
  named: "Left; the summary has its names",
  in_memory: "Left; memory finds it",
  in_log: "Left; only the log has it",
};
