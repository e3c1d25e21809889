import { isObject } from "../core/fields.ts";
import { decoded, lineProblem, readByteLines } from "../text/read-lines.ts";
import { type FoundFile, plainBytes } from "./found-file.ts";
import type { ImportNotes } from "./imported.ts";
import { parsedJson } from "./json-fields.ts";

/** A line of a file of JSON Lines. */
export interface FileRecord {
  readonly value: Readonly<Record<string, unknown>>;
  readonly line: number;
  /** The start of the line, and of the next one, in the unpacked bytes if the file is compressed. */
  readonly offset: number;
  readonly end: number;
}

/** The place where reading starts. `line` is the number of the line there. */
interface Start {
  readonly offset: number;
  readonly line: number;
}

const LINE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads a file of JSON Lines as a stream. A line that is no JSON object is reported to `notes`, with its
 * number, and so is a last line that is still being written. A reader that goes through a file twice gives them once.
 */
export async function* readRecords(
  file: FoundFile,
  notes?: RecordNotes,
  start: Start = { offset: 0, line: 1 },
): AsyncGenerator<FileRecord> {
  let isDamaged = false;
  const bytes = plainBytes(file, start.offset, (reason) => {
    isDamaged = true;
    notes?.skip(file, undefined, reason);
  });
  for await (const found of readByteLines(bytes, LINE_BYTES_MAX)) {
    const line = start.line + found.number - 1;
    if (found.problem) {
      notes?.skip(file, line, `it ${lineProblem(found.problem, LINE_BYTES_MAX)}`);
      continue;
    }
    const read = parsedLine(found);
    if (!read) continue;
    const { value, problem } = read;
    if (isObject(value)) {
      const offset = start.offset + found.offset;
      yield { value, line, offset, end: offset + found.bytes.length + Number(found.ended) };
    } else if (found.ended) notes?.skip(file, line, problemOf(problem, value));
    else if (!isDamaged) notes?.unfinished(file);
  }
}

/** The records of larger files are parsed each time, so that they are not all in memory. */
const KEPT_BYTES = 2 * 1024 * 1024;

/** The records of a file for a reader that goes through it twice. A small file is parsed once. */
export class TwiceReadRecords {
  readonly #file: FoundFile;
  readonly #start: Start;
  /** The records and notes of the first reading. */
  #kept: { readonly records: FileRecord[]; readonly told: Told[] } | undefined;

  constructor(file: FoundFile, start: Start) {
    this.#file = file;
    this.#start = start;
    const isSmall = file.size - start.offset <= KEPT_BYTES && !file.path.endsWith(".zst");
    this.#kept = isSmall ? { records: [], told: [] } : undefined;
  }

  async *first(): AsyncGenerator<FileRecord> {
    const kept = this.#kept;
    const notes: RecordNotes = {
      skip: (...what) => kept?.told.push((to) => to.skip(...what)),
      unfinished: (...what) => kept?.told.push((to) => to.unfinished(...what)),
    };
    for await (const record of readRecords(this.#file, notes, this.#start)) {
      kept?.records.push(record);
      yield record;
    }
  }

  /** The same records, after `first` has given all. Bad lines are reported now. */
  async *again(notes: RecordNotes): AsyncGenerator<FileRecord> {
    const kept = this.#kept;
    this.#kept = undefined;
    for (const tell of kept?.told ?? []) tell(notes);
    yield* kept?.records ?? readRecords(this.#file, notes, this.#start);
  }
}

type RecordNotes = Pick<ImportNotes, "skip" | "unfinished">;
type Told = (to: RecordNotes) => void;

/** Reports why a file gives no session: it is empty or damaged, or its records do not say which session it is. */
export async function noteNoSession(file: FoundFile, notes: ImportNotes): Promise<void> {
  let records = 0;
  for await (const _ of readRecords(file, notes)) records += 1;
  if (records > 0) notes.skip(file, undefined, "its records do not say which session it is");
}

function problemOf(problem: "too_long" | "not_utf8" | undefined, value: unknown): string {
  if (problem) return `it ${lineProblem(problem, LINE_BYTES_MAX)}`;
  return value === undefined ? "it is not JSON" : "it is not a JSON object";
}

/** The value of a line. Undefined for a blank one. Its text may be long, so it is not kept. */
function parsedLine(line: Parameters<typeof decoded>[0]): ParsedLine | undefined {
  const read = decoded(line);
  if (!read || read.problem) return read;
  return { value: parsedJson(read.text) };
}

interface ParsedLine {
  readonly value?: unknown;
  readonly problem?: "not_utf8" | "too_long";
}
