import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * The pages whose commands and programs are run. The decisions say what was considered, and contain no
 * instructions. The commands of benchmarks.md are `npm run bench`, which takes minutes; bench/ has its own tests.
 */
export const DOCS_PAGES = ["README.md", ...globSync("docs/*.md")]
  .filter((page) => page !== "docs/benchmarks.md")
  .sort();

const EXAMPLES = globSync("examples/*.ts").map((file) => readFileSync(file, "utf8"));

/** What the programs of the docs leave to the reader. */
export const DOCS_PRELUDE = pathToFileURL(resolve("test/support/docs-prelude.ts"));

export interface Block {
  readonly language: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
  readonly code: readonly string[];
}

/** The code of blocks, at the lines where it stands in the page. */
export function linesAt(blocks: readonly Block[]): string {
  const lines: string[] = [];
  for (const { line, code } of blocks) {
    for (const [index, text] of code.entries()) lines[line - 1 + index] = text;
  }
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\n`;
}

/** From an example, which test/examples.test.ts runs. */
export function isQuoted({ code }: Block): boolean {
  return EXAMPLES.some((example) => example.includes(code.join("\n")));
}

export function blocksOf(page: string): Block[] {
  const blocks: (Block & { readonly code: string[] })[] = [];
  let fenced = false;
  for (const [index, text] of linesOf(page).entries()) {
    const [, language] = /^```(\w*)/.exec(text) ?? [];
    if (language === undefined) {
      if (fenced) blocks.at(-1)?.code.push(text);
      continue;
    }
    fenced = !fenced;
    if (fenced) blocks.push({ language, line: index + 2, code: [] });
  }
  return blocks;
}

export function linesOf(page: string): string[] {
  return readFileSync(page, "utf8").split("\n");
}
