import { compactHistory } from "../compaction/compact-history.ts";
import { mentions, rankAnchors, textsOf } from "../compaction/keep-anchors.ts";
import {
  type AnchorReport,
  type CompactionCompleted,
  type CompactionFailure,
  type DurableEvent,
  type EventEnvelope,
  isTransient,
  type Span,
} from "../core/event.ts";
import { indexableText, isSummary, type Message } from "../core/message.ts";
import { SessionState } from "../core/session-state.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { RecordedMessage } from "../transcripts/imported.ts";

/** A compaction with the messages that it affected. */
export interface WitnessedCompaction extends ReplayedCompaction {
  readonly summary: string | null;
  /** The messages that left the history, and those that stayed, in order. */
  readonly left: readonly Message[];
  readonly stayed: readonly Message[];
}

/** Follows a session's events and counts the effects of compactions. */
export class ReplayedSession {
  readonly state: SessionState;
  readonly #compactions: ReplayedCompaction[] = [];
  readonly #failures: ReplayedFailure[] = [];
  #discardedWithText = 0;
  /** Estimated tokens that compaction and pruning removed from the history. */
  #tokensSaved = 0;

  constructor(sessionId: string) {
    this.state = new SessionState(sessionId);
  }

  /** Takes the next event. Returns the compaction when the event completes one. */
  take({ event_id, seq, timestamp_ms, payload }: EventEnvelope): WitnessedCompaction | undefined {
    if (isTransient(payload)) return undefined;
    const seen = this.#note(payload);
    this.state.apply({ event_id, seq, timestamp_ms, schema_version: 1, event: payload });
    return seen;
  }

  #note(event: DurableEvent): WitnessedCompaction | undefined {
    switch (event.type) {
      case "compaction_failed":
        this.#failures.push({ turn: this.#turn, reason: event.reason, error: event.error });
        return undefined;
      case "tool_output_pruned":
        this.#tokensSaved += event.tokens_before - event.tokens_after;
        return undefined;
      case "compaction_completed":
        return this.#compacted(event);
      default:
        return undefined;
    }
  }

  #compacted(event: CompactionCompleted): WitnessedCompaction {
    const { tokens_before, tokens_after, messages_before, messages_after, summarised_by } = event;
    const said = this.state.history.filter((entry) => !isSummary(entry.message));
    const leaves = ({ id }: { readonly id: number }) => event.discarded.some(holds(id));
    const left = said.filter(leaves).map((entry) => entry.message);
    const compaction: ReplayedCompaction = {
      call: this.state.modelCalls,
      turn: this.#turn,
      tokens_before,
      tokens_after,
      messages_before,
      messages_after,
      discarded: event.discarded_messages,
      pruned: event.pruned.length,
      summarised_by,
      anchors: event.report?.anchors ?? null,
    };
    this.#compactions.push(compaction);
    this.#discardedWithText += left.filter(
      (message) => indexableText(message).trim() !== "",
    ).length;
    this.#tokensSaved += tokens_before - tokens_after;
    const stayed = said.filter((entry) => !leaves(entry)).map((entry) => entry.message);
    return { ...compaction, summary: event.summary, left, stayed };
  }

  /** The session's part of the report. */
  report() {
    const { state } = this;
    const compactions = this.#compactions;
    return {
      session_id: state.id,
      turns: state.turns,
      messages: state.messageCount,
      discarded_messages: compactions.reduce((sum, { discarded }) => sum + discarded, 0),
      discarded_with_text: this.#discardedWithText,
      tokens_before: state.historyTokens + this.#tokensSaved,
      tokens_after: state.historyTokens,
      compactions,
      failures: this.#failures,
    };
  }

  get #turn(): number {
    return this.state.turns - 1;
  }
}

function holds(id: number): (span: Span) => boolean {
  return ({ from, to }) => from <= id && id <= to;
}

/** The result of a replay, as `rkat replay --json` prints it. */
export interface ReplayReport {
  readonly file: string;
  readonly session_id: string;
  /** Replayed turns. */
  readonly turns: number;
  /** All messages, those that left the history included. */
  readonly messages: number;
  /** Messages that compactions removed from the history. */
  readonly discarded_messages: number;
  /** The discarded messages with text, which memory can find. */
  readonly discarded_with_text: number;
  /** Estimated tokens of all messages, and of the remaining history. */
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly compactions: readonly ReplayedCompaction[];
  /** Failed compactions. They left the history as it was. */
  readonly failures: readonly ReplayedFailure[];
  /** Memory entries of this session. */
  readonly indexed_messages: number;
  readonly duration_ms: number;
  /** True when it was stopped before the end of the recording. */
  readonly interrupted: boolean;
  /** Compactions that the transcript recorded, beside rkat's of the same messages. */
  readonly recorded?: readonly RecordedCompaction[];
  /** The result of compacting now, for a transcript without any compaction. */
  readonly compacted_now?: CompactedNow;
}

export interface ReplayedCompaction {
  /** Model calls of the session before it. */
  readonly call: number;
  /** The turn in which it happened, from 0. */
  readonly turn: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly messages_before: number;
  readonly messages_after: number;
  readonly discarded: number;
  /** Tool results that were shortened. */
  readonly pruned: number;
  readonly summarised_by: CompactionCompleted["summarised_by"];
  /** The places where the names of the discarded messages are now; `null` without a summary. */
  readonly anchors: AnchorReport | null;
}

interface ReplayedFailure {
  readonly turn: number;
  readonly reason: CompactionFailure;
  readonly error: string;
}

/** A compaction that a transcript recorded, beside rkat's of the same messages. */
export interface RecordedCompaction {
  readonly messages_before: number;
  readonly tokens_before: number;
  /** Paths, names and numbers in these messages. */
  readonly names: number;
  /** The summary that the transcript has. */
  readonly theirs: Kept;
  /** The history after rkat's compaction, whose summary may take as many tokens. */
  readonly ours: Kept;
}

/** The whole of a session, compacted. */
interface CompactedNow extends Kept {
  readonly tokens_before: number;
  readonly names: number;
}

interface Kept {
  readonly tokens_after: number;
  readonly names_kept: number;
}

/** Names that are looked for. The weightiest come first. */
const NAMES_MAX = 2000;
const SUMMARY_TOKENS_MIN = 256;

/**
 * Compares each compaction of a transcript with rkat's, without a model, by the same measure: how many
 * of the names in the compacted messages are in what takes their place. A message that the other
 * program kept beside its summary is not known, so it does not count for it.
 */
export async function recordedCompactions(
  messages: readonly RecordedMessage[],
): Promise<readonly RecordedCompaction[]> {
  const found: RecordedCompaction[] = [];
  let window: Message[] = [];
  for (const { message, boundary } of messages) {
    if (boundary === "compaction" && window.some(({ role }) => role !== "system")) {
      found.push(await compared(window, message));
    }
    if (boundary) window = [];
    window.push(message);
  }
  return found;
}

/** The anchors that rkat's compaction of a whole session keeps, without a model. */
export async function compactedNow(messages: readonly RecordedMessage[]): Promise<CompactedNow> {
  const before = messages.map(({ message }) => message);
  const names = rankAnchors(before).slice(0, NAMES_MAX);
  const tokens_before = estimateTokens(before);
  const after = await compacted(before, tokens_before / 5);
  return { tokens_before, names: names.length, ...keptOf(names, after) };
}

async function compared(before: readonly Message[], summary: Message): Promise<RecordedCompaction> {
  const names = rankAnchors(before).slice(0, NAMES_MAX);
  const theirs = keptOf(names, [summary]);
  return {
    messages_before: before.length,
    tokens_before: estimateTokens(before),
    names: names.length,
    theirs,
    ours: keptOf(names, await compacted(before, theirs.tokens_after)),
  };
}

async function compacted(
  messages: readonly Message[],
  summaryTokens: number,
): Promise<readonly Message[]> {
  const result = await compactHistory({
    messages,
    force: true,
    recentTurnBudget: 1,
    maxSummaryTokens: Math.max(SUMMARY_TOKENS_MIN, Math.floor(summaryTokens)),
  });
  return result.messages;
}

function keptOf(names: ReturnType<typeof rankAnchors>, after: readonly Message[]): Kept {
  const text = after
    .flatMap(textsOf)
    .map((each) => each.text)
    .join("\n");
  return {
    tokens_after: estimateTokens(after),
    names_kept: names.filter((name) => mentions(text, name.text)).length,
  };
}
