import { SessionError } from "../../core/errors.ts";
import { isSettings } from "../../core/event-shape.ts";
import { isTime } from "../../core/instant.ts";
import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import { fields, isFlag, isNumber, isText, orNull } from "../../core/shape.ts";
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
  const [json = "", checksum] = String(text).split("\n");
  return checksum === String(hashOfKey(json)) ? JSON.parse(json) : undefined;
}

/** The snapshot in a text with or without a checksum; undefined when it is none. */
export function snapshotIn(text: string): SessionSnapshot | undefined {
  try {
    const [json = ""] = text.split("\n");
    const found: unknown = JSON.parse(json);
    return isListed(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** @throws SessionError `SESSION_STORE_ERROR` when the text has changed so much that it is no snapshot. */
export function listedSnapshot(text: string): SessionSnapshot {
  const found = snapshotIn(text);
  if (found) return found;
  const detail = "The snapshot of a session has changed since it was stored.";
  const hint = "Run a turn in the session (`rkat resume`), which stores its snapshot again.";
  throw new SessionError("SESSION_STORE_ERROR", { detail, hint });
}

const isSnapshot = fields({
  id: isText,
  seq: isNumber,
  settings: isSettings,
  created_at_ms: isTime,
  updated_at_ms: isTime,
  turns: isNumber,
  message_count: isNumber,
  compactions: isNumber,
  archived: isFlag,
  last_assistant_text: orNull(isText),
  usage: fields({ input_tokens: isNumber, output_tokens: isNumber }),
});

/** Whether a value has what a list of sessions shows. */
function isListed(found: unknown): found is SessionSnapshot {
  return isSnapshot(found);
}
