import { globSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { type ChunkingContext, defineConfig, type Plugin } from "rolldown";
import { minifySync } from "rolldown/utils";
import { latePatterns } from "./scripts/late-patterns.ts";

// docs/decisions/0010-a-bundle.md says why there is one, and what it gains.

const about = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly exports: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** Pure and small: bundled, so that they cost no installation. All else stays a dependency. */
const AT_START = ["commander", "porter2", "smol-toml", "uuid"];
/** Changes the settings of coding agents. Only `rkat install` and `rkat uninstall` load it. */
const FOR_INSTALL = ["jsonc-parser"];
/** What draws `rkat chat`. Only that loads it. */
const FOR_CHAT = ["@earendil-works/pi-tui", "marked", "get-east-asian-width"];
/** Checks requests and what is stored. */
const FOR_CHECKS = ["zod"];
/** Reads what servers send piece by piece. */
const FOR_STREAMS = ["eventsource-parser"];
/** Speaks OpenAI's protocol. Only a model or an embedder of such a server loads it. */
const FOR_SERVERS = [
  ...["openai-compatible", "provider", "provider-utils"].map((name) => `@ai-sdk/${name}`),
  "@workflow/serde",
];
const INSIDE = [
  ...AT_START,
  ...FOR_CHECKS,
  ...FOR_INSTALL,
  ...FOR_CHAT,
  ...FOR_STREAMS,
  ...FOR_SERVERS,
];
/** Parts of packages that the code of those above asks for. */
const PARTS = ["zod/v4", "zod/v4/core", "zod/v4/locales/en.js", "eventsource-parser/stream"];
/** What the page of `rkat inspect` is made of. Only a browser loads it. */
const FOR_PAGE = ["preact", "@tanstack/virtual-core"];

/** What users import, and the command. */
const doors = [...Object.values(about.exports), "./dist/cli.js"]
  .filter((path) => path.startsWith("./dist/"))
  .map((path) => basename(path, ".js"));

/** Started by their address: `new URL("./database-worker.ts", import.meta.url)`. */
const programs = globSync("src/{stores,embedders}/**/*-worker.ts");

const TERMINAL = "src/cli/terminal/process-terminal.ts";

/** What is loaded together, each with what it cannot be loaded without. */
const READERS = {
  /** Every command begins with it, but for `rkat --version`. The help needs no more. */
  start: [TERMINAL, "src/cli/main.ts"],
  /** What a coding agent waits for. */
  hook: [TERMINAL, "src/cli/commands/run-hook.ts", "src/coding-agents/rules-of.ts"],
  /** What `rkat/sqlite` loads. */
  store: ["src/sqlite.ts"],
  /** What `rkat` loads. */
  core: ["src/index.ts"],
  /** What `rkat memory search` loads, always: people wait for it, and each file takes its time. */
  search: [
    TERMINAL,
    "src/cli/main.ts",
    "src/cli/commands/memory/memory-command.ts",
    "src/sqlite.ts",
  ],
  /** What checks the requests of memory, and all requests. */
  request: ["src/core/operations/operation.ts", "src/core/operations/memory.ts"],
  operations: ["src/core/operations.ts"],
  /** The rules that a hook tells, which have no credentials, what it tells of a prompt, and what after a compaction. */
  rules: ["src/coding-agents/rules-of.ts"],
  recall: ["src/app/recall-for-prompt.ts"],
  told: ["src/coding-agents/carry-over.ts"],
  window: ["src/window/create-history-window.ts"],
  note: ["src/session/edit-note.ts"],
  wire: ["src/json-rpc.ts", "src/rest.ts", "src/mcp.ts"],
  /** They load a part of what is left, and the others all of it. */
  part: [
    ...["pi", "opencode"].map((door) => `src/${door}.ts`),
    ...["memory-index", "knowledge-recorder"].map((name) => `src/projections/${name}.ts`),
    "src/projections/projection-runner.ts",
    "src/knowledge/project-knowledge.ts",
    ...["memory-as-of", "memory-audit"].map((name) => `src/session/${name}.ts`),
    "src/app/import-transcripts.ts",
    ...["import-hook", "handoff-command"].map((name) => `src/cli/commands/${name}.ts`),
  ],
  /** What runs turns. */
  service: ["src/app/create-session-service.ts"],
} as const;
type Reader = keyof typeof READERS;

/**
 * Puts what a search and a service load into few files, each without what its readers must not load: a file has the modules
 * that all these readers load, and that no file above it has. So no file needs one below it.
 */
const CHUNKS: Readonly<Record<string, readonly Reader[]>> = {
  first: ["start", "core"],
  terminal: ["start", "hook"],
  start: ["start"],
  "base-first": ["core", "store", "hook"],
  base: ["core", "store"],
  "core-first": ["search", "core", "hook"],
  core: ["search", "core"],
  "store-first": ["store", "hook"],
  store: ["store"],
  "search-first": ["search", "hook"],
  search: ["search"],
  request: ["request"],
  operations: ["operations"],
  rules: ["service", "rules"],
  recall: ["service", "recall"],
  told: ["service", "told"],
  window: ["service", "window"],
  note: ["service", "note"],
  wire: ["service", "wire"],
  "service-first": ["service", "part"],
  service: ["service"],
};

function chunkOf(id: string, graph: ChunkingContext): string | null {
  if (othersChunkOf(id) !== null) return null;
  const isLoadedBy = (reader: Reader) =>
    READERS[reader].some((file) => loadedWith(resolve(file), graph).has(id));
  return Object.keys(CHUNKS).find((chunk) => CHUNKS[chunk]?.every(isLoadedBy)) ?? null;
}

const closures = new Map<string, ReadonlySet<string>>();

/** A module, and all that it cannot be loaded without. */
function loadedWith(file: string, graph: ChunkingContext): ReadonlySet<string> {
  const known = closures.get(file);
  if (known) return known;
  const found = new Set([file]);
  for (const id of found) {
    for (const next of graph.getModuleInfo(id)?.importedIds ?? []) found.add(next);
  }
  closures.set(file, found);
  return found;
}

/** The licences of the packages that are in the bundle have to come with it. */
const licences: Plugin = {
  name: "licences",
  generateBundle() {
    const byText = Map.groupBy([...INSIDE, ...FOR_PAGE], (name) => licenceOf(name).trim());
    const texts = [...byText].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`);
    const source = `Parts of these packages are in the files of this folder.\n\n${texts.join("\n\n")}`;
    this.emitFile({ type: "asset", fileName: "licences.txt", source });
  },
};

function licenceOf(name: string): string {
  // One of the AI SDK's packages lacks the text that the others have.
  const from = name === "@ai-sdk/provider-utils" ? "@ai-sdk/provider" : name;
  const [file] = globSync(`node_modules/${from}/{LICENSE,license}*`);
  if (file !== undefined) return readFileSync(file, "utf8");
  const { license, author } = JSON.parse(
    readFileSync(`node_modules/${name}/package.json`, "utf8"),
  ) as { readonly license: string; readonly author: string };
  if (license !== "MIT") throw new Error(`${name} has no licence to pass on.`);
  // The package names its licence and its author, and leaves out the text.
  const text = readFileSync("node_modules/commander/LICENSE", "utf8");
  return text.replace(/^Copyright .*$/m, `Copyright (c) ${author}`);
}

/** The first statement of each file that takes something from Node: edge runtimes and browsers have no such function. */
const REFUSAL =
  'if (!globalThis.process?.getBuiltinModule) throw new Error("rkat needs Node 22.18 or newer. Edge runtimes and browsers can call its REST API.");';

/**
 * Takes what is Node's own from where Node itself has it. For an `import` Node first makes a module of it
 * with all that it exports. For `node:fs` that loads streams, which takes 3 ms.
 */
const builtins: Plugin = {
  name: "builtins",
  renderChunk(code) {
    const taken = code.replace(
      /^import (.+) from "(node:.+)";$/gm,
      (_, names: string, from: string) => {
        const given = /\{.+\}/.exec(names)?.[0].replaceAll(" as ", ": ");
        const whole = /^(?:\* as )?(\w[\w$]*)/.exec(names)?.[1];
        if (LATER.includes(from) && given !== undefined) return calledLater(from, given);
        return [given, whole]
          .filter((target) => target !== undefined)
          .map((target) => `const ${target} = process.getBuiltinModule("${from}");`)
          .join(" ");
      },
    );
    return taken === code ? code : taken.replace(/^const .+ = process\.get/m, `${REFUSAL}\n$&`);
  },
};

/** The modules of Node that take milliseconds to load. */
const LATER: readonly string[] = ["node:crypto", "node:fs/promises"];

/** Functions of a module of Node, which is loaded with the first call. */
function calledLater(from: string, given: string): string {
  const module = process.getBuiltinModule(from) ?? {};
  return given
    .replaceAll(/(\w+)(?:: ([\w$]+))?,?/g, (_, name: string, as = name) => {
      if (typeof Reflect.get(module, name) !== "function") {
        throw new Error(`${name} of ${from} is no function, so it cannot be called later.`);
      }
      return `const ${as} = (...given) => process.getBuiltinModule("${from}").${name}(...given);`;
    })
    .slice(1, -1);
}

/** In our code, and in what is bundled with it. */
const patternsWhenUsed: Plugin = {
  name: "patterns-when-used",
  renderChunk: (code, { fileName }) =>
    /^(?:drawing|zod)-/.test(fileName) ? undefined : latePatterns(fileName, code),
};

/**
 * What bundlers of programs that use rkat would stumble over. webpack leaves imports of optional packages to Node, and takes
 * the address of a thread only as a text.
 */
const forBundlers: Plugin = {
  name: "for-bundlers",
  renderChunk: (code) =>
    Object.keys(about.peerDependencies)
      .reduce(
        (text, name) =>
          text.replaceAll(`import("${name}")`, `import(/* webpackIgnore: true */ "${name}")`),
        code,
      )
      .replace(
        /import\.meta\.url\.endsWith\("\.ts"\) \? "[^"]+-worker\.ts" : ("[^"]+-worker\.js")/g,
        "$1",
      ),
};

/** commander starts programs that are subcommands. We have none, and loading what starts them takes 3 ms. */
const noSubprograms: Plugin = {
  name: "no-subprograms",
  transform: (code, id) =>
    id.includes("/commander/")
      ? code.replace(/^import childProcess from .+$/m, "const childProcess = {};")
      : undefined,
};

/** The chat shows formulas as they are written (`renderLatex: false`), so what draws them stays out: 8 KB of the packed package. */
const noFormulas: Plugin = {
  name: "no-formulas",
  transform: (_, id) =>
    id.endsWith("/pi-tui/dist/latex.js") ? "export const renderLatex = (text) => text;" : undefined,
};

/** Other packages' code is minified: no error of ours shows it. What has a chunk of its own is minified there. */
const smallPackages: Plugin = {
  name: "small-packages",
  transform: (code, id) =>
    id.includes("/node_modules/") && othersChunkOf(id) === null
      ? minifySync(id, code, { module: true }).code
      : undefined,
};

/**
 * Inside of functions our names are short too: 8 % of the packed package. Functions and classes keep theirs, which errors show.
 * Comments go, so this comes before those that bundlers read.
 */
const shortNames: Plugin = {
  name: "short-names",
  renderChunk: (code, { fileName }) =>
    isOthers(fileName)
      ? undefined
      : minifySync(fileName, code, {
          module: true,
          compress: false,
          mangle: { toplevel: false, keepNames: true },
          codegen: { removeWhitespace: false },
        }).code,
};

/** The chunks with other packages' code alone. */
const OTHERS = {
  drawing: FOR_CHAT,
  zod: FOR_CHECKS,
  streams: FOR_STREAMS,
  servers: FOR_SERVERS,
} as const;

/** Whether a built file has other packages' code alone. */
export function isOthers(fileName: string): boolean {
  return Object.keys(OTHERS).some((chunk) => fileName.startsWith(`${chunk}-`));
}

function othersChunkOf(id: string): string | null {
  const isOf = (names: readonly string[]) =>
    names.some((name) => id.includes(`/node_modules/${name}/`));
  return Object.entries(OTHERS).find(([, names]) => isOf(names))?.[0] ?? null;
}

export default defineConfig({
  input: Object.fromEntries([
    ...doors.map((name) => [name, `src/${name}.ts`]),
    ...programs.map((file) => [basename(file, ".ts"), file]),
  ]),
  platform: "node",
  // The other main file of jsonc-parser loads its parts by names that a bundler cannot follow.
  resolve: { mainFields: ["module", "main"] },
  transform: { target: "node22" },
  experimental: { attachDebugInfo: "none" },
  external: (id) => /^[@a-z]/.test(id) && ![...INSIDE, ...PARTS].includes(id),
  plugins: [
    noSubprograms,
    noFormulas,
    smallPackages,
    builtins,
    patternsWhenUsed,
    shortNames,
    forBundlers,
    licences,
  ],
  output: {
    dir: "dist",
    chunkFileNames: "[name]-[hash].js",
    minifyInternalExports: false,
    // Types are beside, with what they say; errors show the code as it was written.
    comments: { jsdoc: false },
    codeSplitting: {
      groups: [
        // A group takes along what its modules import, if no group before it has that.
        ...Object.keys(OTHERS).map((chunk) => ({
          debugName: chunk,
          name: (id: string) => (othersChunkOf(id) === chunk ? chunk : null),
        })),
        ...Object.keys(CHUNKS).map((chunk) => ({
          debugName: chunk,
          name: (id: string, graph: ChunkingContext) =>
            chunkOf(id, graph) === chunk ? chunk : null,
        })),
      ],
    },
  },
});

const PAGE = "src/surfaces/inspect/page";

/** The page's three files, as small as they get: nothing but the server reads them. */
const pageFiles: Plugin = {
  name: "page-files",
  generateBundle(_, bundle) {
    const emit = (fileName: string, text: string) =>
      this.emitFile({ type: "asset", fileName, source: brotliCompressSync(text) });
    for (const file of Object.values(bundle)) {
      if (file.type !== "chunk") continue;
      emit(`${file.fileName}.br`, file.code);
      delete bundle[file.fileName];
    }
    emit("inspect-page.html.br", readFileSync(`${PAGE}/index.html`, "utf8"));
    emit("inspect-page.css.br", readFileSync(`${PAGE}/page.css`, "utf8"));
  },
};

/** The page that `rkat inspect` serves. What a browser loads has to be small, so this alone is minified. */
export const pageConfig = defineConfig({
  input: { "inspect-page": `${PAGE}/main.tsx` },
  platform: "browser",
  tsconfig: `${PAGE}/tsconfig.json`,
  transform: { target: "es2023" },
  plugins: [pageFiles],
  output: { dir: "dist", entryFileNames: "[name].js", minify: true },
});
