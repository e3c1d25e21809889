/** Bytes of one line at the most: what is longer is no line of ours. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;

export interface Line {
  /** From 1, blank lines counted. */
  readonly number: number;
  /** Null when its bytes are not UTF-8. */
  readonly text: string | null;
}

/**
 * The lines of a stream of bytes, blank ones left out. Only `\n` ends a line:
 * Node's own reader also splits at U+2028, which JSON may have inside a text.
 *
 * @throws RangeError for a line that is too long to hold.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  lineBytesMax = LINE_BYTES_MAX,
): AsyncIterable<Line> {
  let number = 0;
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      number += 1;
      const line = lineOf(number, [...parts, chunk.subarray(start, end)]);
      if (line) yield line;
      parts = [];
      size = 0;
      start = end + 1;
    }
    size += chunk.length - start;
    if (size > lineBytesMax) {
      throw new RangeError(`line ${number + 1} is longer than ${lineBytesMax} bytes`);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  const last = lineOf(number + 1, parts);
  if (last) yield last;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function lineOf(number: number, parts: readonly Uint8Array[]): Line | undefined {
  try {
    const text = decoder.decode(Buffer.concat(parts)).trim();
    return text === "" ? undefined : { number, text };
  } catch {
    return { number, text: null };
  }
}
