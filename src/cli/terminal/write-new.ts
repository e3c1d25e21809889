import { writeFileSync } from "node:fs";
import { SessionError } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";

/**
 * Writes a file that was not there, for you only.
 *
 * @throws SessionError `NOT_POSSIBLE` when it exists or cannot be written
 */
export function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const code = isObject(error) ? error.code : undefined;
    throw new SessionError("NOT_POSSIBLE", {
      message:
        code === "EEXIST" ? `${file} exists already.` : `${file} cannot be written (${code}).`,
      hint: "Name another file.",
      cause: error,
    });
  }
}
