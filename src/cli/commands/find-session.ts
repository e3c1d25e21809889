import type { Command } from "commander";
import { checkoutAround } from "../../config/config-places.ts";
import type { SearchScope } from "../../config/settings.ts";
import type { Workspace } from "../../config/workspace.ts";
import { SessionError } from "../../core/errors.ts";
import { toolUses } from "../../core/message.ts";
import type { SessionSummary } from "../../core/operations/sessions.ts";
import type { SessionService } from "../../core/session-service.ts";
import { AGENTS } from "../../transcripts/imported.ts";
import type { CliContext } from "../cli-context.ts";
import { SESSION_ARGUMENT, scopeFlag, storeFlag } from "./flags.ts";
import { type ServiceAccess, withService } from "./with-service.ts";

const CANDIDATES_MAX = 5;
const LISTED_MAX = 1000;

/** A command of `rkat sessions` that reads one session. */
export function readingCommand(sessions: Command, name: string, description: string): Command {
  return namedSession(sessions, name, description).addOption(
    scopeFlag("look in this project, the user-wide store ~/.rkat, or both").default("all"),
  );
}

/** A command of `rkat sessions` that changes one session. */
export function changingCommand(sessions: Command, name: string, description: string): Command {
  return namedSession(sessions, name, description).addOption(storeFlag());
}

function namedSession(sessions: Command, name: string, description: string): Command {
  return sessions.command(name).description(description).argument("<session>", SESSION_ARGUMENT);
}

interface SessionAccess extends Pick<ServiceAccess, "asking" | "saysTools"> {
  readonly includeArchived?: boolean;
  readonly reads?: boolean;
  /** For a command of other sessions than those that `last` and ~N name. */
  readonly find?: (service: SessionService, name: string) => Promise<string>;
}

/** Opens the service that `--scope` names, and finds the session. */
export function withSession(
  context: CliContext,
  command: Command,
  name: string,
  work: (service: SessionService, sessionId: string) => Promise<void>,
  { includeArchived = true, reads = false, find, ...tools }: SessionAccess = {},
): Promise<void> {
  const found = async (service: SessionService) =>
    work(service, await (find?.(service, name) ?? findSession(service, name, { includeArchived })));
  const { scope } = command.opts<{ scope: SearchScope }>();
  return withService(context, command, found, {
    ...(reads ? { scope } : changedIn(scope)),
    ...tools,
  });
}

/** The service that changes something. The project's does not see the user-wide store. */
export function changedIn(scope: SearchScope): { readonly scope?: "user" } {
  return scope === "user" ? { scope } : {};
}

/**
 * Finds a session by its id, the beginning of its id, the same without the agent of an imported session, `last` (the one used last)
 * or `~N` (the Nth before that). `last` and `~N` skip archived sessions, and those of other worktrees.
 *
 * @throws SessionError `SESSION_NOT_FOUND` when there is none; `INVALID_PARAMS` when
 *   several match, or when the name is empty.
 */
export async function findSession(
  service: SessionService,
  name: string,
  { includeArchived = false, workspace }: FindOptions = {},
): Promise<string> {
  requireName(name);
  const back = stepsBack(name);
  if (back >= 0) {
    const [found] = await service.list({ limit: 1, offset: back, ...heldHere(workspace) });
    if (found) return found.sessionId;
    const [archived] = await service.list({
      limit: 1,
      includeArchived: true,
      ...heldHere(workspace),
    });
    throw archived && back === 0
      ? allArchived()
      : new SessionError("SESSION_NOT_FOUND", { message: noneBack(back) });
  }
  const listed = (archivedToo: boolean) =>
    service.list({ idPrefix: name, limit: CANDIDATES_MAX, includeArchived: archivedToo });
  const live = await listed(includeArchived);
  // The beginning of an archived session's id names that session, so that a turn is refused with the reason.
  const found = live.length > 0 || includeArchived ? live : await listed(true);
  return oneOf(found.length > 0 ? found : await listImported(service, name), name);
}

interface FindOptions {
  readonly includeArchived?: boolean;
  /** The folder in which `last` is looked for. Without it, in all worktrees. */
  readonly workspace?: Workspace;
}

/** Another worktree of a repository may be at work on something else. */
function heldHere(workspace: Workspace | undefined): { readonly project?: string } {
  const isShared = workspace && checkoutAround(workspace.folder) !== undefined;
  return isShared ? { project: workspace.folder } : {};
}

/** The agent's own name for a session that was imported has no agent before it. */
async function listImported(
  service: SessionService,
  name: string,
): Promise<readonly SessionSummary[]> {
  if (name.includes(":")) return [];
  const lists = AGENTS.map((agent) =>
    service.list({ idPrefix: `${agent}:${name}`, limit: CANDIDATES_MAX, includeArchived: true }),
  );
  return (await Promise.all(lists)).flat();
}

/**
 * Finds a session that exists, archived ones included. A filter needs this: a name that fits no
 * session would look like a session without results.
 *
 * @throws SessionError `SESSION_NOT_FOUND`, `INVALID_PARAMS`
 */
export async function findExisting(
  service: SessionService,
  name: string,
  {
    includeDeleted = false,
    ...where
  }: Pick<FindOptions, "workspace"> & { readonly includeDeleted?: boolean } = {},
): Promise<string> {
  const found = await findSession(service, name, { includeArchived: true, ...where });
  if (includeDeleted && found === name) {
    const sessionId = await findDeleted(service, name);
    const deleted = await service.list({ idPrefix: sessionId, limit: 1, deleted: true });
    if (deleted.length > 0) return sessionId;
  }
  await service.read({ sessionId: found });
  return found;
}

/** Finds an archived session by its id, the beginning of its id, `last` (the one used last) or `~N` (the Nth before that). */
export async function findArchived(service: SessionService, name: string): Promise<string> {
  const back = stepsBack(name);
  if (back < 0) return findSession(service, name, { includeArchived: true });
  const listed = await service.list({ includeArchived: true, limit: LISTED_MAX });
  const found = listed.filter(({ archived }) => archived)[back];
  if (found) return found.sessionId;
  throw new SessionError("SESSION_NOT_FOUND", { message: noneBack(back, "archived sessions") });
}

/**
 * Finds a deleted session by its id, the beginning of its id, `last` (the one deleted last) or `~N`
 * (the Nth before that).
 */
export async function findDeleted(service: SessionService, name: string): Promise<string> {
  requireName(name);
  const back = stepsBack(name);
  if (back >= 0) {
    const found = (await service.list({ limit: back + 1, deleted: true }))[back];
    if (found) return found.sessionId;
    throw new SessionError("SESSION_NOT_FOUND", { message: noneBack(back, "deleted sessions") });
  }
  return oneOf(await service.list({ idPrefix: name, limit: CANDIDATES_MAX, deleted: true }), name);
}

/** The number of sessions before the last one that `last` or `~N` names; -1 for any other name. */
function stepsBack(name: string): number {
  return name === "last" ? 0 : Number(/^~(\d{1,6})$/.exec(name)?.[1] ?? -1);
}

export function requireName(name: string): void {
  // Every id begins with an empty text, so an unset variable of a script would match any session.
  if (name !== "") return;
  throw new SessionError("INVALID_PARAMS", {
    message: "The session's name is empty.",
    hint: "Give an id, the beginning of one, `last` or ~N.",
  });
}

function oneOf(found: readonly SessionSummary[], name: string): string {
  const exact =
    found.find(({ sessionId }) => sessionId === name || sessionId.endsWith(`:${name}`)) ??
    (found.length === 1 && found[0]);
  if (exact) return exact.sessionId;
  // A full id may not be listed yet. The service reports the problem.
  if (found.length === 0) return name;
  throw ambiguous(name, found);
}

/** Whether the last answer of a session has tool calls without results. They wait for approval. */
export async function hasWaitingCall(
  service: Pick<SessionService, "read">,
  sessionId: string,
): Promise<boolean> {
  const { history } = await service.read({ sessionId });
  const last = history.at(-1);
  return last !== undefined && toolUses(last.message).length > 0;
}

function allArchived(): SessionError {
  return new SessionError("SESSION_NOT_FOUND", {
    message: "Every session is archived.",
    hint: "`rkat sessions list --all` shows them, and `rkat sessions unarchive last` brings one back.",
  });
}

function noneBack(back: number, what = "sessions"): string {
  return back === 0 ? `There are no ${what} yet.` : `There are fewer than ${back + 1} ${what}.`;
}

function ambiguous(name: string, found: readonly SessionSummary[]): SessionError {
  const ids = found.map(({ sessionId }) => sessionId).join("\n");
  return new SessionError("INVALID_PARAMS", {
    message: `Several sessions begin with "${name}":\n${ids}`,
    hint: "Give more of the id.",
  });
}
