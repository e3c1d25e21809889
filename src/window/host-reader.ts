import { isDeepStrictEqual } from "node:util";
import { requireHistory } from "../compaction/compact-history-options.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { isPlainJson, withinNesting } from "../core/json-values.ts";
import { contentText, isSummary, type Message, toolResults } from "../core/message.ts";
import {
  countsImagesAlike,
  type KeptOutput,
  messageWeight,
  withShortenedOutput,
} from "../core/tokens.ts";
import { chained, keyOf } from "./message-keys.ts";
import type { MessageView, ViewedMessage } from "./message-view.ts";
import type { WeighedView } from "./units.ts";

/** Reads each message of a host once, and keeps what it says, its weight, its key and its shortened copies. */
export class HostReader<HostMessage extends object> {
  readonly #view: MessageView<HostMessage>;
  #model: string | undefined;
  readonly #views = new WeakMap<HostMessage, WeighedView>();
  /** The model by whose rules a view was weighed. */
  readonly #weighedFor = new WeakMap<WeighedView, string>();
  readonly #keys = new WeakMap<HostMessage, string>();
  readonly #shortened = new WeakMap<HostMessage, Map<string, HostMessage>>();

  constructor(view: MessageView<HostMessage>, model: string | undefined) {
    this.#view = view;
    this.#model = model;
  }

  read(host: HostMessage): WeighedView {
    const known = this.#views.get(host);
    if (known) return this.#countsAsNow(known) ? known : this.#keep(host, known);
    const given = this.#view.read(host);
    const read = given.message ? { ...given, message: withinNesting(given.message) } : given;
    if (read.message) requireHistory([read.message]);
    return this.#keep(host, read);
  }

  /** Counts images by the rules of this model from now on. Returns whether that changes what messages weigh. */
  countFor(model: string | undefined): boolean {
    const isOther = !countsImagesAlike(model, this.#model);
    this.#model = model;
    return isOther;
  }

  /**
   * Whether a host offers a message that was read before: the same object, a copy of it, or another object with the same
   * content. It costs less than to read the message, which weighs it.
   */
  isSame(known: HostMessage, offered: HostMessage | undefined): offered is HostMessage {
    if (known === offered) return true;
    if (typeof offered !== "object" || offered === null) return false;
    if (isPlainJson(known) && isDeepStrictEqual(known, offered)) return true;
    try {
      const { message, opaqueTokens = 0 } = this.read(known);
      if (!message) return false;
      const other = this.#view.read(offered);
      return (
        opaqueTokens === (other.opaqueTokens ?? 0) && isDeepStrictEqual(message, other.message)
      );
    } catch {
      return false;
    }
  }

  /** @throws SessionError `INVALID_PARAMS` */
  requireReadable(message: unknown, index: number): void {
    if (typeof message !== "object" || message === null) {
      const found = message === null ? "null" : `a ${typeof message}`;
      throw unreadable(`history[${index}] is ${found}, not a message.`);
    }
    try {
      this.read(message as HostMessage);
    } catch (error) {
      throw unreadable(`history[${index}] cannot be read: ${errorText(error)}`, error);
    }
  }

  /** The text of a user message; empty for other messages, and for those that cannot be read. */
  userText(message: HostMessage): string {
    try {
      const { message: read } = this.read(message);
      return read?.role === "user" ? contentText(read.content) : "";
    } catch {
      return "";
    }
  }

  resultsOf(message: HostMessage) {
    const { message: read } = this.read(message);
    return read ? toolResults(read) : [];
  }

  keyOf(message: HostMessage): string {
    const known = this.#keys.get(message);
    if (known !== undefined) return known;
    const key = keyOf(this.#view.id?.(message), this.read(message), message);
    this.#keys.set(message, key);
    return key;
  }

  /** The key of the messages of a unit. That of one message is its own. */
  keyOfAll([first, ...rest]: readonly HostMessage[]): string {
    const start = first ? this.keyOf(first) : "";
    return rest.reduce((key, message) => chained(key, this.keyOf(message)), start);
  }

  summary(text: string): HostMessage {
    return this.#view.summary(text);
  }

  /** Reads a user message as a summary from now on. */
  markAsSummary(host: HostMessage): void {
    const view = this.read(host);
    if (view.message?.role !== "user" || isSummary(view.message)) return;
    const content = contentText(view.message.content);
    const message: Message = { role: "user", kind: "compaction_summary", content };
    this.#keep(host, { ...view, message });
  }

  /** The same copy for the same message, so that the provider's cache holds. */
  withShortened(message: HostMessage, outputs: readonly KeptOutput[]): HostMessage {
    const known = this.#shortened.get(message) ?? new Map<string, HostMessage>();
    this.#shortened.set(message, known);
    const name = JSON.stringify(outputs);
    const copy = known.get(name) ?? this.#shorten(message, outputs);
    known.set(name, copy);
    return copy;
  }

  weightOf(message: Message): number {
    return messageWeight(message, this.#model);
  }

  #shorten(message: HostMessage, outputs: readonly KeptOutput[]): HostMessage {
    const results: Message = { role: "tool_results", results: this.resultsOf(message) };
    const shorter = outputs.reduce<Message>(withShortenedOutput, results);
    const ids = new Set(outputs.map(({ toolUseId }) => toolUseId));
    const texts = toolResults(shorter).flatMap(({ tool_use_id, content }) =>
      ids.has(tool_use_id) ? [[tool_use_id, content] as const] : [],
    );
    return this.#view.shorten(message, new Map(texts));
  }

  #countsAsNow(view: WeighedView): boolean {
    return countsImagesAlike(this.#weighedFor.get(view), this.#model);
  }

  #keep(host: HostMessage, read: ViewedMessage): WeighedView {
    const view = this.#weighed(read);
    this.#views.set(host, view);
    if (this.#model !== undefined) this.#weighedFor.set(view, this.#model);
    return view;
  }

  #weighed(view: ViewedMessage): WeighedView {
    const { message, opaqueTokens = 0 } = view;
    const weight = 4 * opaqueTokens + (message ? this.weightOf(message) + 1 : 0);
    return { ...view, weight };
  }
}

function unreadable(message: string, cause?: unknown): SessionError {
  const hint =
    "Pass the messages of your loop, oldest first, and a view that can read each of them.";
  return new SessionError("INVALID_PARAMS", { message, hint, cause });
}
