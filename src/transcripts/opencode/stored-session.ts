import type { Json } from "../json-fields.ts";

/** A message of opencode with its parts, as it writes them. */
export interface StoredMessage {
  readonly id: string;
  readonly info: Json;
  /** A message of the newer table has its content in `info`. */
  readonly parts?: readonly Json[];
}

/** A session of opencode with its messages, the oldest first. */
export interface StoredSession {
  readonly id: string;
  readonly about: Json;
  readonly project: string | undefined;
  readonly messages: () => AsyncIterable<StoredMessage> | Iterable<StoredMessage>;
}
