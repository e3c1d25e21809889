import type { ImportReport, Skipped } from "../core/operations/imports.ts";

/** The messages and sessions added to one store. */
export interface AddedTo {
  /** The folder of a store, such as `~/src/app/.rkat`. Undefined: the import's own store. */
  readonly place: string | undefined;
  readonly messages: number;
  /** Ids of the sessions that got messages. */
  readonly sessions: readonly string[];
}

/** A file of random bytes has a bad line every 256 bytes. */
const SKIPPED_MAX = 1000;
const TYPES_MAX = 200;
/** A folder of other things may have any number of files. */
const NAMED_MAX = 50;

/** Adds up the figures of an import. */
export class ImportTally {
  sessions = 0;
  added = 0;
  alreadyThere = 0;
  otherBranches = 0;
  leftOut = 0;
  readonly #skipped: Skipped[] = [];
  #notListed = 0;
  #noTranscripts = 0;
  readonly #unnamed: Skipped[] = [];
  readonly #unknownTypes = new Map<string, number>();
  readonly #redacted = new Map<string, number>();
  readonly #byPlace = new Map<string | undefined, { messages: number; sessions: Set<string> }>();
  readonly #stillWritten = new Set<string>();

  skip(file: string, line: number | undefined, reason: string): void {
    if (this.#skipped.length >= SKIPPED_MAX) this.#notListed += 1;
    else this.#skipped.push({ file, ...(line === undefined ? {} : { line }), reason });
  }

  /** Notes a file of a folder whose format is not known. */
  isNoTranscript(file: string, looks: string): void {
    this.#noTranscripts += 1;
    if (this.#noTranscripts <= NAMED_MAX)
      this.#unnamed.push({ file, reason: `its format is not known. ${looks}` });
  }

  /** Names the files of a folder that are of no format that is known. */
  nameUnknownFiles(folder: string): void {
    for (const { file, reason } of this.#unnamed.splice(0)) this.skip(file, undefined, reason);
    const more = this.#noTranscripts - NAMED_MAX;
    if (more > 0)
      this.skip(folder, undefined, `${more} more files in it are of no format that is known`);
  }

  unknown(type: string): void {
    const isListed = this.#unknownTypes.has(type) || this.#unknownTypes.size < TYPES_MAX;
    count(this.#unknownTypes, isListed ? type : "others");
  }

  redacted(kind: string): void {
    count(this.#redacted, kind);
  }

  isStillWritten(file: string): void {
    if (this.#stillWritten.size < SKIPPED_MAX) this.#stillWritten.add(file);
  }

  addedTo(place: string | undefined, sessionId: string, messages: number): void {
    if (messages === 0) return;
    const sum = this.#byPlace.get(place) ?? { messages: 0, sessions: new Set() };
    sum.messages += messages;
    sum.sessions.add(sessionId);
    this.#byPlace.set(place, sum);
  }

  /** The messages and sessions added to each store. */
  get byPlace(): readonly AddedTo[] {
    return [...this.#byPlace].map(([place, { messages, sessions }]) => ({
      place,
      messages,
      sessions: [...sessions],
    }));
  }

  /** Whether nothing was found, and nothing said of it. */
  get isEmpty(): boolean {
    const { added, alreadyThere, otherBranches, leftOut } = this;
    const lists = [this.#skipped.length, this.#unknownTypes.size, this.#stillWritten.size];
    return [added, alreadyThere, otherBranches, leftOut, ...lists].every((each) => each === 0);
  }

  report(): ImportReport {
    const { sessions, added, alreadyThere, otherBranches, leftOut } = this;
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
      stillWritten: [...this.#stillWritten],
    };
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
