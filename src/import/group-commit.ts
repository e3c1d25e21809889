import type { ImportBatch, ImportedFile, ImportStore } from "../core/import-store.ts";

interface Waiting {
  readonly batch: ImportBatch;
  readonly done: PromiseWithResolvers<number | undefined>;
}

export interface BatchOptions {
  readonly characters: number;
  /** Makes the batch wait for the group. Called when it does. */
  readonly onWaiting?: (() => void) | undefined;
}

/** A group of this size is committed. */
const CHARACTERS_MAX = 1_000_000;
const MESSAGES_MAX = 2000;

/**
 * Commits the last messages of several sessions, and how far their files were read, in one transaction. A commit
 * takes as long as reading a small file.
 *
 *     file 1, file 2, file 3 ──► one commit
 */
export class GroupCommit {
  /** Keeps how far each file was read. */
  readonly #own: ImportStore;
  /** The store that the group goes to. */
  #store: ImportStore;
  #waiting: Waiting[] = [];
  #files = new Map<string, ImportedFile>();
  #characters = 0;
  readonly #sessions = new Set<string>();
  readonly #ids = new Set<string>();
  /** Work that ends after the commit. */
  #following: Promise<unknown>[] = [];

  constructor(own: ImportStore) {
    this.#own = own;
    this.#store = own;
  }

  get isFull(): boolean {
    return this.#characters >= CHARACTERS_MAX || this.#ids.size + this.#files.size >= MESSAGES_MAX;
  }

  hasSession(id: string): boolean {
    return this.#sessions.has(id);
  }

  hasMessage(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Call it before you ask what `store` knows: a group goes to one store. */
  async goTo(store: ImportStore): Promise<void> {
    if (store === this.#store) return;
    await this.settle();
    this.#store = store;
  }

  /**
   * Resolves when the batch is stored: soon, or with `onWaiting` when the group is. Returns the position of its first
   * event, if the store tells it.
   */
  async commit(
    batch: ImportBatch,
    { characters, onWaiting }: BatchOptions,
  ): Promise<number | undefined> {
    const done = Promise.withResolvers<number | undefined>();
    this.#waiting.push({ batch, done });
    this.#characters += characters;
    this.#sessions.add(batch.sessionId);
    for (const id of batch.ids) this.#ids.add(id);
    if (onWaiting) onWaiting();
    else await this.#flush();
    return await done.promise;
  }

  /** Saved with the group. */
  saveFile(path: string, file: ImportedFile): void {
    this.#files.set(path, file);
  }

  /** `settle` waits for it, and throws its error. */
  follow(work: Promise<unknown>): void {
    work.catch(() => {});
    this.#following.push(work);
  }

  /** Resolves when all is stored. */
  async settle(): Promise<void> {
    this.follow(this.#flush());
    await Promise.all(this.#following);
    this.#following = [];
  }

  /** A caller that waits for a batch gets the error. Without its batches, a file is not saved. */
  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    const files = this.#files;
    this.#waiting = [];
    this.#files = new Map();
    this.#characters = 0;
    try {
      const batches = waiting.map(({ batch }) => batch);
      let first = await this.#send(batches, files);
      for (const { batch, done } of waiting) {
        done.resolve(first);
        if (first !== undefined) first += batch.events.length;
      }
    } catch (error) {
      if (waiting.length === 0) throw error;
      for (const { done } of waiting) done.reject(error);
    } finally {
      for (const { batch } of waiting) {
        this.#sessions.delete(batch.sessionId);
        for (const id of batch.ids) this.#ids.delete(id);
      }
    }
  }

  async #send(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile>,
  ): Promise<number | undefined> {
    const isOwn = this.#store === this.#own;
    const [here, after] = isOwn ? [files, NO_FILES] : [NO_FILES, files];
    const isAny = batches.length + here.size > 0;
    // The note that a file was read is in another file than these messages: it must not outlive them.
    const how = isOwn ? undefined : { durable: true };
    const first = isAny ? await this.#store.commit(batches, here, how) : undefined;
    if (after.size > 0) await this.#own.commit([], after);
    return first;
  }
}

const NO_FILES: ReadonlyMap<string, ImportedFile> = new Map();
