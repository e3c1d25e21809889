import { textSize } from "../compaction/cut-text.ts";
import { anchorBytes, keepAnchors } from "../compaction/keep-anchors.ts";
import {
  WORK_PARTS,
  type Words,
  withoutWords,
  wordsIn,
  wordsSection,
} from "../compaction/kept-words.ts";
import { scoreSummary } from "../compaction/score-summary.ts";
import { smartFallbackSummary } from "../compaction/smart-fallback-summary.ts";
import {
  type BroughtMessage,
  type Cleaned,
  type CompactionCompleted,
  type DurableEvent,
  type HostItemsChanged,
  isRequest,
  type StateBefore,
  type StoredEvent,
  sumCleaned,
} from "../core/event.ts";
import type { EventStore, Redaction } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { newId } from "../core/ids.ts";
import { jsonText } from "../core/json-values.ts";
import {
  FORGOTTEN,
  indexableText,
  isForgotten,
  isSummary,
  type Message,
  messageTexts,
  toolResults,
} from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import type { HeldLease, SessionStore } from "../core/session-store.ts";
import { withoutRules } from "../knowledge/knowledge-addendum.ts";
import {
  forgottenEvent,
  textsOf,
  titleOf,
  untitled,
  withoutCopies,
  withoutSummaries,
} from "./forget-event.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";
import { withSummaryOfOrigin } from "./forks.ts";
import { cleanedPlaces, NOT_CLEANED } from "./receipt.ts";
import type { Source } from "./sources.ts";

/** The texts to remove from the logs. */
export interface TextsToForget {
  readonly phrases: ForgottenPhrases;
  /** Ids of rules that may stand in the system prompts of sessions. */
  readonly rules: ReadonlySet<string>;
}

interface RedactedStores {
  readonly events: EventStore;
  readonly sessions: Pick<SessionStore, "save">;
  readonly forgotten: ForgottenTexts | undefined;
  /** The lease under which the session's log is changed. */
  readonly held: HeldLease | undefined;
}

/** Removes texts from one session's log, and updates its state. Returns where they were. */
export async function redactLog(
  state: SessionState,
  source: Source,
  what: TextsToForget,
  { events, sessions, forgotten, held }: RedactedStores,
  /** Other deletions of the session, for the receipt. */
  deleted: readonly Cleaned[] = [],
): Promise<readonly Cleaned[]> {
  const redactions: Redaction[] = [];
  /** Events that only repeat what others say. */
  const repeating = new Set<number>();
  /** Removed texts of people, models and tools, as a transcript may have them. */
  const gone: string[] = [];
  const redacted = new RedactedLog(state.id, (after, to) => events.read(state.id, after, to));
  const redact = logRedactor(source, what);
  for await (const stored of events.read(state.id, 0)) {
    const rest = redact(stored);
    const now = rest.type === "history_inherited" ? await withSummaryOfOrigin(rest, events) : rest;
    const event = await redacted.push(stored, now);
    if (event === stored.event) continue;
    redactions.push({ seq: stored.seq, event });
    if (saysTheSame(event, stored.event)) repeating.add(stored.seq);
    gone.push(...importableTexts(stored.event));
  }
  if (redactions.length === 0) return [];
  // Before the log: after a kill in between, forgetting it again does the rest.
  await forgotten?.add(state.id, gone);
  const cleaned = cleanedPlaces(redactions, redacted.history, repeating);
  // The snapshot first: it repeats parts of the log, and a kill in between must not leave them there.
  await sessions.save(redacted.snapshot, held);
  const { messages, shortened } = source;
  await events.redact(state.id, state.seq, redactions, {
    event_id: newId(),
    timestamp_ms: Date.now(),
    event: {
      type: "text_forgotten",
      messages,
      ...(shortened.length > 0 ? { shortened } : {}),
      events: redactions.map(({ seq }) => seq),
      cleaned: sumCleaned([...cleaned, ...deleted]),
      not_cleaned: NOT_CLEANED.map(({ place }) => place),
    },
  });
  await state.catchUp((after, to) => events.read(state.id, after, to));
  return cleaned;
}

/**
 * Returns a function that takes the events of one session in order, and returns each without what
 * goes. An event that loses nothing comes back as the same object.
 */
export function logRedactor(
  source: Source,
  { phrases, rules }: TextsToForget,
): (stored: StoredEvent) => DurableEvent {
  /** The rules in the session's system prompt, in order. */
  let applied: readonly string[] = [];
  return ({ seq, event }) => {
    if (event.type === "knowledge_applied") applied = event.rules;
    const extent = source.events.get(seq);
    const rest = extent ? forgottenEvent(event, extent, phrases) : event;
    const told = withoutBrought(withoutToldRules(rest, applied, rules), source);
    const without = withoutCopies(told, phrases);
    const isTitling = without.type === "session_created" || without.type === "session_titled";
    return isTitling && isBeginning(titleOf(without), source) ? untitled(without) : without;
  };
}

/** Whether two forms of an event differ in nothing but what the model saw before it. */
function saysTheSame(one: DurableEvent, other: DurableEvent): boolean {
  return jsonText({ ...one, before: null }) === jsonText({ ...other, before: null });
}

/** The texts by which an import knows a message again. */
function importableTexts(event: DurableEvent): readonly string[] {
  return event.type === "message_added" ? messageTexts(event.message) : textsOf(event);
}

/** Removes what was brought back of a forgotten message, images and all. */
function withoutBrought(event: DurableEvent, { messages: gone }: Source): DurableEvent {
  if (event.type !== "messages_brought_back") return event;
  const isGone = ({ message }: BroughtMessage) => gone.includes(message);
  if (!event.messages.some(isGone)) return event;
  const messages = event.messages.map((each) => {
    if (!isGone(each)) return each;
    const { images: _, ...rest } = each;
    return { ...rest, text: FORGOTTEN };
  });
  return { ...event, messages };
}

/** Whether the title of a session is the beginning of a forgotten text. */
function isBeginning(title: string | undefined, { texts }: Source): boolean {
  const start = title?.replace(/(?:…|\.{3})$/u, "").trim();
  return start !== undefined && texts.some((text) => text.trim().startsWith(start));
}

function withoutToldRules(
  event: DurableEvent,
  applied: readonly string[],
  gone: ReadonlySet<string>,
): DurableEvent {
  if (event.type !== "message_added" || event.message.role !== "system") return event;
  const { content } = event.message;
  const rest = withoutRules(content, applied, gone);
  return rest === content ? event : { ...event, message: { role: "system", content: rest } };
}

/**
 * Folds a log without the forgotten texts. A summary of something that lost text is written again. Keeps the
 * last snapshot that may be taken: one without open calls.
 */
class RedactedLog {
  readonly #state: SessionState;
  readonly #read: ReadLog;
  /** The events that lost text, as the log will have them. */
  readonly #changed = new Map<number, DurableEvent>();
  /** Items of a host lost text. Summaries after them may tell it in other words. */
  #hostItemsChanged = false;
  #before: SessionSnapshot;

  constructor(sessionId: string, read: ReadLog) {
    this.#state = new SessionState(sessionId);
    this.#read = read;
    this.#before = this.#state.snapshot();
  }

  /** Takes an event and its remaining text. Returns the event for the log. */
  async push(stored: StoredEvent, rest: DurableEvent): Promise<DurableEvent> {
    const event = this.#rewritten(stored, rest);
    if (event !== stored.event) this.#changed.set(stored.seq, event);
    const begins = event.type === "turn_started" && this.#state.openCalls.length === 0;
    if (begins) this.#before = this.#state.snapshot();
    await this.#state.follow({ ...stored, event }, (after, to) => this.#readChanged(after, to));
    return event;
  }

  /** The log as it will be, as far as it was pushed. */
  async *#readChanged(after: number, to?: number): AsyncGenerator<StoredEvent> {
    for await (const stored of this.#read(after, to)) {
      yield { ...stored, event: this.#changed.get(stored.seq) ?? stored.event };
    }
  }

  #rewritten({ event }: StoredEvent, rest: DurableEvent): DurableEvent {
    if (rest.type === "host_items_changed") return this.#rewrittenItems(event, rest);
    if (event.type === "tool_output_pruned") return this.#withBefore(event);
    if (event.type !== "compaction_completed") return rest;
    const parts = compactedParts(this.#state.history, event);
    const isTold = rest.type === "compaction_completed" && rest.summary !== event.summary;
    if (!isTold && !parts.discarded.some((entry) => this.#hasChanged(entry))) {
      return this.#withBefore(event);
    }
    const rewritten = this.#withBefore(withRewrittenSummary(event, parts));
    return jsonText(rewritten) === jsonText(event) ? event : rewritten;
  }

  /** The state before a change repeats parts of the log, so it is made again without what goes. */
  #withBefore<Event extends { readonly before?: StateBefore }>(event: Event): Event {
    if (!event.before) return event;
    const { before: was, ...rest } = event;
    const { before } = this.#state;
    const isSame = before !== undefined && jsonText(before) === jsonText(was);
    return isSame ? event : ({ ...rest, ...given({ before }) } as Event);
  }

  #rewrittenItems(event: DurableEvent, rest: HostItemsChanged): DurableEvent {
    if (rest !== event) this.#hostItemsChanged = true;
    if (!this.#hostItemsChanged) return rest;
    const rewritten = withoutSummaries(rest);
    return jsonText(rewritten) === jsonText(event) ? event : rewritten;
  }

  #hasChanged({ from, id }: HistoryEntry): boolean {
    for (let seq = from; seq <= id; seq += 1) if (this.#changed.has(seq)) return true;
    return false;
  }

  get history(): readonly HistoryEntry[] {
    return this.#state.history;
  }

  get snapshot(): SessionSnapshot {
    return this.#state.openCalls.length === 0 ? this.#state.snapshot() : this.#before;
  }
}

/** A rewritten summary may take this much, even where the old one was shorter. */
const BYTES_MIN = 1_000;

/** The history of a compaction, in two parts. */
interface CompactedParts {
  readonly discarded: readonly HistoryEntry[];
  readonly retained: readonly HistoryEntry[];
}

/** The messages that a compaction of `history` discarded, including the previous summary. */
function compactedParts(
  history: readonly HistoryEntry[],
  { discarded: spans }: CompactionCompleted,
): CompactedParts {
  const leaves = ({ id, message }: HistoryEntry) =>
    isSummary(message) || spans.some(({ from, to }) => from <= id && id <= to);
  return {
    discarded: history.filter(leaves),
    retained: history.filter((entry) => !leaves(entry)),
  };
}

/**
 * The compaction with a summary that is written again, without a model, from messages that no longer
 * have the forgotten text. A model may have told it in its own words, which no search finds.
 */
function withRewrittenSummary(
  event: CompactionCompleted,
  parts: CompactedParts,
): CompactionCompleted {
  if (event.summary === null) return event;
  const entries = parts.discarded.filter(({ message }) => hasText(message));
  const discarded = entries.map(({ message }) => withoutWords(message));
  const source = { discarded, retained: parts.retained.map(({ message }) => message) };
  const saved = event.tokens_before - event.tokens_after;
  const before = textSize(event.summary);
  const bytesMax = Math.max(before, Math.min(BYTES_MIN, before + 2 * saved));
  const said = event.report?.words
    ? wordsSection(wordsOf(entries), bytesMax * WORDS_PART, undefined, WORK_PARTS)
    : NONE;
  const room = bytesMax - textSize(said.text);
  const anchors = event.report?.anchors;
  const reserved = anchors ? anchorBytes(source, room) : 0;
  const written = smartFallbackSummary(discarded, Math.max(0, room - reserved));
  const kept = anchors ? keepAnchors(written, source, room) : undefined;
  const summary = discarded.length === 0 ? FORGOTTEN : (kept?.text ?? written) + said.text;
  const { score } = scoreSummary(summary, source, "");
  const { report } = event;
  return {
    ...event,
    summary,
    summarised_by: "fallback",
    summary_score: score,
    tokens_after: Math.max(1, event.tokens_after + Math.ceil((textSize(summary) - before) / 4)),
    ...(report
      ? {
          report: {
            ...report,
            ...(kept ? { anchors: kept.report } : {}),
            ...(said.report ? { words: said.report } : {}),
            ...(report.summary ? { summary: { ...report.summary, score } } : {}),
          },
        }
      : {}),
  };
}

/** The part of a rewritten summary that people's words may take. */
const WORDS_PART = 2 / 3;

const NONE = { text: "", report: undefined };

function wordsOf(entries: readonly HistoryEntry[]): Words {
  const injected = entries.flatMap(({ message, origin }) => (isRequest(origin) ? [] : [message]));
  const named = entries.flatMap(({ message, origin }) =>
    origin?.speaker ? [[message, origin.speaker] as const] : [],
  );
  return wordsIn(
    entries.map(({ message }) => message),
    new Set(injected),
    new Map(named),
  );
}

/** Whether a message has more than the marker. */
function hasText(message: Message): boolean {
  const texts = [indexableText(message), ...toolResults(message).map(({ content }) => content)];
  const said = texts.filter((text) => text.trim() !== "");
  return said.length === 0 || !said.every(isForgotten);
}
