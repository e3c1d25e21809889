import { statSync } from "node:fs";
import { resolve } from "node:path";
import { SessionError } from "../../core/errors.ts";

/**
 * The files of a store, as they were when it was opened.
 *
 * On Unix an open file stays usable after it is deleted: SQLite writes on, and everything is gone
 * when the process ends. So before each commit, the files that the paths name now are compared.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #identities: ReadonlyMap<string, string>;

  /** The store at `path` must be open: SQLite keeps its log and the log's index while it is. */
  constructor(path: string) {
    this.#path = resolve(path);
    const files = ["", "-wal", "-shm"].map((end) => this.#path + end);
    this.#identities = new Map(
      files.flatMap((file) => {
        const identity = identityOf(file);
        return identity === undefined ? [] : [[file, identity]];
      }),
    );
  }

  /** @throws SessionError `SESSION_STORE_ERROR` when one of the files was removed or replaced. */
  requireInPlace(): void {
    const isSame = [...this.#identities].every(([file, identity]) => identityOf(file) === identity);
    if (isSame) return;
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: `${this.#path} was removed or replaced while it was open. Nothing was stored.`,
      hint: "Stop this process. Put the store back, or let the next start make an empty one.",
    });
  }
}

function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}-${found.ino}`;
}
