import type { DurableEvent } from "../core/event.ts";
import { indexableText, isSummary } from "../core/message.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import type { ImportedMessage } from "../transcripts/imported.ts";
import { titleOf } from "../transcripts/json-fields.ts";
import { joinParts, type Parts } from "./join-parts.ts";
import type { MemoryToolFilter } from "./memory-tools.ts";

export type MessageAdded = Extract<DurableEvent, { type: "message_added" }>;

/** A message, and the event that it becomes. */
export interface ReadMessage {
  readonly parts: Parts;
  readonly event: MessageAdded;
  /** The session's title may repeat what was forgotten. */
  readonly forgotten?: string;
  /** The kinds of its credentials, which were replaced. */
  readonly redacted: readonly string[];
}

export function readMessage(parts: Parts, filter: MemoryToolFilter): ReadMessage {
  const redacted: string[] = [];
  return { parts, event: eventOf(parts, filter, (kind) => redacted.push(kind)), redacted };
}

/**
 * The parts of a message that were not seen yet. Now they are. They have the time of the message's first part, as
 * they would if all had come at once.
 */
export function unseenOf(
  message: ReadMessage,
  seen: Set<string>,
  filter: MemoryToolFilter,
): readonly ReadMessage[] {
  const { parts } = message;
  const unseen = parts.filter((part) => {
    const isNew = !idsOf(part).some((id) => seen.has(id));
    for (const id of idsOf(part)) seen.add(id);
    return isNew;
  });
  if (unseen.length === parts.length) return [message];
  const [first, ...rest] = unseen;
  return first ? [readMessage([{ ...first, origin: parts[0].origin }, ...rest], filter)] : [];
}

export function idsOf({ sourceId, alias }: ImportedMessage): readonly string[] {
  return alias === undefined ? [sourceId] : [sourceId, alias];
}

/** What a person typed, and what a session may be called by. */
export function isPrompt({ event: { message, origin, memory } }: ReadMessage): boolean {
  return (
    message.role === "user" && !isSummary(message) && origin?.author === "user" && memory !== false
  );
}

export function titleIn({ parts }: ReadMessage): string | undefined {
  return titleOf(indexableText(parts[0].message));
}

function eventOf(
  parts: Parts,
  filter: MemoryToolFilter,
  onRedacted: (kind: string) => void,
): MessageAdded {
  const [{ origin, boundary }] = parts;
  const message = filter.without(joinParts(parts));
  const isForMemory = parts.some(({ memory }) => memory !== false);
  return {
    type: "message_added",
    message: redactMessage(message, onRedacted),
    origin,
    imported: { ids: parts.map(({ sourceId }) => sourceId), ...(boundary ? { boundary } : {}) },
    ...(isForMemory ? {} : { memory: false }),
  };
}

/** About how long the texts of a message are. */
export function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let sum = 0;
  for (const item of Object.values(value)) sum += charactersOf(item);
  return sum;
}
