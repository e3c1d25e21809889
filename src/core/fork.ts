/** Where a message was said that a fork began with. */
export interface SaidIn {
  readonly session: string;
  /** Its id there. */
  readonly message: number;
}

/** A summary that another session wrote. When its log loses a text, the summary is written again here too. */
export interface InheritedSummary {
  readonly session: string;
  /** `seq` of the compaction there. */
  readonly event: number;
  /** Without its prefix. */
  readonly text: string;
  /** Its place in the history. */
  readonly index: number;
}

/** A session that began with the history of this one, as a session's state and its snapshot have it. */
export interface KnownFork {
  readonly session: string;
  readonly event: number;
}
