import { type BigIntStats, lstatSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SessionError } from "../../core/errors.ts";

/** File systems that count in whole or even seconds give changes within that time the same time. */
const TICK_MS = 2000;

/**
 * The files of a store, as they were when it was opened.
 *
 * On Unix an open file stays usable after it is deleted: SQLite keeps writing, and everything is gone
 * when the process ends. So each commit first checks that the paths still name these files.
 *
 * Removing or replacing a file changes the time of its folder, which no program can set back (`ctime`).
 * While that time is the same, one look at the folder is enough.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #identities: ReadonlyMap<string, string>;
  readonly #areTogether: boolean;
  /** The folder when all files were last found in place. */
  #unchanged: BigIntStats | undefined;

  /** The store at `path` must be open: SQLite keeps its log and the log's index while it is. */
  constructor(path: string, { now = Date.now }: { readonly now?: () => number } = {}) {
    this.#path = resolve(path);
    this.#folder = dirname(this.#path);
    this.#now = now;
    const files = ["", "-wal", "-shm"].map((end) => this.#path + end);
    this.#identities = new Map(
      files.flatMap((file) => {
        const found = look(file);
        return found ? [[file, identityOf(found)]] : [];
      }),
    );
    // If the path is a link, the files are in another folder.
    this.#areTogether = this.#identities.size === files.length && lstatSync(this.#path).isFile();
  }

  /** @throws SessionError `SESSION_STORE_ERROR` when one of the files was removed or replaced. */
  requireInPlace(): void {
    const folder = this.#areTogether ? look(this.#folder) : undefined;
    if (folder && this.#unchanged && isSame(folder, this.#unchanged)) return;
    for (const [file, identity] of this.#identities) {
      const found = look(file);
      if (!found || identityOf(found) !== identity) throw this.#gone();
    }
    // A file may still be removed in the same tick as the folder's last change.
    const isSettled = folder && this.#now() - Number(folder.ctimeMs) > TICK_MS;
    this.#unchanged = isSettled ? folder : undefined;
  }

  #gone(): SessionError {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${this.#path} was removed or replaced while it was open. Nothing was stored.`,
      hint: "Stop this process. Put the store back, or let the next start make an empty one.",
    });
  }
}

function look(path: string): BigIntStats | undefined {
  return statSync(path, { throwIfNoEntry: false, bigint: true });
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ctimeNs === other.ctimeNs && one.ino === other.ino && one.dev === other.dev;
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}-${ino}`;
}
