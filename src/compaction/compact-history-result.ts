import type { ProviderItem, Shortened } from "../core/compactor.ts";
import type {
  AnchorReport,
  CompactionFailure,
  CompactionPlan,
  WordsReport,
} from "../core/event.ts";
import { isSummary, type Message } from "../core/message.ts";
import type { KeptOutput } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";

/** The outcome of a compaction, and its reason. */
export type CompactHistoryResult = CompactedHistory | PrunedHistory | UnchangedHistory;

interface HistoryResult {
  readonly messages: Message[];
  readonly discarded: readonly DiscardedMessage[];
  /** Positions in the source of the messages that stayed, ascending. `messages` has these and the summary. */
  readonly retained: readonly number[];
  /** Tool results that stayed with less of their text. */
  readonly pruned: readonly PrunedToolOutput[];
  /** The text of the summary message after its prefix; `null` when there is no new summary. */
  readonly summary: string | null;
  readonly summarizedBy: "model" | "fallback" | "none";
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export interface CompactedHistory extends HistoryResult {
  readonly outcome: "compacted";
  /** The places where the paths, names and numbers of the discarded messages are now. Undefined when they were not looked for. */
  readonly anchors?: AnchorReport;
  /** The share of people's words that the summary has. Undefined when no person said anything that left. */
  readonly words?: WordsReport;
  /** The summary's score, from 0 to 1. Missing when no summary was written. */
  readonly score?: number;
  /** Why answers of the model were not taken, each in a word; left out where no model was asked. */
  readonly rejected?: readonly string[];
  /** Why the fallback summariser stood in for the model, if it did. */
  readonly failure?: SummaryFailure;
  /** The history no longer fitted the window, so that a failed summary could not keep it as it was. */
  readonly lastStep?: true;
  /** The text that `summarize` gave in the place of a summary. Send it beside the summary, to its reader only. */
  readonly item?: ProviderItem;
  /** Why it was a summary. Missing where cost decided nothing. */
  readonly plan?: CompactionPlan;
}

export interface PrunedHistory extends HistoryResult {
  readonly outcome: "pruned";
  /** Why it was no summary. Missing where cost decided nothing. */
  readonly plan?: CompactionPlan;
}

export interface UnchangedHistory extends HistoryResult {
  readonly outcome: "unchanged";
  readonly reason: UnchangedReason;
  readonly detail: string;
}

export type UnchangedReason =
  | "below_threshold"
  | "nothing_to_discard"
  | Exclude<CompactionFailure, "interrupted">;

export interface DiscardedMessage {
  readonly message: Message;
  /** Its position in the source. */
  readonly index: number;
  readonly why:
    | "before_first_turn"
    | "older_turn"
    | "earlier_in_last_turn"
    | "previous_summary"
    | "superseded";
}

export interface PrunedToolOutput extends KeptOutput {
  /** Position of the tool-results message in the source. */
  readonly index: number;
}

export interface SummaryFailure {
  readonly reason: "summary_failed" | "empty_summary" | "summary_timeout" | "worthless_summary";
  readonly detail: string;
}

/** A result that has changed nothing yet; the outcomes say what they have. */
export function unchangedResult(messages: readonly Message[], tokensBefore: number): HistoryResult {
  return {
    messages: [...messages],
    discarded: [],
    retained: messages.map((_, index) => index),
    pruned: [],
    summary: null,
    summarizedBy: "none",
    tokensBefore,
    tokensAfter: tokensBefore,
  };
}

/** The messages of the source that left, each with the reason. */
export function discardedMessages(
  source: readonly Message[],
  discardedAt: readonly number[],
): DiscardedMessage[] {
  const firstTurn = source.findIndex(startsTurn);
  const lastTurn = source.findLastIndex(startsTurn);
  return discardedAt.map((index) => {
    const message = source[index] as Message;
    if (isSummary(message)) return { message, index, why: "previous_summary" };
    if (message.role === "system") return { message, index, why: "superseded" };
    if (firstTurn < 0 || index < firstTurn) return { message, index, why: "before_first_turn" };
    return { message, index, why: index > lastTurn ? "earlier_in_last_turn" : "older_turn" };
  });
}

export function prunedOutputs(shortened: readonly Shortened[]): PrunedToolOutput[] {
  return shortened.flatMap(({ index, outputs }) => outputs.map((output) => ({ index, ...output })));
}
