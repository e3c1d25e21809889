import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

/** A declaration, or one name of an import. */
interface Part {
  /** What it is called in its file. */
  readonly name: string;
  /** With the comment above it. Of an import: the name alone, as it stands between the braces. */
  readonly text: string;
  /** What it may refer to in its file: all words in it, which are a few too many. */
  readonly words: readonly string[];
  /** What it refers to in other files. */
  readonly taken: readonly Name[];
  /** Of an import or a re-export: what stands around the braces. */
  readonly around?: readonly [before: string, after: string];
}
type Name = readonly [file: string, name: string];

/**
 * Removes from the declarations in `folder` what no door reaches. It describes code that users cannot import.
 */
export function keepReachableTypes(folder: string, doors: readonly string[]): void {
  const read = new Map<string, readonly Part[]>();
  const partsIn = (file: string) => {
    const parts = read.get(file) ?? partsOf(file);
    read.set(file, parts);
    return parts;
  };
  const waiting = doors.flatMap((door) => partsIn(door).map(({ name }): Name => [door, name]));
  const needed = new Set<Part>();
  // The list grows while it is read.
  for (const [file, name] of waiting) {
    for (const part of partsIn(file)) {
      if (part.name !== name || needed.has(part)) continue;
      needed.add(part);
      waiting.push(...part.taken, ...part.words.map((word): Name => [file, word]));
    }
  }
  for (const file of globSync(`${folder}/**/*.d.ts`)) {
    const kept = read.get(file)?.filter((part) => needed.has(part));
    if (kept) writeFileSync(file, `${textOf(kept)}export {};\n`);
    else rmSync(file);
  }
}

function textOf(parts: readonly Part[]): string {
  return [...Map.groupBy(parts, ({ around, text }) => around ?? text)]
    .map(([around, group]) => {
      if (typeof around === "string") return around;
      return `${around[0]} ${group.map(({ text }) => text).join(", ")} ${around[1]}`;
    })
    .join("");
}

function partsOf(file: string): readonly Part[] {
  const code = readFileSync(file, "utf8");
  let start = 0;
  return parseSync(file, code, { lang: "dts" }).program.body.flatMap(({ end }) => {
    const text = `${code.slice(start, end).trim()}\n`;
    start = end;
    return partsOfStatement(file, text);
  });
}

const COMMENT = /\/\*[\s\S]*?\*\//g;
const BRACES = /^((?:im|ex)port (?:type )?\{)([^}]*)(\}(?: from "(.+)")?;\n)$/;
const DECLARATION =
  /^(?:export )?(?:declare )?(?:abstract )?(?:const|function|class|interface|type) (\w+)/;

function partsOfStatement(file: string, text: string): readonly Part[] {
  const bare = text.replaceAll(COMMENT, "").trimStart();
  const [, before, names, after, from] = BRACES.exec(bare) ?? [];
  if (before === undefined || names === undefined || after === undefined) {
    const name = DECLARATION.exec(bare)?.[1];
    if (name === undefined) throw new Error(`${file}: what does this declare? ${text}`);
    const taken = [...bare.matchAll(/import\("(\..+?)"\)\.(\w+)/g)].map(
      ([, path = "", there = ""]): Name => [fileOf(file, path), there],
    );
    return [{ name, text, words: bare.match(/[\w$]+/g) ?? [], taken }];
  }
  const around = [text.slice(0, text.indexOf(before)) + before, after] as const;
  return names.split(",").flatMap((written) => {
    const [there = "", here = there] = written
      .trim()
      .replace(/^type /, "")
      .split(" as ");
    if (there === "") return [];
    const taken: readonly Name[] = from?.startsWith(".") ? [[fileOf(file, from), there]] : [];
    const words = from === undefined ? [there] : [];
    return [{ name: here, text: written.trim(), words, taken, around }];
  });
}

function fileOf(from: string, path: string): string {
  return join(dirname(from), path.replace(/\.[jt]s$/, ".d.ts"));
}
