import { open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { errorText, SessionError } from "../../../core/errors.ts";

/** Writes a private file whole or not at all; one that is there is replaced. */
export async function writeNewFile(
  file: string,
  cwd: string,
  texts: AsyncIterable<string>,
): Promise<void> {
  const path = resolve(cwd, file);
  const temporary = `${path}.${process.pid}.tmp`;
  const handle = await open(temporary, "wx", 0o600).catch((cause) => {
    throw new SessionError("INVALID_PARAMS", {
      detail: `${file} cannot be written: ${errorText(cause)}.`,
      hint: "Name a file in a folder that you may write to.",
      cause,
    });
  });
  try {
    for await (const text of texts) await handle.writeFile(text);
    await handle.sync();
    await handle.close();
    await rename(temporary, path);
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
}
