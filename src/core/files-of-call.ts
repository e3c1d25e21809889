import type { ToolUse } from "./message.ts";
import { TASK_LIMITS } from "./task.ts";

/** How tools call the arguments that name a file. */
const FILE_ARGUMENTS: ReadonlySet<string> = new Set([
  "path",
  "paths",
  "file",
  "files",
  "filename",
  "file_name",
  "filepath",
  "file_path",
  "filePath",
  "fileName",
]);

/** The files that a tool call names in arguments such as `path` or `file`. */
export function filesOfCall({ args }: Pick<ToolUse, "args">): readonly string[] {
  if (typeof args !== "object" || args === null) return [];
  return Object.entries(args).flatMap(([name, value]) =>
    FILE_ARGUMENTS.has(name) ? [value].flat().filter(isFileName) : [],
  );
}

/** One line with a letter or a digit in it, as long as a name is: `.` and texts of programs are none. */
function isFileName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.length <= TASK_LIMITS.fileCharacters &&
    /^[^\p{Cc}]*[\p{L}\p{N}][^\p{Cc}]*$/u.test(value)
  );
}
