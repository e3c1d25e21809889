import { v7 } from "uuid";

/** A new UUIDv7 (RFC 9562): text that sorts by the time of its making. */
export function newId(): string {
  return v7();
}
