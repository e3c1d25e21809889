import { anchorsIn } from "../compaction/anchors.ts";
import type { DurableEvent, StoredEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { indexableText, wordsOf } from "../core/message.ts";
import type { Fate, TracedCompaction } from "../core/operations/history.ts";
import { leavingBy, prunedMessage } from "../core/session-history.ts";

/** Names that are shown of a message. */
const NAMES_MAX = 5;

type HistoryMessage = Pick<HistoryEntry, "id" | "message">;

export interface FateOfMessage {
  readonly fate: Fate;
  /** Names and numbers of the message that the summary has. */
  readonly names: readonly string[];
}

/** Tells what a compaction, or a pruning, did to the messages of the history before it. */
export function fatesBy(
  { event }: Pick<StoredEvent, "event">,
  after: readonly HistoryMessage[],
  isRemembered: boolean,
): (entry: HistoryMessage) => FateOfMessage {
  const stayed = new Map(after.map(({ id, message }) => [id, message]));
  const told = event.type === "compaction_completed" ? (event.summary ?? "") : "";
  const summary = oneLine(told);
  const known = new Set(anchorsIn(told).map(({ text }) => text));
  return ({ id, message }) => {
    const now = stayed.get(id);
    if (now) return { fate: now === message ? "kept" : "shortened", names: [] };
    const said = oneLine(indexableText(message));
    const names = [...new Set(anchorsIn(wordsOf(message)).map(({ text }) => text))]
      .filter((name) => known.has(name))
      .slice(0, NAMES_MAX);
    if (said !== "" && summary.includes(said)) return { fate: "quoted", names };
    if (names.length > 0) return { fate: "named", names };
    return { fate: isRemembered && said !== "" ? "in_memory" : "in_log", names };
  };
}

/** Follows one message through the log after it: what each change of the history did to it. */
export class FollowedMessage {
  readonly fates: Omit<TracedCompaction, "inForce">[] = [];
  readonly #whole: HistoryMessage;
  readonly #isRemembered: boolean;
  /** The message as the history has it; undefined when it left. */
  #now: HistoryMessage | undefined;
  /** The same before each change. */
  readonly #before = new Map<number, HistoryMessage | undefined>();

  constructor({ id, message }: HistoryMessage, isRemembered: boolean) {
    this.#whole = { id, message };
    this.#now = this.#whole;
    this.#isRemembered = isRemembered;
  }

  note({ seq, event }: Pick<StoredEvent, "seq" | "event">): void {
    switch (event.type) {
      case "compaction_completed":
      case "tool_output_pruned": {
        const before = this.#now;
        this.#before.set(seq, before);
        if (!before) return;
        this.#now = messageAfter(before, event);
        const after = this.#now ? [this.#now] : [];
        const { fate } = fatesBy({ event }, after, this.#isRemembered)(before);
        this.fates.push({ event: seq, fate });
        return;
      }
      case "compaction_undone": {
        const { undone, left_out = [] } = event;
        this.#before.set(seq, this.#now);
        // Messages since the undone change stay, whole.
        const again = this.#before.has(undone) ? this.#before.get(undone) : this.#whole;
        this.#now = left_out.includes(this.#whole.id) ? undefined : again;
        return;
      }
    }
  }
}

function messageAfter(
  { id, message }: HistoryMessage,
  event: Extract<DurableEvent, { type: "compaction_completed" | "tool_output_pruned" }>,
): HistoryMessage | undefined {
  const items = event.pruned.filter((item) => item.message === id);
  const shorter = { id, message: prunedMessage(message, items) };
  return event.type === "compaction_completed" && leavingBy(event)(shorter) ? undefined : shorter;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
