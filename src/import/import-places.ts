import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import type { ImportedSession } from "../transcripts/imported.ts";
import type { ImportStores } from "./storing-options.ts";

/** The stores of projects, beside the store of the import. */
export interface ImportPlaces {
  /** The store of the project that the session was held in. Undefined: the import's own store. */
  placeOf(session: Pick<ImportedSession, "id" | "project">): Promise<ImportPlace | undefined>;
  /** Whether a place is still where an earlier import found it. */
  isThere(mark: string): boolean;
}

export interface ImportPlace {
  /** For the report, such as `~/src/app/.rkat`. */
  readonly name: string;
  /** Another store at the same path has another mark. */
  readonly mark: string;
  readonly stores: ImportStores;
}

/**
 * Stores that also know what `library` knows: what was imported there is not stored a second time,
 * and what was forgotten there stays forgotten.
 */
export function knowing(stores: ImportStores, library: ImportStores): ImportStores {
  const { imports, forgotten } = stores;
  return {
    ...stores,
    imports: {
      async known(ids) {
        const [own, there] = await Promise.all([imports.known(ids), library.imports.known(ids)]);
        return new Set([...own, ...there]);
      },
      commit: (batches, files) => imports.commit(batches, files),
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
