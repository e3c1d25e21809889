import type { LoggedMessage } from "./message-assembler.ts";

/** A message of the history, with what keeps its cost from being counted again. */
export interface HistoryEntry extends LoggedMessage {
  /** Its place among all messages of the session, from 0. */
  readonly ordinal: number;
  /** The turn that it belongs to, from 0; -1 before the first. */
  readonly turn: number;
  /** UTF-8 bytes of its JSON. */
  readonly bytes: number;
}
