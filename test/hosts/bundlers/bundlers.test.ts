import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { EdgeVM } from "@edge-runtime/vm";
import { build as esbuild, type Plugin } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import webpack from "webpack";
import { execFile } from "../../support/start-process.ts";

const run = promisify(execFile);
const RKAT = "examples/hosts/node_modules/rkat";
const BUN = "test/hosts/bundlers/node_modules/@oven/bun-linux-x64/bin/bun";

const about = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
};
const doors = Object.entries(about.exports).flatMap(([door, file]) =>
  file.endsWith(".js") ? [`rkat${door.slice(1)}`] : [],
);

/** A program that uses a door, and says what came of it. */
const PROGRAMS: Readonly<Record<string, string>> = {
  compacts: `
    import { rkatPrepareStep } from "rkat/ai-sdk";
    const words = "harbour ship cargo crane ledger ".repeat(40);
    const messages = Array.from({ length: 41 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: at + words }));
    const prepareStep = rkatPrepareStep({ contextWindow: 4_000, summarize: "fallback" });
    const step = await prepareStep({ messages, steps: [], model: "none" });
    console.log(step.messages.length < messages.length ? "compacted" : "the same");`,
  asks: `
    import { aiSdkModels } from "rkat/ai-sdk";
    await aiSdkModels({ env: { OPENAI_API_KEY: "key" } })("openai/gpt-5").catch((error) => console.log(error.hint));`,
  stores: `
    import { createSessionService } from "rkat";
    import { sqliteStores } from "rkat/sqlite";
    const stores = sqliteStores({ path: "rkat.db" });
    const sessions = createSessionService({ model: "none", stores });
    const { sessionId } = await sessions.createSession({});
    const messages = [{ role: "user", content: "Staging listens on port 4310." }, { role: "assistant", content: "Noted." }];
    await sessions.appendMessages({ sessionId, messages });
    const [hit] = await sessions.searchMemory({ query: "Which port does staging use?" });
    console.log(hit.content);
    await sessions.close();
    await stores.close();`,
  threads: `
    import { sqliteStores } from "rkat/sqlite";
    const stores = sqliteStores({ path: "threads.db", thread: "worker" });
    await stores.sessions.list({}).catch((error) => console.log(error.hint));
    await stores.close().catch(() => {});`,
};

const names = [...doors.map((door) => door.replace("/", "-")), ...Object.keys(PROGRAMS)];

/** A folder with rkat, what it depends on, and none of its optional packages. */
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-bundles-"));
  const modules = join(folder, "node_modules");
  cpSync(RKAT, join(modules, "rkat"), { recursive: true });
  for (const name of Object.keys(about.dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve("node_modules", name), join(modules, name), "junction");
  }
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  for (const door of doors) {
    const text = `import * as door from "${door}";\nif (Object.keys(door).length === 0) throw new Error("empty");`;
    writeFileSync(join(folder, `${door.replace("/", "-")}.js`), text);
  }
  for (const [name, text] of Object.entries(PROGRAMS)) {
    writeFileSync(join(folder, `${name}.js`), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const entries = () => Object.fromEntries(names.map((name) => [name, join(folder, `${name}.js`)]));

const BUNDLERS: Readonly<Record<string, (outdir: string) => Promise<unknown>>> = {
  esbuild: (outdir) =>
    esbuild({
      entryPoints: Object.values(entries()),
      bundle: true,
      platform: "node",
      format: "esm",
      splitting: true,
      outdir,
      logLevel: "silent",
    }),
  async vite(outDir) {
    const { build } = await import("vite");
    await build({
      root: folder,
      configFile: false,
      logLevel: "silent",
      ssr: { noExternal: true },
      build: { ssr: true, rolldownOptions: { input: entries() }, outDir },
    });
  },
  webpack: (path) =>
    new Promise((done, failed) => {
      const settings: webpack.Configuration = {
        context: folder,
        mode: "production",
        optimization: { minimize: false },
        target: "node22",
        entry: entries(),
        experiments: { outputModule: true },
        output: { path, filename: "[name].js", module: true, chunkFormat: "module" },
      };
      webpack(settings, (error, stats) => {
        const { errors = [] } = stats?.toJson({ all: false, errors: true }) ?? {};
        const [first] = errors.map(({ message }) => message);
        if (error ?? first) failed(error ?? new Error(first));
        else done(undefined);
      });
    }),
  bun: (outdir) =>
    run(resolve(BUN), [
      "build",
      ...Object.values(entries()),
      "--target=node",
      "--root",
      folder,
      "--outdir",
      outdir,
    ]),
};

const here = Object.keys(BUNDLERS).filter((name) => name !== "bun" || existsSync(BUN));

describe.each(here)("bundled by %s, without optional packages,", (bundler) => {
  let out = "";
  beforeAll(async () => {
    out = join(folder, `by-${bundler}`);
    await BUNDLERS[bundler]?.(out);
  });
  const said = async (name: string) =>
    (await run(process.execPath, [join(out, `${name}.js`)], { cwd: folder })).stdout.trim();

  test("every door can be loaded", async () => {
    const all = doors.map((door) => `await import("./${door.replace("/", "-")}.js");`).join("\n");
    writeFileSync(join(out, "all.mjs"), `${all}\nconsole.log("loaded");`);
    const { stdout } = await run(process.execPath, [join(out, "all.mjs")], { cwd: folder });
    expect(stdout.trim()).toBe("loaded");
  });

  test("a loop is compacted", async () => {
    expect(await said("compacts")).toBe("compacted");
  });

  test("a model without its package says which one to install", async () => {
    expect(await said("asks")).toBe("Install it: npm install @ai-sdk/openai");
  });

  test("a store finds what it was given", async () => {
    expect(await said("stores")).toBe("Staging listens on port 4310.");
  });

  test("a store in a thread of its own says that rkat has to stay out of the bundle", async () => {
    expect(await said("threads")).toContain("Leave the package rkat out of your bundle");
  });
});

describe("in an edge runtime", () => {
  test.each(doors)("%s says that it needs Node", async (door) => {
    const { outputFiles } = await esbuild({
      stdin: {
        contents: `import * as door from "${door}"; globalThis.door = door;`,
        resolveDir: folder,
      },
      bundle: true,
      platform: "browser",
      conditions: ["edge-light"],
      format: "iife",
      write: false,
      logLevel: "silent",
      plugins: [withoutNode],
    });
    const load = () => new EdgeVM().evaluate(outputFiles[0]?.text ?? "");
    expect(load).toThrow(
      "rkat needs Node 22.18 or newer. Edge runtimes and browsers can call its REST API.",
    );
  });
});

/** Edge runtimes have no such modules. Packages that rkat needs import some. */
const withoutNode: Plugin = {
  name: "without-node",
  setup(build) {
    build.onResolve(
      { filter: new RegExp(`^(node:|(${builtinModules.join("|")})$)`) },
      ({ path }) => ({ path, namespace: "node" }),
    );
    build.onLoad({ filter: /.*/, namespace: "node" }, () => ({ contents: "module.exports = {};" }));
  },
};
