import { readFileSync } from "node:fs";

/** The page, as the build made it. It has no data and no token. */
export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly style: string;
}

/** The sources have no built page beside them. */
const FOLDER = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/" : "./", import.meta.url);

export function readPageFiles(): PageFiles {
  const read = (name: string) => readFileSync(new URL(`inspect-page.${name}`, FOLDER), "utf8");
  return { html: read("html"), script: read("js"), style: read("css") };
}
