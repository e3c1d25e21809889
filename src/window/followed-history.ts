import { requireHistory } from "../compaction/compact-history.ts";
import type { CompactHistoryResult } from "../compaction/compact-history-result.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { withinNesting } from "../core/json-values.ts";
import {
  contentText,
  indexableText,
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  toolResults,
} from "../core/message.ts";
import { messageWeight, withShortenedOutput } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { chained, keyOf } from "./message-keys.ts";
import type { MessageView, ViewedMessage } from "./message-view.ts";
import { addToUnits, messageOf, type Unit, type WeighedView } from "./units.ts";
import {
  type Cut,
  isSummarySlot,
  type KeptOutput,
  type Known,
  type MarkOf,
  offeredAt,
  type RecordedMessage,
  recognise,
  type Slot,
  type SummarySlot,
} from "./window-record.ts";

/** Older compactions are forgotten. A history that goes back further is compacted again. */
const CUTS_MAX = 64;

/** Messages in a part of a long history that one call compares. */
const COMPARED = 128;

/** The result of a compaction that changed the history. */
type Changed = Exclude<CompactHistoryResult, { outcome: "unchanged" }>;

/** A compaction that is not yet in force. */
export interface NewCut<HostMessage> {
  readonly cut: Cut;
  /** Messages that it is the first to have, whole. */
  readonly messages: readonly RecordedMessage[];
  readonly sent: readonly Sent<HostMessage>[];
}

/** The last user message of a history. */
export interface SentPrompt {
  /** It is the same in every process. */
  readonly key: string;
  readonly text: string;
  /** The text of the user message before it. */
  readonly before: string | undefined;
  /** Nothing came after it. */
  readonly isLast: boolean;
}

interface Sent<HostMessage> {
  readonly message: HostMessage;
  readonly slot: Slot;
  readonly offeredAt: number;
}

/**
 * A host's history from call to call, and the part of it that is sent. A history that has grown costs what was
 * added to it.
 */
export class FollowedHistory<HostMessage extends object> {
  readonly #view: MessageView<HostMessage>;
  readonly #model: string | undefined;
  readonly #views = new WeakMap<HostMessage, WeighedView>();
  readonly #keys = new WeakMap<HostMessage, string>();
  readonly #shortened = new WeakMap<HostMessage, Map<string, HostMessage>>();
  readonly #summaries = new WeakMap<Slot, HostMessage>();
  /** The texts of the newest summaries. A user message that only begins as they do is the user's. */
  readonly #summaryTexts = new Set<string>();
  /** Those of them that the offered history has. A second message with one of these texts is the user's. */
  #foundTexts = new Set<string>();
  #cuts: Cut[] = [];
  /** Messages after their forgotten texts were removed, by the keys of their units. */
  #forgotten: Known["forgotten"] = new Map();

  /** The history as the host offered it last. */
  #offered: HostMessage[] = [];
  /** The position where the next call continues to compare a long history. */
  #compared = 0;
  /** Whether the sent history equals the offered one, message by message. */
  #isAsOffered = true;
  /** The last compaction of this history. */
  #cut: Cut | undefined;
  /** Messages of the whole history. */
  #length = 0;
  #sent: HostMessage[] = [];
  /** For each sent message, where it comes from, and its position in the offered history; -1 when it has none. */
  #slots: Slot[] = [];
  #offeredAt: number[] = [];
  #units: Unit[] = [];
  #weight = 1;
  #systemWeight = 0;

  constructor(view: MessageView<HostMessage>, model: string | undefined) {
    this.#view = view;
    this.#model = model;
  }

  get sent(): readonly HostMessage[] {
    return this.#sent;
  }

  get units(): readonly Unit[] {
    return this.#units;
  }

  /**
   * The units as a summariser may see them: without forgotten texts, although the host still offers them. With
   * the tokens of each that are not seen.
   */
  get visible(): readonly { readonly message: Message; readonly opaqueTokens: number }[] {
    return this.#units.map((unit) => {
      const { opaqueTokens } = unit;
      // Keys take time. Most histories have nothing forgotten.
      const rest = this.#forgotten.size > 0 && this.#forgotten.get(this.#keyOfUnit(unit));
      if (!rest) return { message: messageOf(unit), opaqueTokens };
      const hidden = Math.floor((unit.weight - messageWeight(rest, this.#model)) / 4);
      return { message: rest, opaqueTokens: Math.max(0, hidden) };
    });
  }

  get isAsOffered(): boolean {
    return this.#isAsOffered;
  }

  get tokens(): number {
    return Math.floor(this.#weight / 4);
  }

  get systemTokens(): number {
    return Math.floor(this.#systemWeight / 4);
  }

  /** Tokens of the summary in it; 0 when there is none. */
  get summaryTokens(): number {
    const summary = this.#units.find((unit) => unit.pieces.some(isSummary));
    return summary ? Math.floor(summary.weight / 4) : 0;
  }

  get lastPrompt(): SentPrompt | undefined {
    const at = this.#units.findLastIndex(isPrompt);
    const unit = this.#units[at];
    if (!unit) return undefined;
    const before = this.#units.slice(0, at).findLast(isPrompt);
    return {
      key: this.#placeKey(unit.from),
      text: indexableText(messageOf(unit)),
      before: before && indexableText(messageOf(before)),
      isLast: at === this.#units.length - 1,
    };
  }

  /** Where the prompt with a key is among the sent messages; -1: nowhere. */
  placeOf(key: string): number {
    const at = Number.parseInt(key, 10);
    const place = this.#slots.findLastIndex((slot) => slot.at === at);
    return place >= 0 && this.#placeKey(place) === key ? place : -1;
  }

  /** What a user message says; empty for other messages, and for those that cannot be read. */
  userText(message: HostMessage): string {
    try {
      const { message: read } = this.#read(message);
      return read?.role === "user" ? contentText(read.content) : "";
    } catch {
      return "";
    }
  }

  #placeKey(place: number): string {
    const message = this.#sent[place];
    return message ? `${this.#slots[place]?.at} ${this.#keyOf(message)}` : "";
  }

  /** Tokens of the messages before the last answer; of all, when there is none. */
  get tokensBeforeAnswer(): number {
    const answer = this.#units.findLastIndex(({ pieces }) => pieces.some(isAnswer));
    const counted = answer < 1 ? this.#units : this.#units.slice(0, answer);
    return Math.floor(weightOf(counted) / 4);
  }

  /**
   * Takes the history as the host offers it now. Returns how it compares with the last one. Of a long
   * history that has grown it compares a part, unless you ask for the whole.
   */
  follow(
    history: readonly HostMessage[],
    { whole = false } = {},
  ): "the same" | "longer" | "another" {
    let isAnother = false;
    if (!(whole ? extendsBy(history, this.#offered) : this.#seemsToExtend(history))) {
      isAnother = !extendsBy(history, this.#sent);
      if (isAnother) this.#start(history);
      else this.#adopt();
    }
    const from = this.#offered.length;
    for (let index = from; index < history.length; index += 1) {
      const message = history[index] as HostMessage;
      this.#requireReadable(message, index);
      this.#offered.push(message);
      this.#send(message, { at: this.#length }, index);
      this.#length += 1;
    }
    if (isAnother) return "another";
    return history.length > from || from === 0 ? "longer" : "the same";
  }

  /**
   * Whether a history begins with the messages of the last one. It compares every message that is sent from
   * here, the first and the last of the others, and each time another part of the rest.
   */
  #seemsToExtend(history: readonly HostMessage[]): boolean {
    const known = this.#offered;
    const { length } = known;
    if (length <= 3 * COMPARED) return extendsBy(history, known);
    if (history.length < length) return false;
    const start = this.#compared < length ? this.#compared : 0;
    this.#compared = start + COMPARED;
    const isSent = this.#isAsOffered || this.#offeredAt.every((at) => history[at] === known[at]);
    return (
      isSent &&
      sameBetween(history, known, 0, COMPARED) &&
      sameBetween(history, known, length - COMPARED, length) &&
      sameBetween(history, known, start, Math.min(length, this.#compared))
    );
  }

  /** Positions in the offered history that a compaction of the sent one changes. */
  changesOf(result: CompactHistoryResult | undefined) {
    const positions = (units: readonly number[]) =>
      [...new Set(units)].flatMap((index) => {
        const unit = this.#units[index];
        return unit ? this.#offeredIn(unit) : [];
      });
    return {
      discarded: positions(result?.discarded.map(({ index }) => index) ?? []),
      pruned: positions(result?.pruned.map(({ index }) => index) ?? []),
    };
  }

  /** Uses the facts known about the chat from now on. */
  know({ cuts, forgotten }: Known): void {
    this.#cuts = cuts.slice(-CUTS_MAX);
    this.#forgotten = forgotten;
    for (const { head } of this.#cuts) {
      for (const slot of head.filter(isSummarySlot)) this.#knowSummary(summaryText(slot));
    }
    this.restart();
  }

  /** Makes the next history be looked at as a new one. */
  restart(): void {
    this.#offered = [];
    this.#clearSent();
  }

  /** The cut that a compaction makes in the history. Nothing is changed yet. */
  cutOf(result: Changed): NewCut<HostMessage> {
    const { head, end } = this.#headOf(result);
    const length = this.#slots
      .slice(0, end)
      .reduce((most, { at }) => Math.max(most, at + 1), this.#cut?.length ?? 0);
    const { marks, messages } = this.#since(length);
    const sent = head.map(({ message }) => message);
    const cut: Cut = {
      length,
      mark: marks.at(-1) ?? this.#cut?.mark ?? "",
      head: head.map(({ slot }) => slot),
      headMark: sent.reduce((mark, message) => chained(mark, this.#keyOf(message)), ""),
    };
    return { cut, messages, sent: [...head, ...this.#sentBetween(end, this.#sent.length)] };
  }

  /** Sends the result of a compaction from now on. */
  take({ cut, sent }: NewCut<HostMessage>): void {
    for (const { slot, message } of sent) {
      if (isSummarySlot(slot)) this.#summaries.set(slot, message);
    }
    this.#cuts = [...this.#cuts, cut].slice(-CUTS_MAX);
    this.#cut = cut;
    this.#isAsOffered = false;
    this.#clearSent();
    for (const { message, slot, offeredAt } of sent) this.#send(message, slot, offeredAt);
  }

  /** The host has taken over the sent messages, and offers these from now on. */
  #adopt(): void {
    this.#offered = [...this.#sent];
    this.#offeredAt = this.#sent.map((_, index) => index);
    this.#isAsOffered = true;
  }

  /** Begins with another history than before, from its longest part that a compaction is known of. */
  #start(history: readonly HostMessage[]): void {
    this.#offered = [];
    this.#clearSent();
    this.#length = 0;
    this.#cut = undefined;
    this.#isAsOffered = true;
    if (this.#cuts.length === 0) return;
    const known = recognise(this.#cuts, this.#marksOf(history));
    if (!known) return;
    const { cut, adopted } = known;
    this.#cut = cut;
    this.#isAsOffered = cut === adopted;
    this.#length = cut.length;
    const taken = adopted ? adopted.head.length + cut.length - adopted.length : cut.length;
    this.#offered = history.slice(0, taken);
    for (const slot of cut.head) {
      const index = offeredAt(slot, adopted);
      this.#send(this.#messageFor(slot, history[index], adopted), slot, index);
    }
  }

  /** The keys of a history's messages, each computed once. */
  #marksOf(history: readonly HostMessage[]): MarkOf {
    const chains = new Map<string, string[]>();
    return ({ from = 0, length, start = "" }) => {
      if (from + length > history.length) return undefined;
      const name = `${from} ${start}`;
      const marks = chains.get(name) ?? [start];
      chains.set(name, marks);
      for (let at = marks.length; at <= length; at += 1) {
        const message = history[from + at - 1] as HostMessage;
        marks.push(chained(marks[at - 1] ?? "", this.#keyOf(message)));
      }
      return marks[length];
    };
  }

  /** The message that is sent for a slot, given the one that the host offers for it. */
  #messageFor(slot: Slot, offered: HostMessage | undefined, adopted: Cut | undefined): HostMessage {
    if (isSummarySlot(slot)) {
      const known = offered ?? this.#summaries.get(slot) ?? this.#view.summary(summaryText(slot));
      this.#summaries.set(slot, known);
      return known;
    }
    const message = offered as HostMessage;
    // A host that took over a compaction offers the outputs as that shortened them.
    const before = adopted?.head.find(({ at }) => at === slot.at);
    const done = before && !isSummarySlot(before) ? (before.outputs?.length ?? 0) : 0;
    const outputs = slot.outputs?.slice(done) ?? [];
    return outputs.length > 0 ? this.#withShortened(message, outputs) : message;
  }

  /** The slots of the sent messages up to the last one that a compaction changes, and the end of that part. */
  #headOf({ discarded, pruned, summary }: Changed) {
    const left = new Set(discarded.map(({ index }) => index));
    const outputs = Map.groupBy(pruned, ({ index }) => index);
    const last = Math.max(discarded.at(-1)?.index ?? -1, pruned.at(-1)?.index ?? -1);
    const place = discarded[0]?.index;
    const head: Sent<HostMessage>[] = [];
    for (const [index, unit] of this.#units.slice(0, last + 1).entries()) {
      if (index === place && summary !== null) {
        const message = this.#view.summary(SUMMARY_PREFIX + summary);
        const slot = { at: -1, summary, key: this.#keyOf(message) } as const;
        this.#knowSummary(summaryText(slot));
        head.push({ message, slot, offeredAt: -1 });
      }
      if (left.has(index)) continue;
      const shorter = outputs.get(index) ?? [];
      const sent = this.#sentBetween(unit.from, unit.to);
      head.push(...sent.map((each) => this.#shortenedIn(each, shorter)));
    }
    const changed = this.#units[last]?.to ?? 0;
    // The new head stands for all that the head before it stood for.
    const end = Math.max(changed, this.#cut?.head.length ?? 0);
    return { head: [...head, ...this.#sentBetween(changed, end)], end };
  }

  #sentBetween(from: number, to: number): Sent<HostMessage>[] {
    return this.#sent.slice(from, to).map((message, index) => ({
      message,
      slot: this.#slots[from + index] as Slot,
      offeredAt: this.#offeredAt[from + index] ?? -1,
    }));
  }

  /** A sent message with those of the outputs shortened that it has. */
  #shortenedIn(sent: Sent<HostMessage>, outputs: readonly KeptOutput[]): Sent<HostMessage> {
    const { message, slot, offeredAt } = sent;
    const ids = new Set(this.#resultsOf(message).map(({ tool_use_id }) => tool_use_id));
    const own = outputs
      .filter(({ toolUseId }) => ids.has(toolUseId))
      .map(({ toolUseId, keptBytes }) => ({ toolUseId, keptBytes }));
    if (own.length === 0 || isSummarySlot(slot)) return sent;
    return {
      message: this.#withShortened(message, own),
      slot: { at: slot.at, outputs: [...(slot.outputs ?? []), ...own] },
      offeredAt,
    };
  }

  /** The same copy for the same message, so that the provider's cache holds. */
  #withShortened(message: HostMessage, outputs: readonly KeptOutput[]): HostMessage {
    const known = this.#shortened.get(message) ?? new Map<string, HostMessage>();
    this.#shortened.set(message, known);
    const name = JSON.stringify(outputs);
    const copy = known.get(name) ?? this.#shorten(message, outputs);
    known.set(name, copy);
    return copy;
  }

  #shorten(message: HostMessage, outputs: readonly KeptOutput[]): HostMessage {
    const results: Message = { role: "tool_results", results: this.#resultsOf(message) };
    const shorter = outputs.reduce<Message>(
      (sofar, { toolUseId, keptBytes }) => withShortenedOutput(sofar, toolUseId, keptBytes),
      results,
    );
    const ids = new Set(outputs.map(({ toolUseId }) => toolUseId));
    const texts = toolResults(shorter).flatMap(({ tool_use_id, content }) =>
      ids.has(tool_use_id) ? [[tool_use_id, content] as const] : [],
    );
    return this.#view.shorten(message, new Map(texts));
  }

  #resultsOf(message: HostMessage) {
    const { message: read } = this.#read(message);
    return read ? toolResults(read) : [];
  }

  #offeredIn({ from, to }: Unit): readonly number[] {
    return this.#offeredAt.slice(from, to).filter((position) => position >= 0);
  }

  #clearSent(): void {
    this.#sent = [];
    this.#slots = [];
    this.#offeredAt = [];
    this.#units = [];
    this.#foundTexts = new Set();
    this.#weight = 1;
    this.#systemWeight = 0;
  }

  #send(message: HostMessage, slot: Slot, offeredAt: number): void {
    if (isSummarySlot(slot) || this.#isKnownSummary(message)) this.#markAsSummary(message);
    const view = this.#read(message);
    this.#sent.push(message);
    this.#slots.push(slot);
    this.#offeredAt.push(offeredAt);
    addToUnits(this.#units, view);
    this.#weight += view.weight;
    if (view.message?.role === "system") this.#systemWeight += view.weight;
  }

  #knowSummary(text: string): void {
    this.#summaryTexts.add(text);
    const [oldest] = this.#summaryTexts;
    if (this.#summaryTexts.size > CUTS_MAX && oldest !== undefined) {
      this.#summaryTexts.delete(oldest);
    }
  }

  /** Whether a message is a summary that was sent before, in a history that no compaction is known of. */
  #isKnownSummary(message: HostMessage): boolean {
    if (this.#cut || this.#summaryTexts.size === 0) return false;
    const { message: read } = this.#read(message);
    if (read?.role !== "user") return false;
    const text = contentText(read.content);
    if (!this.#summaryTexts.has(text) || this.#foundTexts.has(text)) return false;
    this.#foundTexts.add(text);
    return true;
  }

  #markAsSummary(host: HostMessage): void {
    const view = this.#read(host);
    if (view.message?.role !== "user" || isSummary(view.message)) return;
    const content = contentText(view.message.content);
    const message: Message = { role: "user", kind: "compaction_summary", content };
    this.#views.set(host, this.#weighed({ ...view, message }));
  }

  #requireReadable(message: unknown, index: number): void {
    if (typeof message !== "object" || message === null) {
      const found = message === null ? "null" : `a ${typeof message}`;
      throw unreadable(`history[${index}] is ${found}, not a message.`);
    }
    try {
      this.#read(message as HostMessage);
    } catch (error) {
      throw unreadable(`history[${index}] cannot be read: ${errorText(error)}`, error);
    }
  }

  #read(host: HostMessage): WeighedView {
    const known = this.#views.get(host);
    if (known) return known;
    const given = this.#view.read(host);
    const read = given.message ? { ...given, message: withinNesting(given.message) } : given;
    if (read.message) requireHistory([read.message]);
    const view = this.#weighed(read);
    this.#views.set(host, view);
    return view;
  }

  #weighed(view: ViewedMessage): WeighedView {
    const { message, opaqueTokens = 0 } = view;
    const weight = 4 * opaqueTokens + (message ? messageWeight(message, this.#model) + 1 : 0);
    return { ...view, weight };
  }

  /** The messages after the last compaction up to a length of the whole history, and their keys. */
  #since(length: number) {
    const first = this.#cut?.head.length ?? 0;
    const hosts = this.#sent.slice(first, first + length - (this.#cut?.length ?? 0));
    const marks: string[] = [];
    const units: Unit[] = [];
    for (const host of hosts) {
      marks.push(chained(marks.at(-1) ?? this.#cut?.mark ?? "", this.#keyOf(host)));
      addToUnits(units, this.#read(host));
    }
    const messages = units.flatMap((unit): RecordedMessage[] => {
      const mark = marks[unit.to - 1] ?? "";
      const message = messageOf(unit);
      const key = this.#keyOfAll(hosts.slice(unit.from, unit.to));
      return unit.pieces.length === 0 || isSummary(message)
        ? []
        : [{ kind: "message", mark, key, message }];
    });
    return { marks, messages };
  }

  #keyOfUnit({ from, to }: Unit): string {
    return this.#keyOfAll(this.#sent.slice(from, to));
  }

  /** The key of the messages of a unit. That of one message is its own. */
  #keyOfAll([first, ...rest]: readonly HostMessage[]): string {
    const start = first ? this.#keyOf(first) : "";
    return rest.reduce((key, message) => chained(key, this.#keyOf(message)), start);
  }

  #keyOf(message: HostMessage): string {
    const known = this.#keys.get(message);
    if (known !== undefined) return known;
    const key = keyOf(this.#view.id?.(message), this.#read(message), message);
    this.#keys.set(message, key);
    return key;
  }
}

function unreadable(message: string, cause?: unknown): SessionError {
  const hint =
    "Pass the messages of your loop, oldest first, and a view that can read each of them.";
  return new SessionError("INVALID_PARAMS", { message, hint, cause });
}

/** Whether a history begins with these very objects. */
function extendsBy<Item>(history: readonly Item[], known: readonly Item[]): boolean {
  const { length } = known;
  return length > 0 && history.length >= length && sameBetween(history, known, 0, length);
}

function sameBetween<Item>(
  one: readonly Item[],
  other: readonly Item[],
  from: number,
  to: number,
): boolean {
  for (let index = from; index < to; index += 1) {
    if (one[index] !== other[index]) return false;
  }
  return true;
}

function summaryText({ summary }: SummarySlot): string {
  return SUMMARY_PREFIX + summary;
}

function weightOf(units: readonly Unit[]): number {
  return units.reduce((sum, { weight }) => sum + weight, 1);
}

function isPrompt({ pieces }: Unit): boolean {
  return pieces.some(startsTurn);
}

function isAnswer({ role }: Message): boolean {
  return role === "assistant" || role === "block_assistant";
}
