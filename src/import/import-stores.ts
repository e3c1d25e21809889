import type { SessionSettings } from "../core/event.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import type { ImportStore } from "../core/import-store.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { Stores } from "../core/stores.ts";
import type { ImportedSession } from "../transcripts/imported.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { ImportTally } from "./import-report.ts";
import type { Parts } from "./read-message.ts";

/** The stores of imported sessions. */
export interface ImportStores extends Pick<Stores, "events" | "sessions"> {
  readonly imports: ImportStore;
  /** Without it, an import can bring back forgotten text. */
  readonly forgotten?: ForgottenTexts;
  /** Without it, the conversations are only in the log. */
  readonly memory?: MemoryStore;
}

/** A session whose title has no credential and no forgotten text. */
export type TitledSession = Omit<ImportedSession, "title"> & { readonly title: string | undefined };

export interface StoringOptions {
  readonly stores: ImportStores;
  readonly tally: ImportTally;
  /** The settings of a new session. */
  settingsOf(session: TitledSession): SessionSettings;
  /** Set for a trial, which stores nothing: the ids that it would have stored. */
  readonly trial?: Set<string>;
  /** The parts in a batch of messages. */
  readonly batchParts: number;
  /** The group that is stored with the next sessions. */
  readonly group: GroupCommit;
  /** The time of messages without one. */
  readonly timeMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called with the messages that were read, old and new. */
  readonly onRead: (messages: readonly Parts[]) => void;
  /** Called after each batch with the number of its messages, and with its events if their positions are known. */
  readonly onStored?: (messages: number, events: readonly PositionedEvent[]) => Promise<void>;
}

/** The stores of projects, beside the store of the import. */
export interface ImportPlaces {
  /** The store of the project that the session was held in. Undefined: the import's own store. */
  placeOf(session: Pick<ImportedSession, "id" | "project">): Promise<ImportPlace | undefined>;
  /** Whether a place is still where an earlier import found it. */
  isThere(mark: string): boolean;
}

export interface ImportPlace {
  /** The name in the report, such as `~/src/app/.rkat`. */
  readonly name: string;
  /** Another store at the same path has another mark. */
  readonly mark: string;
  readonly stores: ImportStores;
}

/**
 * Stores that also check `library`: sessions imported there are not stored a second time, and
 * texts forgotten there stay forgotten.
 */
export function withLibraryKnown(stores: ImportStores, library: ImportStores): ImportStores {
  const { imports, forgotten } = stores;
  return {
    ...stores,
    imports: {
      async known(ids) {
        const [own, there] = await Promise.all([imports.known(ids), library.imports.known(ids)]);
        return new Set([...own, ...there]);
      },
      commit: (batches, files, options) => imports.commit(batches, files, options),
      files: () => imports.files(),
    },
    ...(forgotten && library.forgotten
      ? { forgotten: eitherForgotten(forgotten, library.forgotten) }
      : {}),
  };
}

function eitherForgotten(own: ForgottenTexts, library: ForgottenTexts): ForgottenTexts {
  return {
    add: (sessionId, texts) => own.add(sessionId, texts),
    async has(sessionId, texts) {
      const here = await own.has(sessionId, texts);
      const there = await library.has(sessionId, texts);
      return here.map((isGone, index) => isGone || there[index] === true);
    },
  };
}
