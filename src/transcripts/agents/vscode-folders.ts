import { join } from "node:path";
import type { Machine } from "../imported.ts";

const EDITORS = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/** The `User` folders of VS Code and the editors made of it, on every system. They need not exist. */
export function editorFolders(
  { env, home }: Machine,
  names: readonly string[] = EDITORS,
): readonly string[] {
  const roots = [
    env.XDG_CONFIG_HOME || join(home, ".config"),
    join(home, "Library", "Application Support"),
    ...(env.APPDATA ? [env.APPDATA] : []),
  ];
  const local = names.flatMap((name) => roots.map((root) => join(root, name, "User")));
  return [...local, join(home, ".vscode-server", "data", "User")];
}
