import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { inputChunks } from "./input-chunks.ts";
import type { Input, Terminal } from "./terminal.ts";

/** A file of the command line that can be read as often as one likes. */
export interface Rereadable {
  readonly file: string;
  readonly cwd: string;
  readonly stdin: Input;
  close(): Promise<void>;
}

/** A file is read where it is; what a pipe brings is kept in a nameless file meanwhile. */
export async function rereadable(
  file: string,
  { cwd, stdin }: Pick<Terminal, "cwd" | "stdin">,
): Promise<Rereadable> {
  if (file !== "-" && !(await isPipe(resolve(cwd, file)))) {
    return { file, cwd, stdin, async close() {} };
  }
  const folder = await mkdtemp(join(tmpdir(), "rkat-"));
  const copy = await open(join(folder, "input"), "wx+", 0o600);
  const unlink = () => rm(folder, { recursive: true, force: true });
  // At once, so that nothing private stays behind; Windows deletes no open file, and waits.
  await unlink().catch(() => {});
  for await (const chunk of inputChunks(file, { cwd, stdin })) await copy.writeFile(chunk);
  return {
    file: "-",
    cwd,
    stdin: {
      isTerminal: false,
      [Symbol.asyncIterator]: () =>
        copy.createReadStream({ start: 0, autoClose: false })[Symbol.asyncIterator](),
    },
    async close() {
      await copy.close();
      await unlink();
    },
  };
}

async function isPipe(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}
