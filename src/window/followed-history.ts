import type { CompactHistoryResult } from "../compaction/compact-history-result.ts";
import { SUMMARY_PREFIX } from "../core/message.ts";
import { HostReader } from "./host-reader.ts";
import { chained } from "./message-keys.ts";
import type { MessageView } from "./message-view.ts";
import { type Changed, type NewCut, newCut } from "./new-cut.ts";
import { type Sent, SentHistory } from "./sent-history.ts";
import {
  type Cut,
  isSummarySlot,
  type Known,
  type MarkOf,
  offeredAt,
  recognise,
  type Slot,
  type SummarySlot,
} from "./window-record.ts";

/** Older compactions are forgotten. A history that goes back further is compacted again. */
const CUTS_MAX = 64;

/** Messages in a part of a long history that one call compares. */
const COMPARED = 128;

/**
 * A host's history from call to call, and the part of it that is sent. A history that has grown costs what was
 * added to it.
 */
export class FollowedHistory<HostMessage extends object> {
  readonly #reader: HostReader<HostMessage>;
  readonly #summaries = new WeakMap<Slot, HostMessage>();
  /** The texts of the newest summaries. A user message that only begins as they do is the user's. */
  readonly #summaryTexts = new Set<string>();
  /** The texts of summaries that the offered history has. A second message with one of these texts is the user's. */
  #foundTexts = new Set<string>();
  #cuts: Cut[] = [];
  /** Messages after their forgotten texts were removed, by the keys of their units. */
  #forgotten: Known["forgotten"] = new Map();

  /** Whether a provider may make an item of the history. */
  mayHaveItems = true;

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
  #sent: SentHistory<HostMessage>;

  constructor(view: MessageView<HostMessage>, model: string | undefined) {
    this.#reader = new HostReader(view, model);
    this.#sent = new SentHistory(this.#reader);
  }

  /** Counts images by the rules of this model from now on. Returns whether that changes what messages weigh. */
  countFor(model: string | undefined): boolean {
    const isOther = this.#reader.countFor(model);
    if (isOther) this.#sent = new SentHistory(this.#reader, this.#sent.between(0));
    return isOther;
  }

  /** The messages that are sent for it. */
  get sent(): SentHistory<HostMessage> {
    return this.#sent;
  }

  /** The units of the sent messages as a summariser may see them. */
  get visible() {
    return this.#sent.visible(this.#forgotten);
  }

  /** The messages to send, as the host offers them now: it may make new objects for each request. */
  sentOf(history: readonly HostMessage[]): readonly HostMessage[] {
    if (this.#isAsOffered) return history;
    return this.#sent.between(0).map(({ message, offeredAt }) => {
      const offered = history[offeredAt];
      return this.#reader.isSame(message, offered) ? offered : message;
    });
  }

  /** The number of messages at the beginning of a history that the last one had too, as far as `follow` compares them. */
  knownIn(history: readonly HostMessage[]): number {
    return this.#seemsToExtend(history) ? this.#offered.length : 0;
  }

  /** The text of a user message; empty for other messages, and for those that cannot be read. */
  userText(message: HostMessage): string {
    return this.#reader.userText(message);
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
    if (!(whole ? this.#extends(history, this.#offered) : this.#seemsToExtend(history))) {
      isAnother = !this.#extends(history, this.#sent.messages);
      if (isAnother) this.#start(history);
      else this.#adopt();
    }
    const from = this.#offered.length;
    for (let index = from; index < history.length; index += 1) {
      const message = history[index] as HostMessage;
      this.#reader.requireReadable(message, index);
      this.#offered.push(message);
      this.#send({ message, slot: { at: this.#length }, offeredAt: index });
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
    if (length <= 3 * COMPARED) return this.#extends(history, known);
    if (history.length < length) return false;
    const start = this.#compared < length ? this.#compared : 0;
    this.#compared = start + COMPARED;
    const isSent =
      this.#isAsOffered ||
      this.#sent.between(0).every(({ offeredAt: at }) => this.#isSameAt(history, known, at));
    return (
      isSent &&
      this.#sameBetween(history, known, 0, COMPARED) &&
      this.#sameBetween(history, known, length - COMPARED, length) &&
      this.#sameBetween(history, known, start, Math.min(length, this.#compared))
    );
  }

  /** Whether a history begins with these messages. */
  #extends(history: readonly HostMessage[], known: readonly HostMessage[]): boolean {
    const { length } = known;
    return length > 0 && history.length >= length && this.#sameBetween(history, known, 0, length);
  }

  #sameBetween(
    history: readonly HostMessage[],
    known: readonly HostMessage[],
    from: number,
    to: number,
  ): boolean {
    for (let at = from; at < to; at += 1) {
      if (!this.#isSameAt(history, known, at)) return false;
    }
    return true;
  }

  #isSameAt(history: readonly HostMessage[], known: readonly HostMessage[], at: number): boolean {
    const message = known[at];
    return message === undefined || this.#reader.isSame(message, history[at]);
  }

  /** Positions in the offered history that a compaction of the sent one changes. */
  changesOf(result: CompactHistoryResult | undefined) {
    const positions = (units: readonly number[]) =>
      [...new Set(units)].flatMap((index) => {
        const unit = this.#sent.units[index];
        return unit ? this.#sent.offeredIn(unit) : [];
      });
    return {
      discarded: positions(result?.discarded.map(({ index }) => index) ?? []),
      pruned: positions(result?.pruned.map(({ index }) => index) ?? []),
    };
  }

  /** Uses the facts known about the chat from now on. */
  know({ cuts, forgotten, mayHaveItems }: Known): void {
    this.mayHaveItems = mayHaveItems;
    this.#cuts = cuts.slice(-CUTS_MAX);
    this.#forgotten = forgotten;
    for (const { head } of this.#cuts) {
      for (const slot of head.filter(isSummarySlot)) this.#knowSummary(summaryText(slot));
    }
    // The next history is looked at as a new one.
    this.#offered = [];
    this.#clearSent();
  }

  /** The cut that a compaction makes in the history. Nothing is changed yet. */
  cutOf(result: Changed): NewCut<HostMessage> {
    return newCut(result, { reader: this.#reader, sent: this.#sent, last: this.#cut });
  }

  /** Sends the result of a compaction from now on. */
  take({ cut, sent }: NewCut<HostMessage>): void {
    for (const { slot, message } of sent) {
      if (!isSummarySlot(slot)) continue;
      this.#summaries.set(slot, message);
      this.#knowSummary(summaryText(slot));
    }
    this.#cuts = [...this.#cuts, cut].slice(-CUTS_MAX);
    this.#cut = cut;
    this.#isAsOffered = false;
    this.#clearSent();
    for (const each of sent) this.#send(each);
  }

  /** The host has taken over the sent messages, and offers these from now on. */
  #adopt(): void {
    this.#offered = [...this.#sent.messages];
    const sent = this.#sent.between(0).map((each, offeredAt) => ({ ...each, offeredAt }));
    this.#sent = new SentHistory(this.#reader, sent);
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
      const message = this.#messageFor(slot, history[index], adopted);
      this.#send({ message, slot, offeredAt: index });
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
        marks.push(chained(marks[at - 1] ?? "", this.#reader.keyOf(message)));
      }
      return marks[length];
    };
  }

  /** The message that is sent for a slot, given the one that the host offers for it. */
  #messageFor(slot: Slot, offered: HostMessage | undefined, adopted: Cut | undefined): HostMessage {
    if (isSummarySlot(slot)) {
      const known = offered ?? this.#summaries.get(slot) ?? this.#reader.summary(summaryText(slot));
      this.#summaries.set(slot, known);
      return known;
    }
    const message = offered as HostMessage;
    // A host that took over a compaction offers the outputs as that shortened them.
    const before = adopted?.head.find(({ at }) => at === slot.at);
    const done = before && !isSummarySlot(before) ? (before.outputs?.length ?? 0) : 0;
    const outputs = slot.outputs?.slice(done) ?? [];
    return outputs.length > 0 ? this.#reader.withShortened(message, outputs) : message;
  }

  #clearSent(): void {
    this.#sent = new SentHistory(this.#reader);
    this.#foundTexts = new Set();
  }

  #send(sent: Sent<HostMessage>): void {
    const { message, slot } = sent;
    if (isSummarySlot(slot) || this.#isKnownSummary(message)) this.#reader.markAsSummary(message);
    this.#sent.add(sent);
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
    const text = this.#reader.userText(message);
    if (!this.#summaryTexts.has(text) || this.#foundTexts.has(text)) return false;
    this.#foundTexts.add(text);
    return true;
  }
}

function summaryText({ summary }: SummarySlot): string {
  return SUMMARY_PREFIX + summary;
}
