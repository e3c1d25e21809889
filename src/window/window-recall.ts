import type { MemoryRecalled } from "../core/event.ts";
import type { HostItems, HostRecalled, HostRecord } from "../core/host-record.ts";
import { bestMatchOf, type MemoryEntry, type MemoryHit } from "../core/memory-store.ts";
import type { Message } from "../core/message.ts";
import { recalledText, tokensOfRecords } from "../core/recalled.ts";
import {
  chooseRecords,
  pinnedRecords,
  RECALL_SEARCH,
  type RecordChoice,
  withPinned,
} from "../recall/choose-records.ts";
import { shownBy } from "../recall/quoted-passage.ts";
import { BAR_LEAST, recallQuery } from "../recall/recall-bar.ts";
import { NO_RECORDS, type RecallRoom, recallWithin } from "../recall/recall-room.ts";
import type { MessageView } from "./message-view.ts";
import type { SentPrompt } from "./sent-history.ts";

/** The memory that a window's records come from. */
export interface WindowMemory {
  /** Id of the chat's session. */
  readonly sessionId: string;
  /** Tokens that records may take before a prompt. */
  readonly recallTokens: number;
  search(query: {
    readonly query: string;
    readonly limit: number;
    readonly neighbours: number;
  }): Promise<readonly MemoryHit[]>;
  /** The notes that a person wants each session to begin with. */
  pinned(): Promise<readonly MemoryEntry[]>;
  /** The score that the best record needs. */
  bar(): Promise<number>;
  /** Tells that memory does not work: a call goes on without it. */
  failed(error: unknown): void;
}

/** The results of a search, and the score that the best of them needs. */
interface FoundInMemory {
  readonly hits: readonly MemoryHit[];
  readonly bar: number;
}

/** Records before a prompt, as a message of the host. */
interface ShownRecords<HostMessage> {
  readonly event: MemoryRecalled;
  readonly message: HostMessage;
}

/**
 * The records of memory that a window sends besides the history:
 *
 *     history   S  C  U A T A  U
 *     sent      S  C  U A T A  [records] U      and so in every later request, up to the next compaction
 *
 * They are events of the chat's log, so a later process sends the same. They are no messages of the history: no
 * summary has them. A host that took them over offers them again, and the window takes them out first.
 */
export class WindowRecall<HostMessage extends object> {
  readonly #memory: WindowMemory;
  readonly #record: HostRecord | undefined;
  readonly #view: MessageView<HostMessage>;
  #shown: readonly ShownRecords<HostMessage>[] = [];
  /** The state of the log at the last look. */
  #known: readonly HostRecalled[] = [];
  /** Ids of records that never come back by themselves. */
  #refused: ReadonlySet<string> = new Set();
  /** The messages with records that were sent, by their texts. */
  readonly #messages = new Map<string, HostMessage>();
  /** The prompt that memory was asked about last, since the last compaction. */
  #asked: string | undefined;
  /** Whether pinned notes were looked for since the last compaction. */
  #hasPinned = false;

  constructor(
    memory: WindowMemory,
    record: HostRecord | undefined,
    view: MessageView<HostMessage>,
  ) {
    this.#memory = memory;
    this.#record = record;
    this.#view = view;
  }

  get recallTokens(): number {
    return this.#memory.recallTokens;
  }

  /** Estimated tokens of all records in each request. */
  get tokens(): number {
    return this.#shown.reduce((sum, { event }) => sum + event.tokens, 0);
  }

  /** Takes over what the log has since the last compaction. */
  know({ recalled, refused }: Pick<HostItems, "recalled" | "refused">): void {
    this.#refused = refused;
    const isKnown =
      recalled.length === this.#known.length &&
      recalled.every(({ event }, index) => event === this.#known[index]?.event);
    if (isKnown) return;
    this.#known = recalled;
    this.#shown = [];
    for (const { event, whole } of recalled) {
      // A host may offer the records as they were, before one of them was refused.
      if (event !== whole) this.#messageOf(recalledText(whole.records));
      this.#show(event);
    }
  }

  /** A compaction takes all of them away. Then it is time to look again. */
  clear(): void {
    this.#shown = [];
    this.#known = [];
    this.#asked = undefined;
    this.#hasPinned = false;
  }

  /** The records leave, those that a person pinned or demanded only with `all`. Others may come to this prompt. It never fails. */
  async leave({ key }: SentPrompt, { all }: { readonly all: boolean }): Promise<void> {
    const shown = this.#shown.flatMap(({ event }) => event.records);
    if (shown.length === 0) return;
    try {
      const pinned = new Set(all ? [] : (await this.#memory.pinned()).map(({ id }) => id));
      const records = shown.filter(({ id }) => pinned.has(id));
      if (records.length === shown.length) return;
      const tokens = tokensOfRecords(records);
      await this.#add({ ...NO_RECORDS, records, tokens, before: key });
    } catch (error) {
      this.#memory.failed(error);
    }
  }

  /**
   * The positions of a history's messages that are no records; `undefined` when none of them is. Those before `from`
   * are known to be none.
   */
  without(
    history: readonly HostMessage[],
    { from, textOf }: { from(): number; textOf(message: HostMessage): string },
  ): readonly number[] | undefined {
    if (this.#messages.size === 0) return undefined;
    const known = from();
    const isOther = (message: HostMessage, index: number) =>
      index < known || !this.#messages.has(textOf(message));
    const others = history.flatMap((message, index) => (isOther(message, index) ? [index] : []));
    return others.length === history.length ? undefined : others;
  }

  /** Looks in memory for what is new. It never fails: a call goes on without memory. */
  async lookUp(
    prompt: SentPrompt,
    { messages, room }: { readonly messages: () => readonly Message[]; readonly room: RecallRoom },
  ): Promise<void> {
    if (this.#asked === prompt.key) return;
    this.#asked = prompt.key;
    if (this.#shown.some(({ event }) => event.before === prompt.key)) return;
    try {
      const found = await this.#choose(prompt, messages, room);
      if (!found) return;
      await this.#add({ ...found, before: prompt.key });
    } catch (error) {
      this.#memory.failed(error);
    }
  }

  /** The messages with the records before their prompts. `placeOf` finds a prompt by its key. */
  addTo(
    sent: readonly HostMessage[],
    placeOf: (key: string) => number,
  ): { readonly messages: readonly HostMessage[]; readonly recalled: readonly HostMessage[] } {
    const places = this.#shown.flatMap(({ event, message }) => {
      const place = placeOf(event.before ?? "");
      return place < 0 ? [] : [{ place, message }];
    });
    if (places.length === 0) return { messages: sent, recalled: [] };
    const messages = [...sent];
    for (const { place, message } of places.toReversed()) messages.splice(place, 0, message);
    return { messages, recalled: places.map(({ message }) => message) };
  }

  async #choose(
    { text: prompt, before }: SentPrompt,
    messages: () => readonly Message[],
    room: RecallRoom,
  ): Promise<MemoryRecalled | undefined> {
    const { recallTokens, sessionId } = this.#memory;
    const query = recallQuery({ prompt, before });
    let asked: Promise<FoundInMemory> | undefined;
    return await recallWithin(room, recallTokens, async (tokensMax, leaving) => {
      const choice = { query, sessionId, isNew: this.#unseen(messages, leaving) };
      const pinned = await this.#pinned({ ...choice, tokensMax }, leaving);
      asked ??= this.#found(query);
      const { hits, bar } = await asked;
      const left = tokensMax - (pinned?.tokens ?? 0);
      return withPinned(pinned, chooseRecords(hits, { ...choice, bar, tokensMax: left }));
    });
  }

  /** What memory has about a prompt. Most prompts find nothing that is sure, and no bar is measured. */
  async #found(query: string): Promise<FoundInMemory> {
    const hits = query === "" ? [] : await this.#memory.search({ ...RECALL_SEARCH, query });
    const isSure = bestMatchOf(hits) >= BAR_LEAST;
    return isSure ? { hits, bar: await this.#memory.bar() } : { hits: [], bar: BAR_LEAST };
  }

  /** The notes that a person pinned: once at the beginning, once after each compaction, and when what is shown leaves. */
  async #pinned(
    choice: Omit<RecordChoice, "bar">,
    leaving: "shown leave" | undefined,
  ): Promise<MemoryRecalled | undefined> {
    if (!leaving && (this.#hasPinned || this.#shown.length > 0)) return undefined;
    const notes = await this.#memory.pinned();
    this.#hasPinned = true;
    return pinnedRecords(notes, choice);
  }

  /** Tells whether neither the history nor a record that stays shows an entry, and no person refused it. */
  #unseen(
    messages: () => readonly Message[],
    leaving: "shown leave" | undefined,
  ): RecordChoice["isNew"] {
    let isShown: ReturnType<typeof shownBy> | undefined;
    const staying = leaving ? [] : this.#shown;
    const recalled = new Set(staying.flatMap(({ event }) => event.records.map(({ id }) => id)));
    return (entry) => {
      if (recalled.has(entry.id) || this.#refused.has(entry.id)) return false;
      // Most prompts find nothing that is sure, and nothing has to be compared.
      isShown ??= shownBy(messages());
      return !isShown(entry);
    };
  }

  async #add(event: MemoryRecalled): Promise<void> {
    await this.#record?.change(() => ({ items: [], recalled: event }));
    this.#show(event);
  }

  #show(event: MemoryRecalled): void {
    if (event.replaces) this.#shown = [];
    const text = recalledText(event.records);
    if (text === "" || event.before === undefined) return;
    this.#shown = [...this.#shown, { event, message: this.#messageOf(text) }];
  }

  #messageOf(text: string): HostMessage {
    const message = this.#messages.get(text) ?? this.#view.summary(text);
    this.#messages.set(text, message);
    const [oldest] = this.#messages.keys();
    if (this.#messages.size > MESSAGES_MAX && oldest !== undefined) this.#messages.delete(oldest);
    return message;
  }
}

/** Messages with records that are known again when a host offers them. */
const MESSAGES_MAX = 256;
