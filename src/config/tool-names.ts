import { nearestName } from "../text/nearest-name.ts";

/** The tools of `rkat run` and `rkat chat`, besides those of MCP servers. */
export const TOOL_NAMES: readonly string[] = [
  "datetime",
  "edit_file",
  "list_files",
  "memory_search",
  "read_file",
  "run_command",
  "search_files",
  "search_project_history",
  "update_task",
  "write_file",
];

/** A file of a stranger can have any number of names. */
const TOLD_MAX = 20;

interface UnknownTool {
  readonly name: string;
  /** The tool that was probably meant. */
  readonly meant: string | undefined;
}

/** The names that fit no tool. Patterns, and names of tools of MCP servers, may fit one that is not known here. */
export function unknownTools(names: readonly string[]): readonly UnknownTool[] {
  return names
    .filter(
      (name) => !name.includes("*") && !name.startsWith("mcp__") && !TOOL_NAMES.includes(name),
    )
    .slice(0, TOLD_MAX)
    .map((name) => ({ name, meant: nearestName(name, TOOL_NAMES) }));
}

/** A sentence for each name that fits no tool, and is probably misspelt. `spelled` says how it was written. */
export function misspeltTools(
  names: readonly string[],
  spelled: (name: string) => string,
): readonly string[] {
  return unknownTools(names)
    .filter(({ meant }) => meant !== undefined)
    .map((tool) => toolNote(tool, spelled(tool.name)));
}

/** A sentence about what names a tool that is not there. */
export function toolNote({ name, meant }: UnknownTool, spelled: string): string {
  const advice =
    meant === undefined
      ? "Tools of MCP servers are called mcp__SERVER__TOOL."
      : `Did you mean ${meant}?`;
  return `${spelled} has no effect: there is no tool called ${JSON.stringify(name)}. ${advice}`;
}
