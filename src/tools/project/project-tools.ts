import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { Tool } from "../../core/tool.ts";
import { editTools } from "./edit-files.ts";
import { findTools } from "./find-files.ts";
import { ProjectFolder } from "./project-folder.ts";
import { readFileTool } from "./read-file.ts";
import { runCommandTool } from "./run-command.ts";

/**
 * The tools with which a model works in a project's folder. None in your home folder, or in one that
 * holds it: there is no project, and all your files are there.
 */
export function projectTools(
  path: string,
  which: "all" | "read" | "none",
  env: Readonly<Record<string, string | undefined>>,
): readonly Tool[] {
  if (which === "none" || holdsHome(path, env.HOME || homedir())) return [];
  const folder = new ProjectFolder(path);
  const reading = [...findTools(folder), readFileTool(folder)];
  return which === "read"
    ? reading
    : [...reading, ...editTools(folder), runCommandTool(folder, env)];
}

function holdsHome(path: string, home: string): boolean {
  const folder = realpathSync(path);
  let above = realpathSync(home);
  while (above !== folder && above !== dirname(above)) above = dirname(above);
  return above === folder;
}
