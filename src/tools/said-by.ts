import type { MemoryEntry } from "../core/memory-store.ts";

/**
 * Who said a recalled text, in words that a model cannot take for its own conversation: `user` for
 * the user's own words, `model`, `tool`, `file` or `program` for others', a name in a recording.
 */
export function saidBy({ role, speaker }: Pick<MemoryEntry, "role" | "speaker">): string {
  if (role === "assistant") return "model";
  if (role === "user") return speaker ?? "user";
  return role ?? "unknown";
}
