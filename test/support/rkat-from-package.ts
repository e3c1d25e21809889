import { registerHooks } from "node:module";

// Examples and benchmarks import "rkat" as users do. Preloaded as `rkat-from-package.ts?dist=URL`, this
// gives them the doors in that folder: the package that was built for the tests.
const dist = new URL(import.meta.url).searchParams.get("dist") ?? "";

registerHooks({
  resolve(specifier, context, next) {
    const door = /^rkat(?:\/(.+))?$/.exec(specifier);
    return door
      ? next(new URL(`${door[1] ?? "index"}.js`, dist).href, context)
      : next(specifier, context);
  },
});
