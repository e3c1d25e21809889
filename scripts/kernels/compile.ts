import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * Compiles `assembly/scan.ts` and writes it into `scan-wasm.ts` (`npm run kernels`). The
 * result is committed, so that neither a checkout nor a user's install needs the compiler;
 * a test compiles again and compares.
 */
const SOURCE = new URL("assembly/scan.ts", import.meta.url);
const RESULT = new URL("../../src/indexing/vectors/scan-wasm.ts", import.meta.url);

/** What is used of the compiler. Its own declarations would change the globals of all our files. */
interface Compiler {
  main(
    argv: readonly string[],
    files: {
      readFile(name: string): string | null;
      writeFile(name: string, contents: Uint8Array | string): void;
      listFiles(): string[];
    },
  ): Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>;
}

const COMPILER: string = "assemblyscript/asc";

export async function compileScan(): Promise<string> {
  const compiler: Compiler = await import(COMPILER);
  let wasm: Uint8Array = new Uint8Array();
  const { error, stderr } = await compiler.main(
    [
      "scan.ts",
      "--outFile",
      "scan.wasm",
      "-O3",
      "--runtime",
      "stub",
      "--noAssert",
      "--enable",
      "simd",
    ],
    {
      readFile: (name) => (name === "scan.ts" ? readFileSync(SOURCE, "utf8") : null),
      writeFile: (name, contents) => {
        if (name === "scan.wasm") wasm = typeof contents === "string" ? wasm : contents;
      },
      listFiles: () => [],
    },
  );
  if (error) throw new Error(stderr.toString(), { cause: error });
  return `/** \`assembly/scan.ts\`, compiled by \`npm run kernels\`. */
export const SCAN_WASM =
  "${Buffer.from(wasm).toString("base64")}";
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(RESULT, await compileScan());
}
