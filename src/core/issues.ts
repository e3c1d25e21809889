import type { z } from "zod";

/** One thing that is wrong with a request. */
export interface Issue {
  /** The way to the field, for example `["compaction", "windowSize"]`. Empty for the whole request. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Issues that a line names. A list of a thousand entries may have a wrong field in each. */
const NAMED_MAX = 20;

/** The issues in a line: `limit: expected int, received string; compaction.windowSize: …; and 12 more`. */
export function issuesText(issues: readonly Issue[]): string {
  const named = issues
    .slice(0, NAMED_MAX)
    .map(({ path, message }) => (path.length === 0 ? message : `${dotted(path)}: ${message}`));
  const left = issues.length - named.length;
  return [...named, ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}

/** What zod found wrong. Of a union, the alternative counts that the value came closest to. */
export function issuesOf({ issues }: Pick<z.core.$ZodError, "issues">): readonly Issue[] {
  return issues.flatMap((issue) => {
    const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
    if (path.length > 0 && isMissing(issue)) return [{ path, message: "is missing" }];
    if (issue.code !== "invalid_union" || issue.errors.length === 0) {
      return [{ path, message: issue.message.replace(KIND_OF_PROBLEM, "") }];
    }
    const alternatives = issue.errors.map((found) => issuesOf({ issues: found }));
    const closest = alternatives.find((found) => found.some((inner) => inner.path.length > 0));
    return closest
      ? closest.map((inner) => ({ ...inner, path: [...path, ...inner.path] }))
      : [{ path, message: alternatives.map(issuesText).join(", or ") }];
  });
}

/** Whether there is no value, which each alternative of a union says. */
function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.code !== "invalid_union") return issue.message.endsWith(", received undefined");
  return issue.errors.length > 0 && issue.errors.flat().every(isMissing);
}

/** "Too big: expected number to be <=1000" says nothing that the second half does not say. */
const KIND_OF_PROBLEM = /^(Invalid (input|option)|Too (big|small)): /;

function dotted(path: Issue["path"]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? key : `${text}.${key}`;
  }, "");
}
