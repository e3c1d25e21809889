import { parseArgs } from "node:util";

/**
 * The form in which a script asked to be answered; none for people. Read off
 * the bare arguments, since what is wrong with them is answered in it too.
 */
export function scriptForm(args: readonly string[]): "json" | "jsonl" | undefined {
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: { json: { type: "boolean" }, output: { type: "string" } },
  });
  if (values.output === "json" || values.output === "jsonl") return values.output;
  return values.json === true ? "json" : undefined;
}
