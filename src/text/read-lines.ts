/** A line, or its problem. Lines are numbered from 1; blank ones are counted but left out. */
export type Line = { readonly number: number } & (
  | { readonly text: string; readonly problem?: never }
  | { readonly problem: "too_long" | "not_utf8" }
);

/** A line of bytes, without its end. */
export type ByteLine = {
  /** From 1. */
  readonly number: number;
  /** The start of the line, in bytes. */
  readonly offset: number;
} & (
  | {
      /** Valid until the next line is asked for. */
      readonly bytes: Uint8Array;
      /** Whether a newline ends it. The last line of a file that is still written may have none. */
      readonly ended: boolean;
      readonly problem?: never;
    }
  | { readonly problem: "too_long" }
);

/** A source of chunks of bytes: a stream, a file, an array. */
export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Reads the lines of a stream of bytes, for example JSON Lines.
 *
 * Only `\n` ends a line. Node's own reader also splits at U+2028, which JSON may contain.
 *
 * A line longer than `bytesMax` is reported as soon as that is known, and the rest of it is
 * skipped, so the reader never holds more than about twice `bytesMax`.
 */
export async function* readLines(chunks: Chunks, bytesMax: number): AsyncGenerator<Line> {
  for await (const line of readByteLines(chunks, bytesMax)) {
    const read = line.problem ? { number: line.number, problem: line.problem } : decoded(line);
    if (read) yield read;
  }
}

/** The same lines as bytes, with their places. Blank lines are among them. */
export async function* readByteLines(chunks: Chunks, bytesMax: number): AsyncGenerator<ByteLine> {
  const unfinished = new UnfinishedLine(bytesMax);
  let number = 1;
  let offset = 0;
  let position = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const bytes = unfinished.end(chunk.subarray(start, end));
      if (bytes === "too_long") yield { number, offset, problem: bytes };
      else if (bytes) yield { number, offset, bytes, ended: true };
      number += 1;
      start = end + 1;
      offset = position + start;
    }
    if (unfinished.add(chunk.subarray(start))) yield { number, offset, problem: "too_long" };
    position += chunk.length;
  }
  const bytes = unfinished.end(new Uint8Array());
  if (bytes instanceof Uint8Array && bytes.length > 0)
    yield { number, offset, bytes, ended: false };
}

/** Completes a sentence that begins with "the line". */
export function lineProblem(problem: NonNullable<Line["problem"]>, bytesMax: number): string {
  return problem === "not_utf8" ? "is not UTF-8" : `is longer than ${bytesMax} bytes`;
}

const NEWLINE = 10;

/** The start of a line whose end has not arrived yet. */
export class UnfinishedLine {
  readonly #bytesMax: number;
  #buffer = new Uint8Array();
  #size = 0;
  #tooLong = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns true when this part makes the line too long, and only for the first such part. */
  add(part: Uint8Array): boolean {
    if (this.#tooLong) return false;
    const size = this.#size + part.length;
    if (size > this.#bytesMax) {
      this.#tooLong = true;
      this.#buffer = new Uint8Array();
      return true;
    }
    // Doubling keeps the copying linear, however small the parts are.
    if (size > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, this.#size));
      this.#buffer = larger;
    }
    this.#buffer.set(part, this.#size);
    this.#size = size;
    return false;
  }

  /** Ends the line with `rest`. A line that was reported as too long gives nothing. */
  end(rest: Uint8Array): Uint8Array | "too_long" | undefined {
    try {
      if (this.#tooLong) return undefined;
      if (this.#size === 0 && rest.length <= this.#bytesMax) return rest;
      if (this.add(rest)) return "too_long";
      return this.#buffer.subarray(0, this.#size);
    } finally {
      this.#buffer = new Uint8Array();
      this.#size = 0;
      this.#tooLong = false;
    }
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The line as text; nothing for a blank one. */
export function decoded(line: {
  readonly number: number;
  readonly bytes: Uint8Array;
}): Line | undefined {
  const { number, bytes } = line;
  try {
    const text = decoder.decode(bytes);
    return text.trim() === "" ? undefined : { number, text };
  } catch {
    return { number, problem: "not_utf8" };
  }
}
