import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { SettingKind } from "../../config/setting-kind.ts";
import { SEARCH_SCOPES, type SearchScope } from "../../config/settings.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { MEMORY_KINDS, type MemoryFilter, type MemoryKind } from "../../core/memory-store.ts";
import type { SourceConditions } from "../../core/session-source.ts";
import { nowHere, readClock } from "../../text/time/calendar.ts";
import { timeInWords } from "../../text/time/time-in-words.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** The description of the argument that names a session. */
export const SESSION_ARGUMENT =
  "its id, the beginning of the id, `last`, or ~N for the Nth before the last";

/** Reads a flag's value as a setting of this kind. */
export function flagOf<Value>(kind: SettingKind<Value>): (text: string) => Value {
  return (text) => {
    const value = kind.readText(text);
    if (value === undefined) throw new InvalidArgumentError(`It must be ${kind.allowed}.`);
    return value;
  };
}

/** Reads a whole number from `min` up to `max`. */
export function countFlag(max: number, min = 0): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Reads the name of a folder. An empty one, such as a script's unset variable, would name every folder or this one. */
export function folderFlag(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

/** Reads a number from 0 to 1. */
export function shareFlag(text: string): number {
  if (/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) && Number(text) <= 1) return Number(text);
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}

/** Collects a flag that may be repeated. */
export function listFlag(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Collects `--label k=v` flags. */
export function labelFlag(
  text: string,
  labels: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("It must be name=value.");
  return { ...labels, [name]: value };
}

export interface FilterFlags {
  readonly session?: string;
  readonly role?: string;
  readonly kind?: MemoryKind;
  readonly since?: string;
  readonly until?: string;
  readonly asOf?: string;
  /** When and where the flags were typed. Default: now, here. */
  readonly at?: string;
  readonly agent?: string;
  readonly project?: string;
  readonly branch?: string;
}

/** The conditions of flags on entries of memory. */
export type Filters = Omit<MemoryFilter, "sessions"> &
  SourceConditions & { readonly asOf?: string };

/** The flags that select by where a session came from. */
export function addSourceFlags(command: Command): Command {
  return command
    .option("--agent <name>", "only sessions of this agent: rkat, claude-code, codex …")
    .option("--project <folder>", "only sessions of this project's folder", folderFlag)
    .option("--branch <name>", "only sessions of this git branch");
}

/** The flag for the scope of a search. */
export function scopeFlag(description: string): Option {
  return new Option("--scope <scope>", description).choices(SEARCH_SCOPES);
}

/** The flag for where something is changed. */
export function storeFlag(): Option {
  return new Option("--scope <scope>", "change it in this project, or in the user-wide store")
    .choices(["project", "user"] satisfies readonly SearchScope[])
    .default("project");
}

/** A project is named by its whole path. */
export function sourceOf(
  { agent, project, branch }: SourceConditions,
  { cwd }: Pick<Terminal, "cwd">,
): SourceConditions {
  return given({
    agent,
    branch,
    project: project === undefined ? undefined : resolve(cwd, project),
  });
}

/** The flags that select entries of memory. */
export function addFilterFlags(command: Command): Command {
  return addSourceFlags(command)
    .option("--session <session>", `only this session: ${SESSION_ARGUMENT}`)
    .option("--role <role>", "only this role: user, assistant …")
    .addOption(new Option("--kind <kind>", "only entries of this kind").choices(MEMORY_KINDS))
    .option("--since <time>", 'from this day or time on (ISO 8601, or "last Tuesday")')
    .option("--until <time>", "up to this time; a day includes all of that day")
    .option("--as-of <time>", AS_OF);
}

/** The description of `--as-of`. */
export const AS_OF = "as it was at this time (a day is its end), without what was forgotten since";

function requireClock(at: string | undefined): void {
  if (at === undefined || readClock(at) !== undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `--at ${at} is no time, or names a zone that is not known here.`,
    hint: "Write it as 2026-11-26T10:00:00+01:00[Europe/Berlin].",
  });
}

/**
 * A time as a filter takes it: "last Tuesday" is its first or last millisecond. What begins as ISO 8601 does stays as it is.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function timeOf(
  flags: Pick<FilterFlags, "since" | "until" | "asOf" | "at">,
  name: "since" | "until" | "asOf",
): string | undefined {
  const text = flags[name];
  if (text === undefined || /^\d{4}-\d\d-\d\d/.test(text)) return text;
  const clock = readClock(flags.at ?? nowHere());
  const said = clock && timeInWords(text, clock);
  // A number beside the time is a part of it that is not known, as in "31 february".
  const isWhole = said && !/\d/.test(text.slice(0, said.start) + text.slice(said.end));
  const [span] = isWhole ? said.spans : [];
  const ms = name === "since" ? span?.from : span && span.to - 1;
  if (ms !== undefined && Number.isFinite(ms)) return new Date(ms).toISOString();
  throw new SessionError("INVALID_PARAMS", {
    message: `--${name === "asOf" ? "as-of" : name} ${text} is no time.`,
    hint: 'Write ISO 8601 (2026-11-26, 2026-11-26T10:00:00Z), or words: "yesterday", "last Tuesday", "two weeks ago", "in spring", "Q3".',
  });
}

/**
 * The filters of the flags, checked as a service checks them. The schemas are
 * loaded only when there is something to check.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export async function filtersOf(
  flags: FilterFlags,
  terminal: Pick<Terminal, "cwd">,
): Promise<Filters> {
  const { session, role, kind } = flags;
  requireClock(flags.at);
  const [since, until] = [timeOf(flags, "since"), timeOf(flags, "until")];
  const asOf = timeOf(flags, "asOf");
  const filters = {
    ...given({ sessionId: session, role, kind, since, until, asOf }),
    ...sourceOf(flags, terminal),
  };
  if (Object.keys(filters).length === 0) return filters;
  const [{ parseRequest }, { listMemory }] = await Promise.all([
    import("../../core/operations/operation.ts"),
    import("../../core/operations/memory.ts"),
  ]);
  parseRequest(listMemory, filters);
  return filters;
}
