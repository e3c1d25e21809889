import {
  type CompactionConfig,
  type CompactionContext,
  DEFAULT_COMPACTION_CONFIG,
  type EngineCompactor,
  isCrowded,
  type RebuildConstraints,
  type RebuildResult,
} from "../core/compactor.ts";
import { SessionError } from "../core/errors.ts";
import { isSummary, type Message } from "../core/message.ts";
import { anything, recordOf, requireOptions, shown } from "../core/options.ts";
import { startsTurn } from "../core/turn.ts";
import { applyPlan } from "./apply-plan.ts";
import { planRebuild } from "./plan-rebuild.ts";
import { COMPACTION_PROMPT } from "./summary-request.ts";

/** The specification's compactor: it has old turns summarised and keeps recent ones. */
export class DefaultCompactor implements EngineCompactor {
  readonly config: CompactionConfig;
  readonly #keepsMoreTurns: boolean;

  /** @throws SessionError `INVALID_PARAMS` */
  constructor(config: Partial<CompactionConfig> = {}) {
    requireOptions("DefaultCompactor", recordOf(anything), config);
    const given = Object.entries(config).filter(([, value]) => value !== undefined);
    this.config = Object.freeze({ ...DEFAULT_COMPACTION_CONFIG, ...Object.fromEntries(given) });
    requireSettings(this.config);
    // A number that was given means that number.
    this.#keepsMoreTurns = config.recentTurnBudget === undefined;
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
    constraints?: RebuildConstraints,
  ): RebuildResult {
    if (constraints) {
      const limits = { ...constraints, keepsMoreTurns: this.#keepsMoreTurns };
      return applyPlan(messages, planRebuild(messages, this.config, limits), summary);
    }
    const discardedAt = discardedAsSpecified(messages, this.config.recentTurnBudget);
    return applyPlan(messages, { discardedAt, shortened: [], summaryBytesMax: Infinity }, summary);
  }
}

const LEAST: Required<CompactionConfig> = {
  autoCompactThreshold: 1,
  recentTurnBudget: 0,
  maxSummaryTokens: 1,
  minTurnsBetweenCompactions: 0,
  windowSize: 1,
};

function requireSettings(config: CompactionConfig): void {
  for (const [key, value] of Object.entries(config)) {
    const least = LEAST[key as keyof CompactionConfig];
    if (least === undefined) {
      throw new SessionError("INVALID_PARAMS", {
        message: `${key} is not a compaction setting.`,
        hint: `The settings are ${Object.keys(LEAST).join(", ")}.`,
      });
    }
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new SessionError("INVALID_PARAMS", {
      message: `${key} is ${shown(value)}; it has to be a whole number from ${least}.`,
    });
  }
}

/** Part of a model's window at which a history is compacted. */
const WINDOW_SHARE = 0.8;

/** The threshold when none is configured: the default, or 80 % of the window if that is less. */
export function compactionThreshold(contextWindow = Infinity): number {
  const share = Math.floor(contextWindow * WINDOW_SHARE);
  return Math.min(DEFAULT_COMPACTION_CONFIG.autoCompactThreshold, share);
}

/**
 * The specification's algorithm: which messages it discards. It keeps system messages and the last
 * `recentTurnBudget` turns, whatever their size; of 0, none. An older summary is never kept, and is no turn.
 */
function discardedAsSpecified(
  messages: readonly Message[],
  recentTurnBudget: number,
): readonly number[] {
  const starts = messages.flatMap((message, index) => (startsTurn(message) ? [index] : []));
  const from =
    recentTurnBudget === 0 ? messages.length : (starts[starts.length - recentTurnBudget] ?? 0);
  return messages.flatMap((message, index) =>
    message.role !== "system" && (isSummary(message) || index < from) ? [index] : [],
  );
}
