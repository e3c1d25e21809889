import { isObject } from "../core/fields.ts";
import {
  type Chunks,
  decoded,
  type Line,
  lineProblem,
  UnfinishedLine,
} from "../text/read-lines.ts";
import { bytesAt, type FoundFile } from "./found-file.ts";
import type { FileHead, ImportNotes } from "./imported.ts";
import { type Json, parsedJson } from "./json-fields.ts";
import { readRecords } from "./read-records.ts";

/** An object of a file, with its line, or its number in a list. */
export interface FileObject {
  readonly value: Json;
  readonly line: number;
}

/** Reads the objects of a file, which has one a line, or has them in a list, or is one. */
export async function* readObjects(
  file: FoundFile,
  notes?: ImportNotes,
): AsyncGenerator<FileObject> {
  if (file.path.endsWith(".zst") || (await startsWithObjectLine(file))) {
    yield* readRecords(file, notes);
    return;
  }
  yield* readListedObjects(file.read(), file, notes);
}

/** Reads the objects of a list, or those that follow each other. The number of an object stands for its line. */
export async function* readListedObjects(
  chunks: Chunks,
  file: FoundFile,
  notes?: ImportNotes,
): AsyncGenerator<FileObject> {
  let unparsed: number | undefined;
  for await (const value of readJsonValues(chunks, OBJECT_BYTES_MAX)) {
    // Only the last one can be cut off.
    if (unparsed !== undefined) notes?.skip(file, unparsed, "it is not JSON");
    unparsed = undefined;
    if (value.problem) {
      notes?.skip(file, value.number, `it ${lineProblem(value.problem, OBJECT_BYTES_MAX)}`);
      continue;
    }
    const object = parsedJson(value.text);
    if (isObject(object)) yield { value: object, line: value.number };
    else if (object === undefined) unparsed = value.number;
    else notes?.skip(file, value.number, "it is not a JSON object");
  }
  if (unparsed === undefined) return;
  // A program that writes a list writes the file as a whole.
  if (file.path.endsWith(".jsonl")) notes?.unfinished(file);
  else notes?.skip(file, unparsed, CUT_OFF);
}

/** Why the last value of a file of JSON cannot be read. */
export const CUT_OFF = "it is cut off: the file ends in the middle of it";

const OBJECT_BYTES_MAX = 64 * 1024 * 1024;
const HEAD_BYTES = 64 * 1024;

/** `{"a":1}` is a line, and so is the end of one. `[`, or a `{` that is closed on a later line, is not. */
async function startsWithObjectLine(file: FoundFile): Promise<boolean> {
  const text = new TextDecoder().decode(await bytesAt(file, 0, HEAD_BYTES)).trimStart();
  const [line = ""] = text.split("\n", 1);
  if (line.startsWith("[")) return false;
  if (!line.startsWith("{")) return afterTornLine(text) !== undefined;
  return line.length > HEAD_BYTES / 2 || isObject(parsedJson(line));
}

/**
 * Reads a stream of JSON one value at a time, without parsing it. In `[{"a":1}, {"b":2}]` the values are the two
 * objects. Outside an array each value counts: `{"a":1} {"b":2}` has the same two.
 *
 * A value longer than `bytesMax` is reported and skipped, as `readLines` does with a long line. A value that the
 * stream cuts off is given up to the cut, so parsing it fails.
 */
export async function* readJsonValues(chunks: Chunks, bytesMax: number): AsyncGenerator<Line> {
  const unfinished = new UnfinishedLine(bytesMax);
  const scan = new ValueScan();
  let number = 1;
  for await (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      const { start, end, ended } = scan.next(chunk, at);
      at = end;
      if (ended) {
        const value = lineOf(number, unfinished.end(chunk.subarray(start, end)));
        if (value) yield value;
        number += 1;
      } else if (unfinished.add(chunk.subarray(start, end))) {
        yield { number, problem: "too_long" };
      }
    }
  }
  const last = lineOf(number, unfinished.end(new Uint8Array()));
  if (last) yield last;
}

/** The first objects in the first bytes of a file. An object that does not end in them is none. */
export function firstObjects(head: Uint8Array): Pick<FileHead, "first" | "listed"> {
  const text = new TextDecoder().decode(head).trimStart();
  const first = objectIn(text.split("\n", 1)[0] ?? "") ?? objectIn(text) ?? afterTornLine(text);
  return { first, listed: first ?? firstListed(head) };
}

/** The beginning of the file is lost, so its first line is the end of an object: `d":"x"}`. The next lines are whole. */
function afterTornLine(text: string): Json | undefined {
  const [torn = "", ...lines] = text.split("\n", LINES_TRIED);
  if (!/\}\s*$/.test(torn)) return undefined;
  for (const line of lines) {
    const found = objectIn(line);
    if (found) return found;
  }
  return undefined;
}

const LINES_TRIED = 50;

function firstListed(head: Uint8Array): Json | undefined {
  const { start, end, ended } = new ValueScan().next(head, 0);
  return ended ? objectIn(new TextDecoder().decode(head.subarray(start, end))) : undefined;
}

function objectIn(text: string): Json | undefined {
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}

function lineOf(number: number, bytes: Uint8Array | "too_long" | undefined): Line | undefined {
  if (bytes === undefined) return undefined;
  return bytes === "too_long" ? { number, problem: bytes } : decoded({ number, bytes });
}

/** Finds the beginning and the end of a value. It counts brackets, and knows when it is inside a string. */
class ValueScan {
  #depth = 0;
  /** 1 inside the array that holds the values. */
  #base = 0;
  #seenFirst = false;
  #inValue = false;
  #inString = false;
  #escaped = false;

  /** Reads on from `at` to the end of the value, or of the chunk. */
  next(chunk: Uint8Array, at: number): { start: number; end: number; ended: boolean } {
    let start = this.#inValue ? at : chunk.length;
    for (let index = at; index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) {
          this.#inString = false;
          if (this.#depth === this.#base) return this.#end(start, index + 1);
        }
        continue;
      }
      if (!this.#inValue) {
        if (isBetween(byte)) continue;
        if (byte === OPEN_LIST && !this.#seenFirst) {
          this.#seenFirst = true;
          this.#base = 1;
          this.#depth = 1;
          continue;
        }
        this.#seenFirst = true;
        // The end of the list. What follows it is read as values outside a list.
        if (byte === CLOSE_LIST && this.#base === 1) {
          this.#base = 0;
          this.#depth = 0;
          continue;
        }
        this.#inValue = true;
        start = index;
      } else if (this.#depth === this.#base && (isBetween(byte) || byte === CLOSE_LIST)) {
        // The end of a number, or of a word such as `true`.
        return this.#end(start, index);
      }
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#depth += 1;
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        this.#depth = Math.max(this.#base, this.#depth - 1);
        if (this.#depth === this.#base) return this.#end(start, index + 1);
      }
    }
    return { start, end: chunk.length, ended: false };
  }

  #end(start: number, end: number): { start: number; end: number; ended: boolean } {
    this.#inValue = false;
    return { start, end, ended: true };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** White space, a comma, or a byte of the mark that some programs put at the start of a file. */
function isBetween(byte: number): boolean {
  return byte <= 0x20 || byte === 0x2c || byte === 0xef || byte === 0xbb || byte === 0xbf;
}
