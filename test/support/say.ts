import { writeSync } from "node:fs";

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Prints a line before it returns: what is said has left the process when it is killed. It waits for a reader that is slow. */
export function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "EAGAIN") throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}
