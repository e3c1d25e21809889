import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { type BuildOptions, build } from "rolldown";
import config, { pageConfig } from "./rolldown.config.ts";

// Builds what users install into `dist`. It prints nothing: each `npm ci` runs it.

rmSync("dist", { recursive: true, force: true });
await build(config as BuildOptions);
await build(pageConfig as BuildOptions);
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
removeUnreachableTypes();

/** Removes the declarations in `dist` that no door reaches. They describe code that users cannot import. */
function removeUnreachableTypes(): void {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  const doors = Object.values(exports).filter((path) => path.endsWith(".js"));
  const needed = new Set(doors.map((path) => normalize(declarationOf(path))));
  // The set grows while it is read.
  for (const file of needed) {
    const imports = readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g);
    for (const [, path = ""] of imports) needed.add(join(dirname(file), declarationOf(path)));
  }
  for (const file of globSync("dist/**/*.d.ts")) if (!needed.has(file)) rmSync(file);
}

function declarationOf(path: string): string {
  return path.replace(/\.[jt]s$/, ".d.ts");
}
