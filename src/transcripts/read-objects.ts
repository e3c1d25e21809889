import { isObject } from "../core/fields.ts";
import { type Chunks, lineProblem } from "../core/read-lines.ts";
import { bytesAt, type FoundFile } from "./found-file.ts";
import type { ImportNotes } from "./imported.ts";
import { type Json, parsedJson } from "./json-fields.ts";
import { readJsonValues } from "./json-values.ts";
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

/** `{"a":1}` is a line. `[`, or a `{` that is closed on a later line, is not. */
async function startsWithObjectLine(file: FoundFile): Promise<boolean> {
  const text = new TextDecoder().decode(await bytesAt(file, 0, HEAD_BYTES)).trimStart();
  const [line = ""] = text.split("\n", 1);
  return line.startsWith("{") && (line.length > HEAD_BYTES / 2 || isObject(parsedJson(line)));
}
