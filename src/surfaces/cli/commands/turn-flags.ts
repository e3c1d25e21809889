import { type Command, Option } from "commander";
import type { Config } from "../../../config/config.ts";
import { duration, text, wholeNumber } from "../../../config/setting-kind.ts";
import type { Budget, CompactionSettings } from "../../../core/requests.ts";
import { flagOf, given } from "./flags.ts";
import { type OnApproval, onApprovalOption } from "./on-approval.ts";

/** What every command that runs a turn can be told. */
export interface TurnFlags extends RunFlags {
  readonly output: OutputForm;
  readonly onApproval?: OnApproval;
}

export interface RunFlags extends CompactionFlags {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly maxTotalTokens?: number;
  readonly maxDuration?: number;
  readonly maxToolCalls?: number;
  readonly stream?: boolean;
  readonly verbose?: true;
}

/** When a history is compacted, and how much of it stays. */
export interface CompactionFlags {
  readonly autoCompactThreshold?: number;
  readonly compactThreshold?: number;
  readonly recentTurnBudget?: number;
  readonly maxSummaryTokens?: number;
  readonly minTurnsBetweenCompactions?: number;
  readonly windowSize?: number;
}

/** For people, a whole result for scripts, or events as they happen for programs. */
export type OutputForm = "text" | "json" | "jsonl";

const count = flagOf(wholeNumber);

export function addTurnFlags(command: Command): Command {
  return addRunFlags(command).addOption(outputOption()).addOption(onApprovalOption());
}

/** The same where a person sees what happens, and is asked. */
export function addRunFlags(command: Command): Command {
  addModelFlags(command)
    .option("--max-total-tokens <n>", "input and output tokens of this run", count)
    .option("--max-duration <time>", "how long this run may take: 90s, 1h30m", flagOf(duration))
    .option("--max-tool-calls <n>", "tool calls of this run", count);
  return addCompactionFlags(command)
    .option("-s, --stream", "print the answer as it comes (default on a terminal)")
    .option("--no-stream", "print the answer when it is whole")
    .option("-v, --verbose", "say on stderr what happens");
}

export function addModelFlags(command: Command): Command {
  return command
    .option("-m, --model <provider/model>", "who answers", flagOf(text))
    .option("--max-tokens <n>", "output tokens of one model call", count);
}

export function addCompactionFlags(command: Command): Command {
  return command
    .option("--auto-compact-threshold <n>", "tokens at which the history is compacted", count)
    .addOption(alias("--compact-threshold <n>"))
    .option("--recent-turn-budget <n>", "recent turns that a compaction keeps", count)
    .option("--max-summary-tokens <n>", "tokens that a summary may take", count)
    .option("--min-turns-between-compactions <n>", "model calls between two compactions", count)
    .option("--window-size <n>", "messages that are kept when twice as many are there", count);
}

export function outputOption(): Option {
  const forms = ["text", "json", "jsonl"] satisfies OutputForm[];
  return new Option("--output <form>", "what is printed").choices(forms).default("text");
}

/** The compaction that the flags ask for; undefined when they ask for none. */
export function compactionOf(flags: CompactionFlags): CompactionSettings | undefined {
  const compaction = given({
    autoCompactThreshold: flags.autoCompactThreshold ?? flags.compactThreshold,
    recentTurnBudget: flags.recentTurnBudget,
    maxSummaryTokens: flags.maxSummaryTokens,
    minTurnsBetweenCompactions: flags.minTurnsBetweenCompactions,
    windowSize: flags.windowSize,
  });
  return Object.keys(compaction).length > 0 ? compaction : undefined;
}

/** The limits of a run: the flags', else the settings'. */
export function budgetOf(flags: RunFlags, config: Config): Budget {
  return given({
    maxTotalTokens: flags.maxTotalTokens ?? config.get("budget.max_total_tokens"),
    maxDurationMs: flags.maxDuration ?? config.get("budget.max_duration"),
    maxToolCalls: flags.maxToolCalls ?? config.get("budget.max_tool_calls"),
  });
}

function alias(flags: string): Option {
  return new Option(flags, "same as --auto-compact-threshold").argParser(count).hideHelp();
}
