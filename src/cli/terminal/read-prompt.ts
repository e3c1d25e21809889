import { SessionError } from "../../core/errors.ts";
import type { Origin } from "../../core/event.ts";
import type { StartTurn } from "../../core/operations/turns.ts";
import { unclosable } from "../../text/quoting.ts";
import type { Terminal } from "./terminal.ts";

/** The largest prompt in UTF-8 bytes. A larger one is most likely a file piped by mistake. */
const BYTES_MAX = 16 * 1024 * 1024;
const PATIENCE_MS = 2000;

export type PromptSource = Pick<Terminal, "stdin" | "stderr">;

/** A prompt and its author. */
export type ReadPrompt = Pick<StartTurn, "prompt"> & { readonly origin?: Origin };

/**
 * The prompt: the piped text, followed by the words of the command line. A prompt that has only
 * piped text counts as a file's, so nothing is learned from it. Piped text before typed words is
 * between tags that it cannot close.
 *
 * Without either it is `fallback`; a `fallback` of null means that there need not be a prompt.
 *
 * @throws SessionError `INVALID_PARAMS` when there is no prompt.
 */
export async function readPrompt(
  words: readonly string[],
  terminal: PromptSource,
  fallback?: string,
): Promise<ReadPrompt>;
export async function readPrompt(
  words: readonly string[],
  terminal: PromptSource,
  fallback: string | null | undefined,
): Promise<ReadPrompt | undefined>;
export async function readPrompt(
  words: readonly string[],
  terminal: PromptSource,
  fallback: string | null = "",
): Promise<ReadPrompt | undefined> {
  const piped = await readPiped(terminal);
  const typed = words.join(" ").trim();
  if (fallback === null && typed === "" && piped === "") return undefined;
  const asked = typed === "" && piped === "" ? (fallback ?? "") : typed;
  if (piped === "" && asked === "") {
    throw new SessionError("INVALID_PARAMS", {
      message: "There is no prompt.",
      hint: 'Type one: `rkat "your prompt"`. Or pipe one in.',
    });
  }
  if (piped === "") return { prompt: asked };
  if (asked === "") return { prompt: piped, origin: { author: "file" } };
  return { prompt: `<stdin>\n${unclosable("stdin", piped)}\n</stdin>\n\n${asked}` };
}

async function readPiped({ stdin, stderr }: PromptSource): Promise<string> {
  if (stdin.isTerminal) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  // A pipe that stays open and empty would otherwise make the command hang in silence.
  const timer = setTimeout(() => {
    void stderr.write("note: waiting for the end of stdin; add </dev/null if there is no input.\n");
  }, PATIENCE_MS);
  try {
    for await (const chunk of stdin) {
      size += chunk.length;
      if (size > BYTES_MAX) {
        throw new SessionError("INVALID_PARAMS", {
          message: `Standard input is longer than ${BYTES_MAX / 1024 / 1024} MB.`,
        });
      }
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .trim();
}
