import { existsSync } from "node:fs";
import { registerHooks } from "node:module";

// What is measured is what users install: the doors come from the build, and only what fills and
// times them from the sources.
const sources = new URL("../../src/", import.meta.url).href;
const build = new URL("../../dist/", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    if (!resolved.url.startsWith(sources)) return resolved;
    const built = new URL(resolved.url.slice(sources.length).replace(/\.ts$/, ".js"), build);
    return existsSync(built) ? next(built.href, context) : resolved;
  },
});
