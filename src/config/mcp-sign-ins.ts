import { createHash } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorText, SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import type { McpSignIn } from "../core/mcp-server.ts";
import { makeFolders } from "../files/make-folders.ts";
import { readSmallFile } from "../files/plain-files.ts";
import { ownFolder, SET_HOME } from "./config-places.ts";
import type { Environment } from "./config-source.ts";

const BYTES_MAX = 1_000_000;

/**
 * Your sign-in to the MCP server at an address: a private file in your own folder, outside of all projects. It is named
 * after the address, so another server under the same name gets nothing of it.
 */
export function mcpSignIn(address: string, env: Environment): McpSignIn {
  const own = ownFolder(env);
  const folder = own && join(own, "mcp-sign-ins");
  const name = `${createHash("sha256").update(address).digest("hex")}.json`;
  return {
    read() {
      if (folder === undefined) return undefined;
      try {
        const kept: unknown = JSON.parse(
          readSmallFile(folder, join(folder, name), BYTES_MAX) ?? "",
        );
        return isObject(kept) && kept.address === address ? kept : undefined;
      } catch {
        // A file that is missing or cannot be read signs nobody in.
        return undefined;
      }
    },
    write(kept) {
      try {
        if (folder === undefined) throw new Error("There is no home folder.");
        makeFolders(folder, 0o700);
        const unfinished = join(folder, `${name}.${crypto.randomUUID()}`);
        const text = `${JSON.stringify({ ...kept, address })}\n`;
        writeFileSync(unfinished, text, { mode: 0o600, flag: "wx" });
        renameSync(unfinished, join(folder, name));
      } catch (error) {
        throw new SessionError("NOT_POSSIBLE", {
          message: `The sign-in cannot be kept. ${errorText(error)}`,
          hint: SET_HOME,
          cause: error,
        });
      }
    },
    remove() {
      if (folder !== undefined) rmSync(join(folder, name), { force: true });
    },
  };
}
