import {
  type CompactionCompleted,
  type DurableEvent,
  type EventEnvelope,
  isTransient,
  type Span,
} from "../core/event.ts";
import { indexableText, isSummary, type Message } from "../core/message.ts";
import { SessionState } from "../core/session-state.ts";
import type { ReplayedCompaction, ReplayedFailure } from "./replay-report.ts";

/** A compaction with the messages that it affected. */
export interface WitnessedCompaction extends ReplayedCompaction {
  readonly summary: string | null;
  /** The messages that left the history, and those that stayed, in order. */
  readonly left: readonly Message[];
  readonly stayed: readonly Message[];
}

/** Follows a session's events and counts what compactions did to it. */
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
