import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { type Tool, ToolError } from "../../core/tool.ts";
import { lookAt, readSmallFile } from "../../files/plain-files.ts";
import { TextFinder } from "../../text/find-text.ts";
import { ownTool } from "../own-tool.ts";
import { hasCredentials, mayHoldCredentials } from "./credential-files.ts";
import { globMatcher, PathGlobs } from "./glob.ts";
import { isClosed, type ProjectFolder, plainly } from "./project-folder.ts";

/** Files and folders that one call looks at. */
const ENTRIES_MAX = 50_000;
const LISTED_MAX = 500;
const LINES_MAX = 100;
/** Letters around a found text. */
const AROUND = { before: 80, after: 200 } as const;

/** The tools that find files of the project by name and by content. */
export function findTools(folder: ProjectFolder): readonly Tool[] {
  const glob = z
    .string()
    .min(1)
    .max(500)
    .nullish()
    .describe('Only these files: "src/**/*.ts", "*.{md,txt}". Default: all.');
  return [
    ownTool({
      name: "list_files",
      description:
        "List the files of the project, without links, what .gitignore names, and node_modules.",
      input: z.object({ glob }),
      async execute({ glob }, { signal }) {
        const found: string[] = [];
        let count = 0;
        for await (const path of filesIn(folder, glob, signal)) {
          count += 1;
          if (found.length < LISTED_MAX) found.push(path);
        }
        if (count === 0) return "No file matches.";
        if (count > found.length) found.push(`[${count - found.length} more; use a narrower glob]`);
        return found.join("\n");
      },
    }),
    ownTool({
      name: "search_files",
      description:
        "Find lines of the project's text files that contain one of some texts (not patterns). Prints path:line: text.",
      input: z.object({
        texts: z.array(z.string().min(1).max(500)).min(1).max(20),
        glob,
        match_case: z.boolean().nullish().describe("Default false."),
      }),
      async execute({ texts, glob, match_case }, { signal }) {
        const spelled = (text: string) => (match_case ? text : text.toLowerCase());
        const wanted = texts.map((text) => new TextFinder(spelled(text)));
        const found: string[] = [];
        const rest = resting();
        let secrets = 0;
        for await (const path of filesIn(folder, glob, signal)) {
          if (mayHoldCredentials(path)) {
            secrets += 1;
            continue;
          }
          const text = textOf(path, folder);
          const lines: FoundLine[] = [];
          for await (const line of linesWith(wanted, text, spelled(text), () => rest(signal))) {
            lines.push(line);
            if (found.length + lines.length > LINES_MAX) break;
          }
          const isShown = ({ from, at }: FoundLine) =>
            [from + at, from + at + AROUND.after] as const;
          if (lines.some((line) => hasCredentials(text, ...isShown(line)))) secrets += 1;
          else found.push(...lines.map((line) => `${path}:${line.number}: ${cutAround(line)}`));
          if (found.length > LINES_MAX) break;
        }
        const notes = [
          ...(found.length > LINES_MAX ? ["[more lines match; use a narrower glob]"] : []),
          ...(secrets > 0 ? [`[not searched: ${secrets} files that may hold credentials]`] : []),
        ];
        const lines = found.length === 0 ? ["No line matches."] : found.slice(0, LINES_MAX);
        return [...lines, ...notes].join("\n");
      },
    }),
  ];
}

interface FoundLine {
  readonly number: number;
  readonly line: string;
  /** The place of the line in the text. */
  readonly from: number;
  /** The place of the first of the texts in it. */
  readonly at: number;
}

function cutAround({ line, at }: FoundLine): string {
  return line.slice(Math.max(0, at - AROUND.before), at + AROUND.after).trim();
}

/**
 * The lines of a text that contain one of some texts. `spelled` is the text as it is compared; it has the same lines. Each
 * of the texts passes over it once.
 */
async function* linesWith(
  wanted: readonly TextFinder[],
  text: string,
  spelled: string,
  rest: () => Promise<void>,
): AsyncGenerator<FoundLine> {
  const next: number[] = [];
  for (const finder of wanted) {
    next.push(finder.indexIn(spelled));
    await rest();
  }
  const lines = { text: new LineReader(text), spelled: new LineReader(spelled) };
  for (;;) {
    const places = next.filter((at) => at >= 0);
    if (places.length === 0) return;
    const place = Math.min(...places);
    const { number, from, to } = lines.spelled.lineAt(place);
    const own = lines.text.lineOf(number);
    const line = text.slice(own.from, own.to);
    yield { number, line, from: own.from, at: place - from };
    for (const [index, finder] of wanted.entries()) {
      const at = next[index] ?? -1;
      if (at >= 0 && at <= to) next[index] = finder.indexIn(spelled, to + 1);
    }
  }
}

/** Walks through the lines of a text, and never back. */
class LineReader {
  readonly #text: string;
  #number = 1;
  #from = 0;
  #to: number;

  constructor(text: string) {
    this.#text = text;
    this.#to = this.#endFrom(0);
  }

  /** The line that a place is in. */
  lineAt(place: number): { readonly number: number; readonly from: number; readonly to: number } {
    while (this.#to < place) this.#goOn();
    return { number: this.#number, from: this.#from, to: this.#to };
  }

  lineOf(number: number): { readonly from: number; readonly to: number } {
    while (this.#number < number) this.#goOn();
    return { from: this.#from, to: this.#to };
  }

  #goOn(): void {
    this.#number += 1;
    this.#from = this.#to + 1;
    this.#to = this.#endFrom(this.#from);
  }

  #endFrom(from: number): number {
    const end = this.#text.indexOf("\n", from);
    return end < 0 ? this.#text.length : end;
  }
}

/** A file that is no text, or too large, has nothing to find. */
function textOf(path: string, folder: ProjectFolder): string {
  try {
    return folder.read(path);
  } catch {
    return "";
  }
}

/** A folder that is still to be looked at, with what the `.gitignore` files above it say. */
interface Waiting {
  readonly path: string;
  readonly name: string;
  readonly above: readonly IgnoreFile[];
}

/** The files of the project that fit a glob, in order. */
async function* filesIn(
  { root }: ProjectFolder,
  glob: string | null | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const fits = glob == null ? () => true : globMatcher(glob);
  const ignored = new IgnoreFiles(root);
  const rest = resting();
  const waiting: Waiting[] = [{ path: "", name: "", above: [] }];
  let seen = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    signal.throwIfAborted();
    const place = join(root, folder.path);
    if (folder.path !== "" && !plainly(() => lookAt(root, place))?.isDirectory()) continue;
    const here = ignored.enter(folder);
    const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    if (seen > ENTRIES_MAX) {
      throw new ToolError(
        "execution_failed",
        `The project has more than ${ENTRIES_MAX} files. Use run_command to look at a part of it.`,
      );
    }
    const shown = entries
      .filter(({ name }) => name !== "node_modules" && !isClosed(name))
      .map((entry) => ({ entry, path: pathBelow(folder.path, entry.name) }))
      .sort((one, other) => (one.path < other.path ? -1 : 1));
    const folders: Waiting[] = [];
    for (const { entry, path } of shown) {
      await rest(signal);
      if (ignored.hides(entry.name, entry.isDirectory(), here)) continue;
      if (entry.isDirectory()) folders.push({ path, name: entry.name, above: here });
      else if (entry.isFile() && fits(path)) yield path;
    }
    waiting.push(...folders.toReversed());
  }
}

function pathBelow(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** Lets others go on after so many milliseconds of work. */
const REST_AFTER_MS = 20;

/** A function that work on many files calls for each of them, so that it can be interrupted. */
function resting(): (signal: AbortSignal) => Promise<void> {
  let since = performance.now();
  return async (signal) => {
    if (performance.now() - since < REST_AFTER_MS) return;
    await setImmediate();
    signal.throwIfAborted();
    since = performance.now();
  };
}

const BYTES_MAX = 100_000;
const RULES_MAX = 1_000;
/** Letters of all rules that count in a folder. Rules beyond hide nothing. */
const LETTERS_MAX = 16_000;
/** Steps of comparing for one call. No project needs as many: 50 000 names and 200 rules take a quarter. */
const STEPS_MAX = 300_000_000;
/** Steps that reading a letter of a rule is worth. */
const READING_STEPS = 100;

interface IgnoreRule {
  readonly glob: string;
  readonly isIgnored: boolean;
  readonly foldersOnly: boolean;
}

/** The rules of one `.gitignore`, and how far its globs have come in the path of a folder. */
interface IgnoreFile {
  readonly rules: readonly IgnoreRule[];
  readonly letters: number;
  readonly globs: PathGlobs;
  readonly places: PathGlobs["start"];
}

/**
 * Whether a path is left out of lists and searches, by the `.gitignore` files above it. The last
 * rule that fits decides, as in git. git itself is not asked: its settings can run commands, and they
 * may have come with the project.
 */
class IgnoreFiles {
  readonly #root: string;
  #steps = 0;

  constructor(root: string) {
    this.#root = root;
  }

  /** The files that say something about what is in a folder. Its own is the last. */
  enter({ path, name, above }: Waiting): readonly IgnoreFile[] {
    const known = above.map((file) => ({ ...file, places: this.#enter(file, name) }));
    const letters = known.reduce((sum, file) => sum + file.letters, 0);
    const own = this.#fileIn(path, LETTERS_MAX - letters);
    return own ? [...known, own] : known;
  }

  hides(name: string, isFolder: boolean, files: readonly IgnoreFile[]): boolean {
    for (const file of files.toReversed()) {
      const fitting = file.globs.fitting(this.#enter(file, name));
      const last = fitting.findLast((index) => isFolder || !file.rules[index]?.foldersOnly);
      if (last !== undefined) return file.rules[last]?.isIgnored ?? false;
    }
    return false;
  }

  #enter({ globs, places }: IgnoreFile, name: string): PathGlobs["start"] {
    this.#spend(globs.stepsPerLetter * (name.length + 1));
    return globs.enter(places, name);
  }

  #fileIn(folder: string, lettersMax: number): IgnoreFile | undefined {
    const lines = this.#read(pathBelow(folder, ".gitignore")).split("\n").slice(0, RULES_MAX);
    let letters = 0;
    const rules = lines.flatMap((line) => {
      const rule = ruleOf(line.trim());
      if (!rule || letters + rule.glob.length > lettersMax) return [];
      letters += rule.glob.length;
      return [rule];
    });
    if (rules.length === 0) return undefined;
    this.#spend(letters * READING_STEPS);
    const globs = new PathGlobs(rules.map(({ glob }) => glob));
    return { rules, letters, globs, places: globs.start };
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps <= STEPS_MAX) return;
    throw new ToolError(
      "execution_failed",
      "The patterns in the .gitignore files of this project take too long to compare. Use run_command to list files.",
    );
  }

  #read(path: string): string {
    try {
      return readSmallFile(this.#root, join(this.#root, path), BYTES_MAX) ?? "";
    } catch {
      // A link, or too large: it hides nothing.
      return "";
    }
  }
}

function ruleOf(line: string): IgnoreRule | undefined {
  if (line === "" || line.startsWith("#")) return undefined;
  const isIgnored = !line.startsWith("!");
  const foldersOnly = line.endsWith("/");
  return {
    glob: line.slice(isIgnored ? 0 : 1, foldersOnly ? -1 : undefined),
    isIgnored,
    foldersOnly,
  };
}
