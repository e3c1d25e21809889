import { SessionError } from "../../../core/errors.ts";
import type { Terminal } from "./terminal.ts";

/** UTF-8 bytes that a prompt may take; more is a file somebody piped by mistake. */
const BYTES_MAX = 16 * 1024 * 1024;
const PATIENCE_MS = 2000;

export type PromptSource = Pick<Terminal, "stdin" | "stderr">;

/**
 * The prompt: the words of the command line, after what was piped in. Without
 * words, what was piped in is the prompt; without either, `unsaid` is; with
 * `null`, there need be none.
 *
 * @throws SessionError `INVALID_PARAMS` when there is none of them.
 */
export async function readPrompt(
  words: readonly string[],
  terminal: PromptSource,
  unsaid?: string,
): Promise<string>;
export async function readPrompt(
  words: readonly string[],
  terminal: PromptSource,
  unsaid: string | null | undefined,
): Promise<string | undefined>;
export async function readPrompt(
  words: readonly string[],
  terminal: PromptSource,
  unsaid: string | null = "",
): Promise<string | undefined> {
  const piped = await readPiped(terminal);
  const said = words.join(" ").trim();
  if (unsaid === null && said === "" && piped === "") return undefined;
  const asked = said === "" && piped === "" ? (unsaid ?? "") : said;
  if (piped === "" && asked === "") {
    throw new SessionError("INVALID_PARAMS", {
      detail: "There is no prompt.",
      hint: 'Say what you want: rkat "your prompt", or pipe it in.',
    });
  }
  if (piped === "") return asked;
  return asked === "" ? piped : `<stdin>\n${piped}\n</stdin>\n\n${asked}`;
}

async function readPiped({ stdin, stderr }: PromptSource): Promise<string> {
  if (stdin.isTerminal) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  // A pipe that nobody writes to and nobody closes would otherwise wait without a word.
  const timer = setTimeout(() => {
    void stderr.write("note: waiting for the end of standard input; `</dev/null` gives it none.\n");
  }, PATIENCE_MS);
  try {
    for await (const chunk of stdin) {
      size += chunk.length;
      if (size > BYTES_MAX) {
        throw new SessionError("INVALID_PARAMS", {
          detail: `Standard input is longer than ${BYTES_MAX / 1024 / 1024} MB.`,
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
