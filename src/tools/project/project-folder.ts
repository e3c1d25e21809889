import { constants, fstatSync, readSync, realpathSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import { SessionError } from "../../core/errors.ts";
import { ToolError } from "../../core/tool.ts";
import { lookAtFile, makeFolder, rewriteFile, withFile } from "../../files/plain-files.ts";

/** Larger files are neither read nor edited. */
const FILE_BYTES_MAX = 5_000_000;

/**
 * The folder that a model's tools work in. Its files are reached without following a link, and none
 * outside of it is. `.git` and `.rkat` are closed.
 */
export class ProjectFolder {
  readonly root: string;

  constructor(folder: string) {
    this.root = realpathSync(folder);
  }

  /** The path in the folder, with `/` between its parts; empty for the folder itself. */
  pathOf(path: string): string {
    const below = relative(this.root, resolve(this.root, path));
    const parts = below.split(sep);
    if (parts[0] === ".." || resolve(this.root, below) !== resolve(this.root, path)) {
      throw new ToolError(
        "denied",
        `${path} is outside of the project's folder. Paths are relative to that folder.`,
      );
    }
    if (parts.some(isClosed)) {
      throw new ToolError("denied", `${path} belongs to ${parts.find(isClosed)}, which is closed.`);
    }
    return parts.join("/");
  }

  /** The text of a file, which must be UTF-8. */
  read(path: string): string {
    const file = this.#file(path);
    const found = plainly(() => lookAtFile(this.root, file));
    if (!found) throw new ToolError("execution_failed", `There is no file ${path}.`);
    const bytes = plainly(() =>
      withFile(this.root, file, constants.O_RDONLY, (descriptor) => {
        const { size } = fstatSync(descriptor);
        if (size > FILE_BYTES_MAX) {
          throw new ToolError(
            "execution_failed",
            `${path} is larger than ${FILE_BYTES_MAX} bytes. Use run_command to read a part of it.`,
          );
        }
        return readBytes(descriptor, size);
      }),
    );
    const text = bytes.includes(0) ? undefined : decoded(bytes);
    if (text === undefined)
      throw new ToolError("execution_failed", `${path} is not a text in UTF-8.`);
    return text;
  }

  /** Writes a file, and makes it and its folders where there are none. Returns whether it was new. */
  write(path: string, text: string): boolean {
    const file = this.#file(path);
    return plainly(() => {
      const isNew = !lookAtFile(this.root, file);
      if (dirname(file) !== this.root) makeFolder(this.root, dirname(file), 0o777);
      rewriteFile(this.root, file, text, 0o666);
      return isNew;
    });
  }

  #file(path: string): string {
    const inside = this.pathOf(path);
    if (inside === "") throw new ToolError("invalid_arguments", `${path} is a folder.`);
    return resolve(this.root, inside);
  }
}

/** Git would run what is written into its folder, and the other one holds everyone's sessions. */
export function isClosed(part: string): boolean {
  return CLOSED.test(withoutEnd(part.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")));
}

/** Windows has short names for them, and streams in them; macOS sees no characters without a width. */
const CLOSED = /^(?:\.git|\.rkat|(?:git|rkat)~\d+)(?:$|:)/;

/** Some file systems take letters of any case, and drop dots and spaces at the end of a name. */
export function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 1 && (name[end - 1] === "." || name[end - 1] === " ")) end -= 1;
  return name.slice(0, end).toLowerCase();
}

/** A path that is a link, another user's, or no file is the model's to hear of, not a failure of rkat. */
export function plainly<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!SessionError.is(error) || error.code !== "UNSAFE_FILE") throw error;
    throw new ToolError("denied", error.message, { cause: error });
  }
}

function readBytes(descriptor: number, size: number): Uint8Array {
  const bytes = Buffer.alloc(size);
  let length = 0;
  for (let read = 1; read > 0 && length < bytes.length; length += read) {
    read = readSync(descriptor, bytes, length, bytes.length - length, null);
  }
  return bytes.subarray(0, length);
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
