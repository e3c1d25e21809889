import { jsonText } from "../core/json-values.ts";
import { type Message, type ToolUse, toolResults } from "../core/message.ts";
import { filesOfCall } from "../core/working-memory.ts";

/** A tool whose name says that it changes a file. */
const CHANGES = /write|edit|patch|create|delete|remove|move|rename|replace|insert/i;

/** Ids of the calls that failed. They changed nothing. */
export function failedIds(messages: readonly Message[]): ReadonlySet<string> {
  const results = messages.flatMap(toolResults).filter(({ is_error }) => is_error);
  return new Set(results.map(({ tool_use_id }) => tool_use_id));
}

/** The files that a call names, and whether its tool changes files. */
export function filesIn({ name, args }: Pick<ToolUse, "name" | "args">) {
  const patched = patchedFiles(args);
  return {
    files: [...filesOfCall({ args }), ...patched],
    isChange: CHANGES.test(name) || patched.length > 0,
  };
}

/** The files of a patch as Codex writes it: `*** Update File: src/server.ts`. */
function patchedFiles(args: unknown): readonly string[] {
  const text = typeof args === "string" ? args : jsonText(args ?? "");
  if (!text.includes("*** ")) return [];
  const found = text.matchAll(/\*\*\* (?:Update|Add|Delete) File: ([^"\\\n]{1,300})/g);
  return Array.from(found, ([, path = ""]) => path.trim());
}
