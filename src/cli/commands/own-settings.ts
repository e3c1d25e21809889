import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { withContent, withoutContent } from "../../coding-agents/change-text.ts";
import { SET_HOME, userConfigFile } from "../../config/config-places.ts";
import { parseToml, type TomlTable } from "../../config/read-config-file.ts";
import { errorText, SessionError } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import { makeFolders } from "../../files/make-folders.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** Your own `config.toml`. */
export function ownSettingsFile({ env }: Terminal): string {
  const file = userConfigFile(env);
  if (file !== undefined) return file;
  throw new SessionError("NOT_POSSIBLE", {
    message: "There is no home folder for your config.toml.",
    hint: SET_HOME,
  });
}

/** Changes your own file, which may be a link: then what it leads to. It is written whole or not at all. */
export async function changeOwnSettings(
  file: string,
  change: (text: string | undefined) => Promise<string>,
  wayOut = "",
): Promise<void> {
  const found = statSync(file, { throwIfNoEntry: false });
  const before = found ? readFileSync(file, "utf8") : undefined;
  let after: string;
  try {
    after = await change(before);
  } catch (error) {
    if (SessionError.is(error)) throw error;
    throw new SessionError("NOT_POSSIBLE", {
      message: `${file} cannot be changed: ${errorText(error)}.`,
      hint: `Nothing was written. ${wayOut}`.trimEnd(),
    });
  }
  if (after === (before ?? "")) return;
  const target = found ? realpathSync(file) : file;
  makeFolders(dirname(target), 0o700);
  const unfinished = `${target}.${crypto.randomUUID()}`;
  try {
    writeFileSync(unfinished, after, { mode: found ? found.mode & 0o777 : 0o600, flag: "wx" });
    renameSync(unfinished, target);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** The values of a table in a file's text. Undefined if it has none. */
export async function tableIn(
  text: string,
  table: readonly string[],
): Promise<TomlTable | undefined> {
  const parsed = await parseToml(text);
  let found: unknown = "table" in parsed ? parsed.table : undefined;
  for (const name of table) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : undefined;
}

/** The text without the lines of a table, as rkat wrote them. */
export async function withoutTable(
  text: string,
  table: readonly string[],
  values: TomlTable,
): Promise<string> {
  const added = { kind: "toml", table, values } as const;
  const written = (await withContent("", added)).insertions[0]?.text ?? "";
  return await withoutContent(text, { added, insertions: [{ at: 0, text: written }] });
}
