import { SessionError } from "../core/errors.ts";

export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

const LINE_BYTES_MAX = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Splits a file into its lines, blank ones left out. Only a newline ends a line:
 * Node's readline also ends one at U+2028, which JSON allows inside a text.
 *
 * @throws SessionError `INVALID_PARAMS` for a line that is too long or not UTF-8.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  fileName: string,
  lineBytesMax = LINE_BYTES_MAX,
): AsyncGenerator<Line> {
  let number = 1;
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  const take = (piece: Uint8Array) => {
    bytes += piece.length;
    if (bytes > lineBytesMax) {
      throw badLine(fileName, number, `it is longer than ${lineBytesMax} bytes`);
    }
    pieces.push(piece);
  };
  const finish = (): Line => {
    const line = { number, text: decode(pieces, fileName, number) };
    number += 1;
    pieces = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      const line = finish();
      if (line.text.trim() !== "") yield line;
    }
    take(chunk.subarray(start));
  }
  const last = finish();
  if (last.text.trim() !== "") yield last;
}

export function badLine(fileName: string, number: number, problem: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    detail: `${fileName}, line ${number}: ${problem}.`,
    hint: 'A line is {"role", "content", …}, or an event of an events.jsonl file.',
  });
}

function decode(pieces: readonly Uint8Array[], fileName: string, number: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw badLine(fileName, number, "it is not UTF-8 text");
  }
}
