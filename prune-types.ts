import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/**
 * Removes the declarations in `dist` that no door reaches: they describe code that users cannot import.
 * tsc writes one for every file that it compiles.
 */
const about = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly exports: Readonly<Record<string, string>>;
};
const doors = Object.values(about.exports).filter((path) => path.endsWith(".js"));
const needed = new Set(doors.map((path) => normalize(declarationOf(path))));
// The set grows while it is read.
for (const file of needed) {
  const imports = readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g);
  for (const [, path = ""] of imports) needed.add(join(dirname(file), declarationOf(path)));
}
for (const file of globSync("dist/**/*.d.ts")) if (!needed.has(file)) rmSync(file);

function declarationOf(path: string): string {
  return path.replace(/\.[jt]s$/, ".d.ts");
}
