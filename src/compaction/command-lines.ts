import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import type { ToolUse } from "../core/message.ts";

/** The command line that a call runs; empty for a call of another kind. */
export function commandLine(args: unknown): string {
  if (!isObject(args)) return "";
  const line = [args.command, args.cmd, args.script].find((value) => value !== undefined);
  if (typeof line === "string") return line;
  return Array.isArray(line) ? line.join(" ") : "";
}

/** The command of a call without the part that picks from its output: `cd web && npm test 2>&1 | tail -5` is `npm test`. */
export function plainCall({ name, args }: Pick<ToolUse, "name" | "args">): string {
  const line = commandLine(args);
  if (line === "") return `${name} ${jsonText(args)}`;
  const [plain = ""] = line.replace(FOLDER, "").split(OUTPUT);
  return `${name} ${plain.trim()}`;
}

/** The change of folder before a command. */
const FOLDER = /^\s*cd [^&;|\n]{1,300}(?:&&|;)/;

/** A pipe, or another place for the output. */
const OUTPUT = /\s(?:\|(?!\|)|\d?>)/;

/** Commands that show what is there. */
const READING =
  /^\S* ?(?:cat|head|tail|less|more|grep|egrep|rg|ag|ack|sed|awk|diff|which|pgrep|git|gh(?! run| pr checks)|ls|find|echo|curl|wc|jq)\b/;

/** Whether a call only shows what is there, so that its output is no outcome of its own. */
export function isReading(call: string): boolean {
  return READING.test(call);
}
