import { speakerOf } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import type { AddMemory, Given } from "../core/requests.ts";
import { hashOf } from "../knowledge/hash-of.ts";

/** Stands for a session in entries that were added by hand. */
const ADDED = "added";

/** The memory entry of an added text. The same text by the same author has the same id. */
export function addedEntry({ content, origin }: Given<AddMemory>): MemoryEntry {
  const isModels = origin?.author === "model";
  const said = {
    role: isModels ? "assistant" : "user",
    content: content.trim(),
    ...given({ speaker: isModels ? origin.speaker : speakerOf(origin) }),
  };
  return {
    id: `added:${hashOf(said)}`,
    ...said,
    sessionId: ADDED,
    turn: null,
    kind: "message",
    time: origin?.time ?? new Date().toISOString(),
  };
}
