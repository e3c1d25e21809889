/** A line, or what is wrong with it. Lines are numbered from 1; blank ones are counted but left out. */
export type Line = { readonly number: number } & (
  | { readonly text: string; readonly problem?: never }
  | { readonly problem: "too_long" | "not_utf8" }
);

/** What chunks of bytes come from: a stream, a file, an array. */
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
  const unfinished = new UnfinishedLine(bytesMax);
  let number = 1;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = unfinished.end(number, chunk.subarray(start, end));
      if (line) yield line;
      number += 1;
      start = end + 1;
    }
    if (unfinished.add(chunk.subarray(start))) yield { number, problem: "too_long" };
  }
  const last = unfinished.end(number, new Uint8Array());
  if (last) yield last;
}

/** Completes a sentence that begins with "the line". */
export function lineProblem(problem: NonNullable<Line["problem"]>, bytesMax: number): string {
  return problem === "not_utf8" ? "is not UTF-8" : `is longer than ${bytesMax} bytes`;
}

const NEWLINE = 10;

/** The start of a line whose end has not arrived yet. */
class UnfinishedLine {
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

  /** Ends the line with `rest`. A blank line gives nothing, and so does one already reported. */
  end(number: number, rest: Uint8Array): Line | undefined {
    try {
      if (this.#tooLong) return undefined;
      if (this.#size === 0 && rest.length <= this.#bytesMax) return decoded(number, rest);
      if (this.add(rest)) return { number, problem: "too_long" };
      return decoded(number, this.#buffer.subarray(0, this.#size));
    } finally {
      this.#buffer = new Uint8Array();
      this.#size = 0;
      this.#tooLong = false;
    }
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decoded(number: number, bytes: Uint8Array): Line | undefined {
  try {
    const text = decoder.decode(bytes);
    return text.trim() === "" ? undefined : { number, text };
  } catch {
    return { number, problem: "not_utf8" };
  }
}
