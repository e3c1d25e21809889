import { createReadStream } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileProblem, SessionError } from "../../core/errors.ts";
import type { Origin } from "../../core/event.ts";
import type { StartTurn } from "../../core/operations/turns.ts";
import { temporaryFolder } from "../../files/make-folders.ts";
import { unclosable } from "../../text/quoting.ts";
import { type Line, lineProblem, readLines } from "../../text/read-lines.ts";
import type { Input, Terminal } from "./terminal.ts";

/** The place of the files that a command names: `cwd`, or standard input for `-`. */
type InputPlace = Pick<Terminal, "cwd" | "stdin">;

/** The bytes of a file. */
export async function* inputChunks(
  file: string,
  { cwd, stdin }: InputPlace,
): AsyncIterable<Uint8Array> {
  if (file === "-") {
    yield* stdin;
    return;
  }
  try {
    yield* createReadStream(resolve(cwd, file));
  } catch (error) {
    throw new SessionError("INVALID_PARAMS", {
      message: `Cannot read ${file}: ${fileProblem(error)}.`,
      hint: "Name a file, or - for standard input.",
      cause: error,
    });
  }
}

const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** An error message lists this many bad lines, and counts the others. */
const LISTED_MAX = 20;

/** A value, or its problem. */
export type Checked<Value> = { readonly value: Value } | { readonly problem: string };

/**
 * Reads a file of JSON Lines in which every line must be good.
 *
 * @throws SessionError `INVALID_PARAMS` at the end, with the number of each bad line.
 */
export async function* readJsonLines<Value>(
  file: string,
  place: InputPlace,
  check: (json: unknown) => Checked<Value>,
): AsyncIterable<Value> {
  const problems: string[] = [];
  let bad = 0;
  for await (const line of readLines(inputChunks(file, place), LINE_BYTES_MAX)) {
    const checked = checkLine(line, check);
    if ("value" in checked) {
      if (bad === 0) yield checked.value;
      continue;
    }
    bad += 1;
    if (bad <= LISTED_MAX) problems.push(`line ${line.number} ${checked.problem}`);
  }
  if (bad === 0) return;
  if (bad > LISTED_MAX) problems.push(`and ${bad - LISTED_MAX} more`);
  const name = file === "-" ? "Standard input" : file;
  throw new SessionError("INVALID_PARAMS", {
    message: `${name} has ${bad === 1 ? "a bad line" : "bad lines"}:\n${problems.join("\n")}`,
    hint: "Nothing was done. Correct the file and try again.",
  });
}

function checkLine<Value>(line: Line, check: (json: unknown) => Checked<Value>): Checked<Value> {
  if (line.problem) return { problem: lineProblem(line.problem, LINE_BYTES_MAX) };
  let json: unknown;
  try {
    json = JSON.parse(line.text);
  } catch {
    return { problem: "is not JSON" };
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return { problem: "is not a JSON object" };
  }
  return check(json);
}

/** A place whose file can be read more than once. Close it when done. */
interface Rereadable extends InputPlace {
  readonly file: string;
  close(): Promise<void>;
}

/** A file is read where it is. The contents of a pipe are first copied to a temporary file. */
export async function rereadable(file: string, { cwd, stdin }: InputPlace): Promise<Rereadable> {
  if (file !== "-" && !(await isPipe(resolve(cwd, file)))) {
    return { file, cwd, stdin, async close() {} };
  }
  const folder = await temporaryFolder("rkat-");
  const copy = await open(join(folder, "input"), "wx+", 0o600);
  const unlink = () => rm(folder, { recursive: true, force: true });
  // Unlinked at once, so that a killed process leaves nothing private behind.
  // Windows cannot delete an open file; there, `close` does it.
  await unlink().catch(() => {});
  for await (const chunk of inputChunks(file, { cwd, stdin })) await copy.writeFile(chunk);
  const copied: Input = {
    isTerminal: false,
    [Symbol.asyncIterator]: () =>
      copy.createReadStream({ start: 0, autoClose: false })[Symbol.asyncIterator](),
  };
  return {
    file: "-",
    cwd,
    stdin: copied,
    async close() {
      await copy.close();
      await unlink();
    },
  };
}

async function isPipe(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

/** The largest prompt in UTF-8 bytes. A larger one is most likely a file piped by mistake. */
const BYTES_MAX = 16 * 1024 * 1024;
const PATIENCE_MS = 2000;

export type PromptSource = Pick<Terminal, "stdin" | "stderr">;

/** A prompt and its author. */
type ReadPrompt = Pick<StartTurn, "prompt"> & { readonly origin?: Origin };

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
  // As for other programs, `-` alone stands for standard input.
  const typed = words.join(" ").trim().replace(/^-$/, "");
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
