import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keepReachableTypes } from "../scripts/reachable-types.ts";
import { blocksOf, DOCS_PAGES, DOCS_PRELUDE, isQuoted, linesAt } from "./support/docs-pages.ts";
import { spawn } from "./support/start-process.ts";

/** Types that users only pass on. What is inside them needs no name. */
const OPAQUE = ["SessionSnapshot"];

/** Within reach of the dependencies. */
let folder: string;
/** The declarations of the package, as the compiler writes them: once, since that takes it two seconds and more. */
let types: string;

beforeAll(async () => {
  folder = mkdtempSync(resolve("node_modules/.cache/types-"));
  types = join(folder, "rkat");
  expect(await compile("-p", "tsconfig.build.json", "--noCheck", "--outDir", types)).toBe("");
  keepReachableTypes(
    types,
    publicDoors().map((door) => join(types, `${door}.d.ts`)),
  );
});

afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Users can only name a type if a door exports it. A base type needs no name, but the types that its
 * members mention do. An operator on types, such as `Given<T>`, needs no name either.
 */
test("every type in a public declaration is exported from its door, or from rkat", () => {
  const declarations = new Declarations();
  const main = declarations.exportsOf(join(types, "index.d.ts"));
  const options = main.find(({ name }) => name === "CompactHistoryOptions") as Place;
  const found = declarations.mentionedBy(options).map(({ name }) => name);
  expect(found, "of its own and of its base").toEqual(
    expect.arrayContaining(["Summarize", "EngineCompactor"]),
  );
  const missing = publicDoors().flatMap((door) => {
    const own = declarations.exportsOf(join(types, `${door}.d.ts`));
    const exported = new Set([...main, ...own].map(keyOf));
    return own.flatMap((place) =>
      declarations
        .mentionedBy(place)
        .filter((type) => !exported.has(keyOf(type)))
        .map((type) => `${door}: ${place.name} mentions ${type.name}, of ${shown(type)}`),
    );
  });
  expect([...new Set(missing)]).toEqual([]);
});

// Takes over two seconds: the compiler reads the declarations of rkat and of all that it depends on.
test("every program of the docs fits the public types, which lack nothing that they name", async () => {
  const files = DOCS_PAGES.flatMap((page) =>
    blocksOf(page)
      .filter((block) => block.language === "ts" && !isQuoted(block))
      .map((block) => {
        const name = `${page.replaceAll("/", "-")}-${block.line}.ts`;
        writeFileSync(join(folder, name), `${linesAt([block])}\nexport {};\n`);
        return name;
      }),
  );
  const config = {
    extends: resolve("tsconfig.json"),
    compilerOptions: {
      skipLibCheck: false,
      paths: { rkat: ["./rkat/index.d.ts"], "rkat/*": ["./rkat/*.d.ts"] },
    },
    files: [
      fileURLToPath(DOCS_PRELUDE),
      resolve("test/support/ai-package.d.ts"),
      ...publicDoors().map((door) => `rkat/${door}.d.ts`),
      ...files,
    ],
    include: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  // Other packages' declarations are theirs to mend.
  const found = (await compile("-p", folder)).split("\n");
  expect(found.filter((line) => line.startsWith(relative(".", folder)))).toEqual([]);
});

/** What the compiler says. In more threads it does parts of the work twice, on the cores of other tests. */
async function compile(...args: readonly string[]): Promise<string> {
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const compiler = spawn(process.execPath, [tsc, "--singleThreaded", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return await text(compiler.stdout);
}

/** A name and the file that declares it. */
interface Place {
  readonly file: string;
  readonly name: string;
}

/** One declaration file, as tsc writes it: each declaration starts at the beginning of a line. */
interface Declared {
  /** The text of each declaration, without comments. */
  readonly texts: ReadonlyMap<string, string>;
  /** Names of other files, under the name that they have here. */
  readonly imports: ReadonlyMap<string, Place>;
  readonly exports: ReadonlyMap<string, Place>;
}

const CONSTRUCTOR = /^ {4}constructor\([\s\S]*?\);$/m;

class Declarations {
  readonly #files = new Map<string, Declared>();

  exportsOf(file: string): readonly Place[] {
    return [...this.#read(file).exports.values()].map((place) => this.#origin(place));
  }

  /** The types of this package that the declaration of `place` and of its bases mention. */
  mentionedBy(place: Place, seen = new Set<string>()): readonly Place[] {
    if (seen.has(keyOf(place))) return [];
    seen.add(keyOf(place));
    if (OPAQUE.includes(place.name)) return [];
    const text = this.#read(place.file).texts.get(place.name) ?? "";
    const [head = "", ...rest] = text.split("{");
    const bases = /\bextends\b|^export declare class/.test(head) ? this.#named(head, place) : [];
    const members = bases.length > 0 ? rest.join("{") : text;
    // The constructor of a base is not called by users.
    const body = seen.size > 1 ? members.replace(CONSTRUCTOR, "") : members;
    return [...this.#named(body, place), ...bases.flatMap((base) => this.mentionedBy(base, seen))];
  }

  #isType({ file, name }: Place): boolean {
    const text = this.#read(file).texts.get(name) ?? "";
    return /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type) \w+(?! ?<)\b/.test(
      text,
    );
  }

  #named(text: string, { file, name }: Place): readonly Place[] {
    const { texts, imports } = this.#read(file);
    const words = new Set(text.replace(/\btypeof \w+|\b\w+\??:(?!:)/g, "").match(/\b[A-Z]\w*/g));
    words.delete(name);
    return [...words]
      .filter((word) => texts.has(word) || imports.has(word))
      .map((word) => this.#origin(imports.get(word) ?? { file, name: word }))
      .filter((type) => this.#isType(type));
  }

  /** Where a name is declared, however often it is exported again. */
  #origin(place: Place): Place {
    const { exports, texts } = this.#read(place.file);
    const from = exports.get(place.name);
    return texts.has(place.name) || !from ? place : this.#origin(from);
  }

  #read(file: string): Declared {
    const known = this.#files.get(file);
    if (known) return known;
    const declared = parse(file, readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, ""));
    this.#files.set(file, declared);
    return declared;
  }
}

function parse(file: string, text: string): Declared {
  const texts = new Map<string, string>();
  const imports = new Map<string, Place>();
  const exports = new Map<string, Place>();
  for (const part of text.split(/^(?=[a-z])/m)) {
    const [, kind, names, path] =
      part.match(/^(import|export) (?:type )?\{([^}]*)\}(?: from "(.*)")?;/) ?? [];
    if (names !== undefined) {
      for (const item of names.split(",").map((each) => each.trim().replace(/^type /, ""))) {
        const [name = "", alias = name] = item.split(" as ");
        if (name === "") continue;
        const from = path?.startsWith(".") ? declarationOf(file, path) : file;
        if (kind === "export") {
          exports.set(alias, path ? { file: from, name } : (imports.get(name) ?? { file, name }));
        } else if (path?.startsWith(".")) imports.set(alias, { file: from, name });
      }
      continue;
    }
    const [, exported, name] =
      part.match(
        /^(export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const) (\w+)/,
      ) ?? [];
    if (name === undefined) continue;
    // A function may have several signatures.
    texts.set(name, `${texts.get(name) ?? ""}${part}`);
    if (exported) exports.set(name, { file, name });
  }
  return { texts, imports, exports };
}

function declarationOf(file: string, path: string): string {
  return join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts"));
}

function keyOf({ file, name }: Place): string {
  return `${file} ${name}`;
}

function shown({ file }: Place): string {
  return relative(types, file).replace(/\.d\.ts$/, ".ts");
}

/** The doors that `package.json` exports, by the names of their files. */
function publicDoors(): readonly string[] {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  return Object.values(exports).flatMap((path) => path.match(/^\.\/dist\/(.+)\.js$/)?.[1] ?? []);
}
