import { anchorsIn } from "../compaction/anchors.ts";
import type { StoredEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { jsonText } from "../core/json-values.ts";
import {
  contentText,
  indexableText,
  type Message,
  toolResults,
  toolUses,
} from "../core/message.ts";
import type { Fate } from "../core/operations/history.ts";

/** Names that are shown of a message. */
const NAMES_MAX = 5;

export interface FateOfMessage {
  readonly fate: Fate;
  /** Names and numbers of the message that the summary has. */
  readonly names: readonly string[];
}

/** Tells what a compaction, or a pruning, did to the messages of the history before it. */
export function fatesBy(
  { event }: Pick<StoredEvent, "event">,
  after: readonly HistoryEntry[],
  isRemembered: boolean,
): (entry: HistoryEntry) => FateOfMessage {
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

/** All that a message says: texts, calls, results. */
export function wordsOf(message: Message): string {
  if (message.role === "system") return message.content;
  const said = message.role === "user" ? contentText(message.content) : indexableText(message);
  const calls = toolUses(message).map(({ name, args }) => `${name} ${jsonText(args)}`);
  const results = toolResults(message).map(({ content }) => content);
  return [said, ...calls, ...results].filter((text) => text !== "").join("\n");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
