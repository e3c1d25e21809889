import { registerHooks } from "node:module";

// Lets an example that imports "rkat", as a user's program does, run on the sources as they are.
const source = new URL("../../src/", import.meta.url);

registerHooks({
  resolve(specifier, context, next) {
    const door = /^rkat(?:\/(.+))?$/.exec(specifier);
    return door
      ? next(new URL(`${door[1] ?? "index"}.ts`, source).href, context)
      : next(specifier, context);
  },
});
