import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as immediate } from "node:timers/promises";
import { z } from "zod";
import { defineTool, type Tool, ToolError } from "../../core/tool.ts";
import { lookAt, readSmallFile } from "../../files/plain-files.ts";
import { hasCredentials, mayHoldCredentials } from "./credential-files.ts";
import { globMatcher } from "./glob.ts";
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
    defineTool({
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
    defineTool({
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
        const wanted = texts.map(spelled);
        const found: string[] = [];
        let secrets = 0;
        for await (const path of filesIn(folder, glob, signal)) {
          if (mayHoldCredentials(path)) {
            secrets += 1;
            continue;
          }
          const text = textOf(path, folder);
          if (!wanted.some((text_) => spelled(text).includes(text_))) continue;
          const lines = linesWith(wanted, text, spelled, LINES_MAX + 1 - found.length);
          // Ctrl-C is heard between two files.
          await immediate();
          if (lines.some(({ start, end }) => hasCredentials(text, start, end))) secrets += 1;
          else found.push(...lines.map(({ number, shown }) => `${path}:${number}: ${shown}`));
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

/** The lines with one of these texts, and where in the text they are. */
function linesWith(
  wanted: readonly string[],
  text: string,
  spelled: (text: string) => string,
  linesMax: number,
) {
  const found: { number: number; start: number; end: number; shown: string }[] = [];
  let start = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const at = firstOf(wanted, spelled(line));
    if (at >= 0) {
      const shown = line.slice(Math.max(0, at - AROUND.before), at + AROUND.after).trim();
      found.push({ number: index + 1, start: start + at, end: start + at + AROUND.after, shown });
    }
    if (found.length === linesMax) break;
    start += line.length + 1;
  }
  return found;
}

/** The place of the first of these texts in a line; -1 where there is none. */
function firstOf(texts: readonly string[], line: string): number {
  const places = texts.map((text) => line.indexOf(text)).filter((at) => at >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** A file that is no text, or too large, has nothing to find. */
function textOf(path: string, folder: ProjectFolder): string {
  try {
    return folder.read(path);
  } catch {
    return "";
  }
}

/** The files of the project that fit a glob, in order. */
async function* filesIn(
  { root }: ProjectFolder,
  glob: string | null | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const fits = glob == null ? () => true : globMatcher(glob);
  const ignored = new IgnoredFiles(root);
  const waiting = [""];
  let seen = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    signal.throwIfAborted();
    const place = join(root, folder);
    if (folder !== "" && !plainly(() => lookAt(root, place))?.isDirectory()) continue;
    ignored.enter(folder);
    const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    if (seen > ENTRIES_MAX) {
      throw new ToolError(
        "execution_failed",
        `The project has more than ${ENTRIES_MAX} files. Use run_command to look at a part of it.`,
      );
    }
    const paths = entries
      .filter(({ name }) => name !== "node_modules" && !isClosed(name))
      .map((entry) => ({ entry, path: folder === "" ? entry.name : `${folder}/${entry.name}` }))
      .filter(({ entry, path }) => !ignored.has(path, entry.isDirectory()))
      .sort((one, other) => (one.path < other.path ? -1 : 1));
    for (const { entry, path } of paths) if (entry.isFile() && fits(path)) yield path;
    for (const { entry, path } of paths.toReversed()) if (entry.isDirectory()) waiting.push(path);
  }
}

const BYTES_MAX = 100_000;
const RULES_MAX = 1_000;

interface IgnoreRule {
  readonly isIgnored: boolean;
  readonly foldersOnly: boolean;
  fits(path: string): boolean;
}

/**
 * Whether a path is left out of lists and searches, by the `.gitignore` files above it. The last
 * rule that fits decides, as in git. git itself is not asked: its settings can run commands, and they
 * may have come with the project.
 */
class IgnoredFiles {
  readonly #root: string;
  readonly #rules: IgnoreRule[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  /** Reads the `.gitignore` of a folder. */
  enter(folder: string): void {
    const text = this.#read(folder === "" ? ".gitignore" : `${folder}/.gitignore`);
    for (const line of text.split("\n").slice(0, RULES_MAX)) {
      const rule = ruleOf(line.trim(), folder);
      if (rule) this.#rules.push(rule);
    }
  }

  has(path: string, isFolder: boolean): boolean {
    const rule = this.#rules.findLast(
      ({ foldersOnly, fits }) => (isFolder || !foldersOnly) && fits(path),
    );
    return rule?.isIgnored ?? false;
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

function ruleOf(line: string, folder: string): IgnoreRule | undefined {
  if (line === "" || line.startsWith("#")) return undefined;
  const isIgnored = !line.startsWith("!");
  const foldersOnly = line.endsWith("/");
  const glob = line.slice(isIgnored ? 0 : 1, foldersOnly ? -1 : undefined);
  const fitsBelow = globMatcher(glob);
  const above = folder === "" ? "" : `${folder}/`;
  return {
    isIgnored,
    foldersOnly,
    fits: (path) => path.startsWith(above) && fitsBelow(path.slice(above.length)),
  };
}
