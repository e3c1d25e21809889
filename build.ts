import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, normalize } from "node:path";
import { type BuildOptions, build } from "rolldown";
import { minifySync } from "rolldown/utils";
import config, { isOthers, pageConfig } from "./rolldown.config.ts";
import { keepReachableTypes } from "./scripts/reachable-types.ts";
import { smallerCode } from "./scripts/smaller-code.ts";

// Builds what users install into `dist`. It prints nothing: each `npm ci` runs it.

rmSync("dist", { recursive: true, force: true });
await build(config as BuildOptions);
for (const file of globSync("dist/*.js")) {
  writeFileSync(file, small(basename(file), readFileSync(file, "utf8")));
}
await build(pageConfig as BuildOptions);
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
keepReachableTypes("dist", doors());

/**
 * Code that takes less room. Other packages' code is minified. Ours keeps its names and its lines, because errors show them.
 */
function small(name: string, code: string): string {
  return isOthers(name) ? minifySync(name, code, { module: true }).code : smallerCode(name, code);
}

/** The declarations of what users import. */
function doors(): readonly string[] {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  return Object.values(exports).flatMap((path) =>
    path.endsWith(".js") ? [normalize(path.replace(/\.js$/, ".d.ts"))] : [],
  );
}
