/** What an import did. */
export interface ImportReport {
  readonly sessions: number;
  /** Messages that were read: those that were added, and those that were there already. */
  readonly messages: number;
  readonly added: number;
  readonly alreadyThere: number;
  /** What could not be read. */
  readonly skipped: readonly Skipped[];
  /** Records of types that are not known, by type. */
  readonly unknownTypes: Readonly<Record<string, number>>;
  /** Credentials that were replaced before anything was stored, by kind. */
  readonly redacted: Readonly<Record<string, number>>;
  /** Messages of branches that the conversations left. */
  readonly otherBranches: number;
  /** Sessions that were left out: rkat's own, and those of other memory tools. */
  readonly leftOut: number;
  /** Files whose last line is still being written. */
  readonly unfinished: number;
}

export interface Skipped {
  readonly file: string;
  readonly line?: number;
  readonly reason: string;
}

/** A file of random bytes has a bad line every 256 bytes. */
const SKIPPED_MAX = 1000;
const TYPES_MAX = 200;

/** Adds up what happens during an import. */
export class ImportTally {
  sessions = 0;
  added = 0;
  alreadyThere = 0;
  otherBranches = 0;
  leftOut = 0;
  unfinished = 0;
  /** Files of a folder that are of no format that is known. */
  noTranscripts = 0;
  readonly #skipped: Skipped[] = [];
  #notListed = 0;
  readonly #unknownTypes = new Map<string, number>();
  readonly #redacted = new Map<string, number>();
  readonly #byPlace = new Map<string | undefined, number>();

  skip(file: string, line: number | undefined, reason: string): void {
    if (this.#skipped.length >= SKIPPED_MAX) this.#notListed += 1;
    else this.#skipped.push({ file, ...(line === undefined ? {} : { line }), reason });
  }

  unknown(type: string): void {
    const isListed = this.#unknownTypes.has(type) || this.#unknownTypes.size < TYPES_MAX;
    count(this.#unknownTypes, isListed ? type : "others");
  }

  redacted(kind: string): void {
    count(this.#redacted, kind);
  }

  addedTo(place: string | undefined, messages: number): void {
    if (messages > 0) this.#byPlace.set(place, (this.#byPlace.get(place) ?? 0) + messages);
  }

  /** How many messages each store got, by its name; undefined is the import's own store. */
  get byPlace(): ReadonlyMap<string | undefined, number> {
    return this.#byPlace;
  }

  report(): ImportReport {
    const { sessions, added, alreadyThere, otherBranches, leftOut, unfinished } = this;
    const more = { file: "others", reason: `${this.#notListed} more were skipped` };
    return {
      sessions,
      messages: added + alreadyThere,
      added,
      alreadyThere,
      skipped: [...this.#skipped, ...(this.#notListed > 0 ? [more] : [])],
      unknownTypes: Object.fromEntries(this.#unknownTypes),
      redacted: Object.fromEntries(this.#redacted),
      otherBranches,
      leftOut,
      unfinished,
    };
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
