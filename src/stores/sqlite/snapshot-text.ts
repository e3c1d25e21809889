import { SessionError } from "../../core/errors.ts";
import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import { hashOfKey } from "../../search/text-units.ts";

/**
 * A snapshot as the store keeps it: its JSON, and a line with a checksum of it. SQLite does not notice a
 * byte that flips on the disk.
 */
export function snapshotText(snapshot: SessionSnapshot): string {
  const json = JSON.stringify(snapshot);
  return `${json}\n${hashOfKey(json)}`;
}

/** Undefined when the text has changed since it was stored. The log gives the same state again. */
export function readSnapshot(text: string): SessionSnapshot | undefined {
  const [json = "", checksum] = text.split("\n");
  return checksum === String(hashOfKey(json)) ? JSON.parse(json) : undefined;
}

/** @throws SessionError `SESSION_STORE_ERROR` when the text has changed so much that it is no JSON. */
export function listedSnapshot(text: string): SessionSnapshot {
  const [json = ""] = text.split("\n");
  try {
    return JSON.parse(json);
  } catch (cause) {
    const detail = "The snapshot of a session has changed since it was stored.";
    const hint = "Run a turn in the session (`rkat resume`), which stores its snapshot again.";
    throw new SessionError("SESSION_STORE_ERROR", { detail, hint, cause });
  }
}
