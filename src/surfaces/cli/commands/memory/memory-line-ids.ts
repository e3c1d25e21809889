import { createHash } from "node:crypto";
import type { MemoryEntry } from "../../../../core/memory-store.ts";
import type { MemoryLine } from "./memory-line.ts";

/**
 * Gives ids to lines that have none. The same file gives the same ids, so that
 * adding it again adds nothing; a line that stands there twice counts twice.
 */
export class MemoryLineIds {
  readonly #seen = new Map<string, number>();

  entryOf(line: MemoryLine): MemoryEntry {
    if (line.id !== undefined) return { ...line, id: line.id };
    const { content, sessionId, turn } = line;
    const said = digest([sessionId, turn, content]);
    const ordinal = this.#seen.get(said) ?? 0;
    this.#seen.set(said, ordinal + 1);
    return { ...line, id: ordinal === 0 ? `line:${said}` : `line:${said}:${ordinal}` };
  }
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 27);
}
