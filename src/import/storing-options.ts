import type { SessionSettings } from "../core/event.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import type { ImportStore } from "../core/import-store.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { Stores } from "../core/stores.ts";
import type { ImportedSession } from "../transcripts/imported.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { ImportTally } from "./import-report.ts";
import type { Parts } from "./join-parts.ts";

/** Where imported sessions are stored. */
export interface ImportStores extends Pick<Stores, "events" | "sessions"> {
  readonly imports: ImportStore;
  /** Without it, an import can bring back what was forgotten. */
  readonly forgotten?: ForgottenTexts;
  /** Without it, the conversations are only in the log. */
  readonly memory?: MemoryStore;
}

/** A session whose title has no credential, and nothing that was forgotten. */
export type TitledSession = Omit<ImportedSession, "title"> & { readonly title: string | undefined };

export interface StoringOptions {
  readonly stores: ImportStores;
  readonly tally: ImportTally;
  /** What a session begins with, if it is new. */
  settingsOf(session: TitledSession): SessionSettings;
  /** Set for a trial, which stores nothing: the ids that it would have stored. */
  readonly trial?: Set<string>;
  /** What is stored with the next sessions. */
  readonly group: GroupCommit;
  /** The time of messages without one. */
  readonly timeMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called with the messages that were read, old and new. */
  readonly onRead: (messages: readonly Parts[]) => void;
  /** Called after each batch with the number of its messages, and with its events if their positions are known. */
  readonly onStored?: (messages: number, events: readonly PositionedEvent[]) => Promise<void>;
}
