import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, normalize } from "node:path";
import { type BuildOptions, build } from "rolldown";
import { minifySync, parseSync, Visitor } from "rolldown/utils";
import config, { DRAWING, pageConfig } from "./rolldown.config.ts";
import { keepReachableTypes } from "./scripts/reachable-types.ts";

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
 * Code that takes less room. What draws `rkat chat` is other packages' code, and is minified. Ours stays as it was
 * written, because errors show it: only the spaces before each line go, and lines of texts keep theirs.
 */
function small(name: string, code: string): string {
  if (name.startsWith(`${DRAWING}-`)) return minifySync(name, code, { module: true }).code;
  const inText = new Set<number>();
  const visitor = new Visitor({
    TemplateElement({ start, end }) {
      for (let at = start; at < end; at += 1) if (code[at] === "\n") inText.add(at);
    },
  });
  visitor.visit(parseSync(name, code).program);
  return code.replaceAll(/\n[\t ]+/g, (space, at: number) => (inText.has(at) ? space : "\n"));
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
