/** One line of a connection, or what is wrong with it. */
export type Frame =
  | { readonly text: string }
  | { readonly problem: "too_long" }
  | { readonly problem: "not_utf8" };

/**
 * The lines of a connection, blank ones left out. A line longer than `bytesMax`
 * is told of when it ends, and never held.
 */
export async function* readFrames(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncIterable<Frame> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const add = (part: Uint8Array) => {
    size += part.length;
    if (size > bytesMax) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const take = (): Frame | undefined => {
    const frame = size > bytesMax ? ({ problem: "too_long" } as const) : decode(parts);
    parts = [];
    size = 0;
    return frame;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      const frame = take();
      if (frame) yield frame;
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  const last = take();
  if (last) yield last;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decode(parts: readonly Uint8Array[]): Frame | undefined {
  try {
    const text = decoder.decode(Buffer.concat(parts));
    return text.trim() === "" ? undefined : { text };
  } catch {
    return { problem: "not_utf8" };
  }
}
