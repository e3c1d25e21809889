import type { MemoryEntry } from "../core/memory-store.ts";
import { contentText, indexableText, isSummary, type Message } from "../core/message.ts";
import { oneLine } from "./quoted-passage.ts";

/** Tells whether messages show an entry of memory: as one of them, or quoted in a summary. */
export function shownBy(
  messages: readonly Message[],
): (entry: Pick<MemoryEntry, "content">) => boolean {
  const texts = new Set(messages.map(indexableText).map(oneLine));
  const summaries = messages.flatMap((message) =>
    message.role === "user" && isSummary(message) ? [oneLine(contentText(message.content))] : [],
  );
  return ({ content }) => {
    const text = oneLine(content);
    return texts.has(text) || summaries.some((summary) => summary.includes(text));
  };
}
