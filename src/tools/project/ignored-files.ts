import { join } from "node:path";
import { readSmallFile } from "../../files/plain-files.ts";
import { globMatcher } from "./glob.ts";

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
export class IgnoredFiles {
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
