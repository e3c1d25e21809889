import { DEFAULT_COMPACTION_CONFIG } from "../core/compactor.ts";

/** Part of a model's window at which a history is compacted. */
const WINDOW_SHARE = 0.8;

/** The threshold when none is configured: the default, or 80 % of the window if that is less. */
export function compactionThreshold(contextWindow = Infinity): number {
  const share = Math.floor(contextWindow * WINDOW_SHARE);
  return Math.min(DEFAULT_COMPACTION_CONFIG.autoCompactThreshold, share);
}
