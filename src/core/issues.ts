import type { z } from "zod";
import { nearestName } from "../text/nearest-name.ts";
import { snakeCase } from "./fields.ts";

/** One thing that is wrong with a request. */
export interface Issue {
  /** The way to the field, for example `["compaction", "windowSize"]`. Empty for the whole request. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Issues that a line names. A list of a thousand entries may have a wrong field in each. */
const NAMED_MAX = 20;

/** A sentence for each issue: `limit: expected int, received string. compaction.windowSize: …. And 12 more.` */
export function issuesText(issues: readonly Issue[]): string {
  const named = issues
    .slice(0, NAMED_MAX)
    .map(({ path, message }) => (path.length === 0 ? message : `${dotted(path)}: ${message}`));
  const left = issues.length - named.length;
  return [...named, ...(left > 0 ? [`And ${left} more`] : [])]
    .map((text) => (/[.?!]$/.test(text) ? text : `${text}.`))
    .join(" ");
}

/** The names of the fields that the object at a path can have; none where they are not known. */
type NamesAt = (path: Issue["path"]) => readonly string[];

/**
 * The faults that zod found. Of a union, the alternative counts that the value came closest to. With `namesAt`, a key that is
 * not known comes with the one that was probably meant.
 */
export function issuesOf(
  { issues }: Pick<z.core.$ZodError, "issues">,
  namesAt: NamesAt = () => [],
): readonly Issue[] {
  // A search for a name takes time, and a request may have any number of keys.
  let left = NAMED_MAX;
  return issues.flatMap((issue) => {
    const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
    if (path.length > 0 && isMissing(issue)) return [{ path, message: "is missing" }];
    if (issue.code === "unrecognized_keys") {
      const names = left > 0 ? namesAt(path) : [];
      const keys = issue.keys.slice(0, Math.max(1, left));
      left -= keys.length;
      return keys.map((key) => ({
        path,
        message: unrecognizedKey(key, meantBy(key, names), names),
      }));
    }
    if (issue.code !== "invalid_union" || issue.errors.length === 0) {
      return [{ path, message: plainly(issue.message) + receivedIn(issue) }];
    }
    const alternatives = issue.errors.map((found) => issuesOf({ issues: found }));
    const closest = alternatives.find((found) => found.some((inner) => inner.path.length > 0));
    return closest
      ? closest.map((inner) => ({ ...inner, path: [...path, ...inner.path] }))
      : [{ path, message: alternatives.map((found) => messagesOf(found)).join(", or ") }];
  });
}

/** A longer text is not quoted. */
const QUOTED_MAX = 60;

/** The given value, as the end of a message that does not have it; empty where the message alone is clear. */
function receivedIn(issue: z.core.$ZodIssue): string {
  const { code, input } = issue;
  if (code === "too_big" || code === "too_small") {
    const size = typeof input === "string" || Array.isArray(input) ? input.length : input;
    return isPlain(size) && size !== 0 ? `, received ${size}` : "";
  }
  const value = code === "invalid_union" ? Object(input)[issue.discriminator ?? ""] : input;
  if (!isPlain(value) || Number.isNaN(value)) return "";
  const text = JSON.stringify(value);
  if (text.length > QUOTED_MAX || String(value).trim() === "") return "";
  // Its type is in the message already.
  return code === "invalid_type" ? ` ${text}` : `, received ${text}`;
}

function isPlain(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function messagesOf(issues: readonly Issue[]): string {
  return issues.map(({ message }) => message).join(" and ");
}

/**
 * The sentence about a key that is not known, with the one that was probably meant, or else all that there are. Both ends of
 * a wire word it alike.
 */
export function unrecognizedKey(
  key: string,
  meant: string | undefined,
  names: readonly string[] = [],
): string {
  const said = `Unrecognized key: ${JSON.stringify(key)}`;
  if (meant !== undefined) return `${said}. Did you mean ${meant}?`;
  return names.length === 0 ? said : `${said}. It takes ${names.join(", ")}.`;
}

const NAMES_AFTER = /^(Unrecognized key: .*\. (?:Did you mean|It takes) )([\w, ]+)([?.])$/s;

/** The sentence with other names for the keys that it names as right. */
export function withMeant(message: string, rename: (name: string) => string): string {
  const [, said, names = "", end] = NAMES_AFTER.exec(message) ?? [];
  return said === undefined ? message : `${said}${names.split(", ").map(rename).join(", ")}${end}`;
}

/** The name that a key is a slip of, in the code's spelling or in the wire's. */
function meantBy(key: string, names: readonly string[]): string | undefined {
  const near = nearestName(key, [...names, ...names.map(snakeCase)]);
  return names.find((name) => name === near || snakeCase(name) === near);
}

/** Whether there is no value, which each alternative of a union says. */
function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.code !== "invalid_union") return issue.message.endsWith(", received undefined");
  return issue.errors.length > 0 && issue.errors.flat().every(isMissing);
}

/** "Too big: expected number to be <=1000" says nothing that the second half does not say. */
const KIND_OF_PROBLEM = /^(Invalid (input|option)|Too (big|small)): /;
const DISCRIMINATOR = /^Invalid discriminator value\. Expected (.*)$/s;

/** The message without what says nothing, and in the same words wherever one of several values is expected. */
function plainly(message: string): string {
  const [, values] = DISCRIMINATOR.exec(message) ?? [];
  if (values === undefined) return message.replace(KIND_OF_PROBLEM, "");
  return `expected one of ${values.replaceAll("'", '"').replaceAll(" | ", "|")}`;
}

function dotted(path: Issue["path"]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? key : `${text}.${key}`;
  }, "");
}
