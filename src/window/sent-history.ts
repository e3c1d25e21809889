import type { ProviderItem } from "../core/compactor.ts";
import { indexableText, isSummary, type Message } from "../core/message.ts";
import { startsTurn } from "../core/turn.ts";
import type { HostReader } from "./host-reader.ts";
import { addToUnits, isAnswer, messageOf, type Unit } from "./units.ts";
import { isSummarySlot, type Known, type Slot } from "./window-record.ts";

/** A sent message, where it comes from, and its position in the offered history; -1 when it has none. */
export interface Sent<HostMessage> {
  readonly message: HostMessage;
  readonly slot: Slot;
  readonly offeredAt: number;
}

/** An item of a provider, and the place of the summary that it stands beside. */
interface PlacedItem extends ProviderItem {
  readonly place: number;
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

/** The messages that are sent for a host's history, and their tokens. One more costs no look at the others. */
export class SentHistory<HostMessage extends object> {
  readonly #reader: HostReader<HostMessage>;
  readonly #sent: Sent<HostMessage>[] = [];
  readonly #messages: HostMessage[] = [];
  readonly #units: Unit[] = [];
  #item: PlacedItem | undefined;
  #weight = 1;
  #systemWeight = 0;

  constructor(reader: HostReader<HostMessage>, sent: Iterable<Sent<HostMessage>> = []) {
    this.#reader = reader;
    for (const each of sent) this.add(each);
  }

  add(sent: Sent<HostMessage>): void {
    const view = this.#reader.read(sent.message);
    const { slot } = sent;
    if (isSummarySlot(slot)) {
      this.#item = slot.item && { ...slot.item, place: this.#sent.length };
    }
    this.#sent.push(sent);
    this.#messages.push(sent.message);
    addToUnits(this.#units, view);
    this.#weight += view.weight;
    if (view.message?.role === "system") this.#systemWeight += view.weight;
  }

  get messages(): readonly HostMessage[] {
    return this.#messages;
  }

  /** The item beside the summary, for any reader. */
  get item(): PlacedItem | undefined {
    return this.#item;
  }

  get units(): readonly Unit[] {
    return this.#units;
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

  /** Tokens of the messages before the last answer; of all, when there is none. */
  get tokensBeforeAnswer(): number {
    const answer = this.#units.findLastIndex(({ pieces }) => pieces.some(isAnswer));
    const counted = answer < 1 ? this.#units : this.#units.slice(0, answer);
    return Math.floor(counted.reduce((sum, { weight }) => sum + weight, 1) / 4);
  }

  /** The number of messages, and tokens, of the newest answer's calls and their results; none when more came after these. */
  get newestStep(): { readonly length: number; readonly tokens: number } | undefined {
    const isOfAnswer = ({ pieces }: Unit) => pieces.some(isAnswer);
    const at = this.#units.findLastIndex(isOfAnswer);
    const results = this.#units
      .slice(at + 1)
      .map(({ pieces: [first] }) => first?.role === "tool_results");
    if (at < 0 || results.length === 0 || results.includes(false)) return undefined;
    // Some hosts have the text of an answer and its calls in items of their own.
    const step = this.#units.slice(
      1 + this.#units.slice(0, at).findLastIndex((unit) => !isOfAnswer(unit)),
    );
    const length = this.#messages.length - (step[0]?.from ?? 0);
    return { length, tokens: Math.floor(step.reduce((sum, { weight }) => sum + weight, 0) / 4) };
  }

  between(from: number, to?: number): readonly Sent<HostMessage>[] {
    return this.#sent.slice(from, to);
  }

  /** The positions of a unit's messages in the offered history. */
  offeredIn({ from, to }: Unit): readonly number[] {
    return this.between(from, to).flatMap(({ offeredAt }) => (offeredAt < 0 ? [] : [offeredAt]));
  }

  /**
   * The units as a summariser may see them: without forgotten texts, although the host still offers them. With
   * the tokens of each that are not seen.
   */
  visible(
    forgotten: Known["forgotten"],
  ): readonly { readonly message: Message; readonly opaqueTokens: number }[] {
    return this.#units.map((unit) => {
      const { from, to, weight, opaqueTokens } = unit;
      // Keys take time. Most histories have nothing forgotten.
      const rest =
        forgotten.size > 0 && forgotten.get(this.#reader.keyOfAll(this.#messages.slice(from, to)));
      if (!rest) return { message: messageOf(unit), opaqueTokens };
      const hidden = Math.floor((weight - this.#reader.weightOf(rest)) / 4);
      return { message: rest, opaqueTokens: Math.max(0, hidden) };
    });
  }

  get lastPrompt(): SentPrompt | undefined {
    const at = this.#units.findLastIndex(isPrompt);
    const unit = this.#units[at];
    if (!unit) return undefined;
    const before = this.#units.slice(0, at).findLast(isPrompt);
    return {
      key: this.#keyAt(unit.from),
      text: indexableText(messageOf(unit)),
      before: before && indexableText(messageOf(before)),
      isLast: at === this.#units.length - 1,
    };
  }

  /** Where the prompt with a key is among the messages; -1: nowhere. */
  placeOf(key: string): number {
    const at = Number.parseInt(key, 10);
    const place = this.#sent.findLastIndex(({ slot }) => slot.at === at);
    return place >= 0 && this.#keyAt(place) === key ? place : -1;
  }

  #keyAt(place: number): string {
    const sent = this.#sent[place];
    return sent ? `${sent.slot.at} ${this.#reader.keyOf(sent.message)}` : "";
  }
}

function isPrompt({ pieces }: Unit): boolean {
  return pieces.some(startsTurn);
}
