import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { errorText, SessionError } from "../../../core/errors.ts";
import type { Terminal } from "./terminal.ts";

/** The bytes of a file that the command line names; `-` is standard input. */
export async function* inputChunks(
  file: string,
  { cwd, stdin }: Pick<Terminal, "cwd" | "stdin">,
): AsyncIterable<Uint8Array> {
  if (file === "-") {
    yield* stdin;
    return;
  }
  try {
    yield* createReadStream(resolve(cwd, file));
  } catch (error) {
    throw new SessionError("INVALID_PARAMS", {
      detail: `${file} cannot be read: ${reason(error)}.`,
      hint: "Name a file, or - for standard input.",
      cause: error,
    });
  }
}

function reason(error: unknown): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? errorText(error);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "you may not read it",
};
