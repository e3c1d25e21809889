import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

/** The page, as the build made it. It has no data and no token. */
export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly style: string;
}

/** The sources have no built page beside them. */
const FOLDER = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/" : "./", import.meta.url);

export function readPageFiles(): PageFiles {
  const read = (name: string) =>
    brotliDecompressSync(readFileSync(new URL(`inspect-page.${name}.br`, FOLDER))).toString();
  return { html: read("html"), script: read("js"), style: read("css") };
}
