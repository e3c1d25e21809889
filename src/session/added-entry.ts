import { speakerOf } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { type MemoryEntry, NO_SESSION } from "../core/memory-store.ts";
import type { AddMemory } from "../core/operations/memory.ts";
import type { Given } from "../core/operations/parse-request.ts";
import { hashOf } from "../knowledge/hash-of.ts";

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
    sessionId: NO_SESSION.added,
    turn: null,
    kind: "message",
    time: origin?.time ?? new Date().toISOString(),
  };
}
