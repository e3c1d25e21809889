import type { Stats } from "node:fs";
import { type IndexLine, indexLine, readIndex, type SessionFile } from "./session-file.ts";

/** How `index.jsonl` is read and written. */
interface IndexFile {
  look(): Stats | undefined;
  read(): string;
  replace(text: string): void;
  writeAt(text: string, offset: number): void;
}

/** The lines of `index.jsonl` as this process read or wrote them last. */
interface KnownLines {
  /** The file that had them; undefined when there was none. */
  readonly file: Stats | undefined;
  readonly lines: IndexLine[];
  readonly sessionIds: Set<string>;
  /** Length of the lines in bytes. What is behind them was cut short by a crash. */
  readonly bytes: number;
}

/**
 * `index.jsonl`: a line for each session. It is read once, and again when another process or a person has changed it, so
 * a new session costs the same with any number of others.
 */
export class SessionIndex {
  readonly #file: IndexFile;
  #known: KnownLines | undefined;

  constructor(file: IndexFile) {
    this.#file = file;
  }

  /** The sessions that have a line, in its order. */
  get sessionIds(): readonly string[] {
    return this.#read().lines.map(({ sessionId }) => sessionId);
  }

  /** Adds the line of a session, unless it has one. */
  add(file: SessionFile): void {
    const known = this.#read();
    const { session_id: sessionId } = file;
    if (known.sessionIds.has(sessionId)) return;
    const line = indexLine(file);
    this.#known = undefined;
    this.#file.writeAt(`${line}\n`, known.bytes);
    known.lines.push({ line, sessionId });
    known.sessionIds.add(sessionId);
    this.#remember({ ...known, bytes: known.bytes + lengthOf(line) });
  }

  /** Removes the lines of a session. */
  remove(sessionId: string): void {
    this.#replace(this.#read().lines.filter((line) => line.sessionId !== sessionId));
  }

  /** Writes the lines of these sessions, and no others. */
  replace(files: readonly SessionFile[]): void {
    this.#replace(files.map((file) => ({ line: indexLine(file), sessionId: file.session_id })));
  }

  #replace(lines: readonly IndexLine[]): void {
    this.#known = undefined;
    this.#file.replace(lines.map(({ line }) => `${line}\n`).join(""));
    this.#remember(knownLines(lines));
  }

  #read(): KnownLines {
    const file = this.#file.look();
    if (this.#known && isSame(this.#known.file, file)) return this.#known;
    this.#known = { ...knownLines(readIndex(this.#file.read())), file };
    return this.#known;
  }

  /** Remembers what was written, if it is what is there. */
  #remember(known: Omit<KnownLines, "file">): void {
    const file = this.#file.look();
    this.#known = file?.size === known.bytes ? { ...known, file } : undefined;
  }
}

function knownLines(lines: readonly IndexLine[]): Omit<KnownLines, "file"> {
  return {
    lines: [...lines],
    sessionIds: new Set(lines.map(({ sessionId }) => sessionId)),
    bytes: lines.reduce((sum, { line }) => sum + lengthOf(line), 0),
  };
}

/** Length in bytes, with the line break. */
function lengthOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** Whether a file is another one, or was changed. */
function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return CHANGING.every((name) => one?.[name] === other?.[name]);
}

const CHANGING = ["dev", "ino", "size", "mtimeMs", "ctimeMs"] as const;
