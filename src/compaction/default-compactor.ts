import {
  type CompactionConfig,
  type CompactionContext,
  type CompactionResult,
  type Compactor,
  DEFAULT_COMPACTION_CONFIG,
  isCrowded,
  type RebuildConstraints,
} from "../core/compactor.ts";
import { SessionError } from "../core/errors.ts";
import { type Message, summaryMessage } from "../core/message.ts";
import { COMPACTION_PROMPT } from "./compaction-prompt.ts";
import { cutEnd, cutToSize } from "./cut-text.ts";
import { planRebuild } from "./plan-rebuild.ts";
import { withShortened } from "./prune-tool-output.ts";

/** The specification's compactor: it has old turns summarised and keeps recent ones. */
export class DefaultCompactor implements Compactor {
  readonly config: CompactionConfig;

  /** @throws SessionError `INVALID_PARAMS` */
  constructor(config: Partial<CompactionConfig> = {}) {
    const given = Object.entries(config).filter(([, value]) => value !== undefined);
    this.config = Object.freeze({ ...DEFAULT_COMPACTION_CONFIG, ...Object.fromEntries(given) });
    requireWholeNumbers(this.config);
  }

  shouldCompact(context: CompactionContext): boolean {
    const { lastInputTokens, estimatedHistoryTokens, currentTurn, contextWindow } = context;
    if (currentTurn === 0) return false;
    const hasOutgrownWindow = estimatedHistoryTokens >= (contextWindow ?? Infinity);
    const sinceLast = currentTurn - (context.lastCompactionTurn ?? -Infinity);
    if (sinceLast < this.config.minTurnsBetweenCompactions && !hasOutgrownWindow) return false;
    if (isCrowded(context.looseMessages ?? 0, this.config)) return true;
    return Math.max(lastInputTokens, estimatedHistoryTokens) >= this.config.autoCompactThreshold;
  }

  compactionPrompt(): string {
    return COMPACTION_PROMPT;
  }

  maxSummaryTokens(): number {
    return this.config.maxSummaryTokens;
  }

  rebuildHistory(
    messages: readonly Message[],
    summary: string,
    constraints: RebuildConstraints = {},
  ): CompactionResult {
    const plan = planRebuild(messages, this.config, constraints);
    const { discardedAt, shortened, summaryBytesMax } = plan;
    const leaves = new Set(discardedAt);
    const text = () => cutToSize(summaryBytesMax, (bytes) => cutEnd(summary, bytes));
    const inserted = summaryBytesMax > 0 ? [summaryMessage(text())] : [];
    return {
      messages: withShortened(messages, shortened).flatMap((message, index) => {
        if (!leaves.has(index)) return [message];
        return index === discardedAt[0] ? inserted : [];
      }),
      discarded: discardedAt.flatMap((index) => messages[index] ?? []),
      discardedAt,
      summaryBytesMax,
      shortened,
    };
  }
}

const LEAST: Required<CompactionConfig> = {
  autoCompactThreshold: 1,
  recentTurnBudget: 0,
  maxSummaryTokens: 1,
  minTurnsBetweenCompactions: 0,
  windowSize: 1,
};

function requireWholeNumbers(config: CompactionConfig): void {
  for (const [key, value] of Object.entries(config)) {
    const least = LEAST[key as keyof CompactionConfig];
    if (least === undefined || (Number.isSafeInteger(value) && value >= least)) continue;
    throw new SessionError("INVALID_PARAMS", {
      message: `config.${key} is ${value}; it has to be a whole number from ${least}.`,
    });
  }
}
