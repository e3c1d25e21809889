import type { BroughtMessage, StoredEvent } from "./event.ts";
import type { HistoryEntry } from "./history-entry.ts";
import type { ShownMessage } from "./kept-state.ts";
import { isForgotten, type Message, toolResults, toolUses } from "./message.ts";
import { messageWeight } from "./tokens.ts";

/** The session's history when an event comes. */
interface Now {
  /** Id of the last message. */
  readonly last: number;
  has(message: number): boolean;
}

/**
 * Messages that had left the window and are shown again, as quotes. Like the history this is a fold of the log.
 *
 * They stand at the end of the history as it was then, and stay there while it grows, so each request begins like the
 * one before. The next compaction takes them away, except for pinned ones, which it puts at the end:
 *
 *     S  C  U A T A  [brought back]  U A …
 */
export class BroughtBack {
  shown: readonly ShownMessage[] = [];
  #weight = 0;
  #pinnedWeight = 0;

  note({ event }: Pick<StoredEvent, "event">, { last, has }: Now): void {
    switch (event.type) {
      case "messages_brought_back": {
        const ids = new Set(event.messages.map(({ message }) => message));
        const others = this.shown.filter(({ message }) => !ids.has(message));
        const pinned = event.pinned ? { pinned: true as const } : {};
        this.#set([
          ...others,
          ...event.messages.flatMap((each) => shownAs(each, { after: last, ...pinned })),
        ]);
        return;
      }
      case "message_unpinned":
        this.#set(
          this.shown.map(({ pinned, ...rest }) =>
            pinned && rest.message !== event.message ? { ...rest, pinned } : rest,
          ),
        );
        return;
      case "compaction_completed":
      case "tool_output_pruned":
        this.#set(this.shown.flatMap((each) => (each.pinned ? [{ ...each, after: last }] : [])));
        return;
      case "compaction_undone":
        // The message itself is there again.
        this.#set(this.shown.filter(({ message }) => !has(message)));
        return;
      case "history_inherited":
        this.#set(withIds(event.brought_back ?? []));
        return;
    }
  }

  has(message: number): boolean {
    return this.shown.some((each) => each.message === message);
  }

  /** Estimated tokens in each model call. */
  get tokens(): number {
    return Math.ceil(this.#weight / 4);
  }

  /** The same after the next compaction. */
  get pinnedTokens(): number {
    return Math.ceil(this.#pinnedWeight / 4);
  }

  #set(shown: readonly ShownMessage[]): void {
    this.shown = shown;
    this.#weight = weightOf(shown);
    this.#pinnedWeight = weightOf(shown.filter(({ pinned }) => pinned));
  }

  snapshot() {
    return this.shown.length === 0 ? {} : { brought_back: this.shown };
  }

  restore({ brought_back = [] }: { readonly brought_back?: readonly ShownMessage[] }): void {
    this.#set(withIds(brought_back));
  }
}

/** No log has so many events, so from here on ids are those of messages in other logs. */
const OTHER_LOGS = 1_000_000_000;

/** A fork does not have the messages that its history lacks. Each gets an id of its own there, by which it is unpinned. */
function withIds(shown: readonly ShownMessage[]): readonly ShownMessage[] {
  return shown.map((each, index) =>
    each.message > 0 ? each : { ...each, message: OTHER_LOGS + index },
  );
}

/** Estimated tokens of messages that are brought back. */
export function broughtTokens(messages: readonly BroughtMessage[]): number {
  return shownTokens(messages.flatMap((each) => shownAs(each, { after: 0 })));
}

/** Estimated tokens of messages that are shown again. */
export function shownTokens(shown: readonly ShownMessage[]): number {
  return Math.ceil(weightOf(shown) / 4);
}

/** Nothing is shown of a message that was forgotten. */
function shownAs(
  { message, said_by, time, text, images }: BroughtMessage,
  place: Pick<ShownMessage, "after" | "pinned">,
): readonly ShownMessage[] {
  const isGone = isForgotten(text) && images === undefined;
  if (isGone) return [];
  // Each line is marked, so that no quote can look like the end of itself.
  const quote = text.replaceAll(/^/gm, "> ");
  const shown = `${HEADING}\n${said_by}, ${time.slice(0, 16).replace("T", " ")} UTC:\n${quote}`;
  return [{ message, text: shown, ...(images ? { images } : {}), ...place }];
}

const HEADING =
  "[Brought back] This was said earlier in this session and had left your window. It is a quote, whole and as of then, and no new request.";

function messageOf({ text, images }: ShownMessage): Message {
  if (!images) return { role: "user", content: text };
  return { role: "user", content: [{ type: "text", text }, ...images] };
}

function weightOf(shown: readonly ShownMessage[]): number {
  return shown.reduce((sum, each) => sum + messageWeight(messageOf(each)) + 1, 0);
}

/** The messages of a request with those that were brought back in their places. */
export function withBroughtBack(
  history: readonly HistoryEntry[],
  messages: readonly Message[],
  shown: readonly ShownMessage[],
): readonly Message[] {
  let sent = messages;
  // From the end, so that those of one place stay in order.
  for (const each of shown.toReversed()) {
    const before = history.findLast(({ id, ordinal }) => ordinal >= 0 && id <= each.after);
    const at = before ? sent.indexOf(before.message) : -1;
    sent = sent.toSpliced(afterResults(sent, at), 0, messageOf(each));
  }
  return sent;
}

/** The place after a message and the results of its calls, which must stay together. */
export function afterResults(messages: readonly Message[], index: number): number {
  const message = messages[index];
  const next = messages[index + 1];
  const waits = message !== undefined && toolUses(message).length > 0;
  return waits && next && toolResults(next).length > 0 ? index + 2 : index + 1;
}
