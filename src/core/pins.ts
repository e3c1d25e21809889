/** The messages of a session that stay whatever a compaction does, and how much they may take. */
export interface Pins {
  /** In the order of the history. */
  readonly pins: readonly PinnedMessage[];
  /** Estimated tokens of pinned messages, and of the tool calls and results that stay with them. */
  readonly tokens: number;
  readonly tokensMax: number;
}

export interface PinnedMessage {
  /** Its id. */
  readonly message: number;
  /** Its place in the history now, from 0. */
  readonly position: number;
  readonly role: "user" | "assistant" | "tool";
  /** How it begins. */
  readonly text: string;
}
