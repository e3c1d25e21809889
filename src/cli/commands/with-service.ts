import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Asking, OpenedProjectService } from "../../app/open-project-service.ts";
import { openMemory, openMemoryOf } from "../../app/open-stores.ts";
import { type Opened, type StoreAccess, useOpened } from "../../app/opened.ts";
import type { SearchScope } from "../../config/settings.ts";
import {
  examineWorkspace,
  hasStore,
  openUserWorkspace,
  openWorkspace,
  requireStore,
  type Workspace,
} from "../../config/workspace.ts";
import { SessionError } from "../../core/errors.ts";
import type { OpenMemory } from "../../core/operations/memory.ts";
import type { Operation } from "../../core/operations/operation.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { styleFor } from "../render/style.ts";
import { printText } from "../terminal/print.ts";
import type { Terminal } from "../terminal/terminal.ts";

type GlobalFlags = Readonly<Partial<Record<"dir" | "user" | "store", string>>>;

/**
 * The project that the command line names, or with the scope `user` the folder of the user-wide store.
 *
 * @throws SessionError `INVALID_PARAMS` for a folder that is not there: it may only be misspelt
 */
export async function workspaceOf(
  context: Pick<CliContext, "terminal">,
  command: Command,
  scope?: unknown,
): Promise<Workspace> {
  if (scope !== "user") requireFolder(context, command);
  return await workspaceToFill(context, command, scope);
}

/** The same for a command that fills a store, and makes the folder for it: `import` and `restore`. */
export function workspaceToFill(
  { terminal }: Pick<CliContext, "terminal">,
  command: Command,
  scope?: unknown,
): Promise<Workspace> {
  const { dir, user, store } = command.optsWithGlobals<GlobalFlags>();
  if (scope === "user") return openUserWorkspace(terminal, user);
  return openWorkspace(terminal, dir, user, store);
}

/** The same for a command that shows what is wrong with the settings. */
export async function examinedWorkspace(context: Pick<CliContext, "terminal">, command: Command) {
  const { dir, user, store } = command.optsWithGlobals<GlobalFlags>();
  requireFolder(context, command);
  return await examineWorkspace(context.terminal, dir, user, store);
}

/** Requires the folder that `--dir` names. An empty name is refused where it is read. */
export function requireFolder({ terminal }: Pick<CliContext, "terminal">, command: Command): void {
  const { dir } = command.optsWithGlobals<GlobalFlags>();
  const folder = dir && resolve(terminal.cwd, dir);
  if (!folder || statSync(folder, { throwIfNoEntry: false })) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `There is no folder ${folder}.`,
    hint: "Name the project's folder with --dir. `rkat init` makes one.",
  });
}

export interface ServiceAccess {
  readonly access?: StoreAccess;
  /** The stores that are searched and listed. Default: the store of the project alone. */
  readonly scope?: SearchScope | ((workspace: Workspace) => SearchScope);
  /** The moment when a missing store is made, with a scope. Default: at once, if the access creates it. */
  readonly makesStore?: "at once" | "when changed";
  /** The approver of tool calls, made once the settings are known. */
  readonly asking?: (workspace: Workspace) => Asking;
  /** Whether a person is told which tools the model has. */
  readonly saysTools?: boolean;
}

/** Opens the service of the project that the command line names, and closes it after the work. */
export async function withService<Result>(
  context: CliContext,
  command: Command,
  work: (service: SessionService, workspace: Workspace) => Promise<Result>,
  {
    access = "existing",
    scope,
    asking,
    saysTools = true,
    makesStore = "at once",
  }: ServiceAccess = {},
): Promise<Result> {
  const workspace = await workspaceOf(context, command, scope);
  const { openProjectService, openServiceInScope } = await import(
    "../../app/open-project-service.ts"
  );
  if (scope !== undefined) {
    const which = typeof scope === "function" ? scope(workspace) : scope;
    const open = (how: StoreAccess) =>
      openServiceInScope(which, workspace, how, asking?.(workspace));
    const isLazy = makesStore === "when changed" && !existsSync(workspace.storePlace.dataFolder);
    const opened = isLazy
      ? await storedLater(open, "create", ({ effect }) => effect !== "reads")
      : access === "show" && !hasStore(workspace)
        ? await storedLater(open, "show", () => hasStore(workspace))
        : await open(access);
    return await useOpened(opened, (value) => work(value, workspace));
  }
  const opened = await openProjectService(workspace, access, asking?.(workspace));
  if (saysTools) await sayTools(context.terminal, opened);
  return await useOpened(opened, (value) => work(value, workspace));
}

/** Opens the memory of the project that the command line names. Does not load the agent. */
export async function withMemory(
  context: CliContext,
  command: Command,
  work: (memory: OpenMemory) => Promise<void>,
  {
    access = "existing",
    scope,
    needsStore = false,
  }: Pick<ServiceAccess, "access"> & { scope?: SearchScope; needsStore?: boolean } = {},
): Promise<void> {
  const workspace = await workspaceOf(context, command);
  if (needsStore) requireStore(workspace);
  const opened = scope ? openMemoryOf(scope, workspace) : openMemory(workspace, access);
  await useOpened(await opened, work);
}

/** Tells a person which tools the model has. */
export async function sayTools(
  { stderr, env }: Pick<Terminal, "stderr" | "env">,
  { toolsNote }: OpenedProjectService,
): Promise<void> {
  if (toolsNote === "" || !stderr.isTerminal) return;
  await printText(stderr, styleFor(stderr, env).dim(`${toolsNote}\n`));
}

/**
 * A service without a store, until the first request that needs one. A server that only answers leaves nothing in the
 * folder that it was started in, and a page that only reads shows a store that is made while it is open.
 */
async function storedLater(
  open: (access: StoreAccess) => Promise<Opened<SessionService>>,
  access: StoreAccess,
  needsStore: (operation: Operation) => boolean,
): Promise<Opened<SessionService>> {
  const { OPERATIONS } = await import("../../core/operations.ts");
  const reading = await open("existing");
  let current = reading.value;
  let changing: Promise<Opened<SessionService>> | undefined;
  const change = async () => {
    changing ??= open(access);
    try {
      current = (await changing).value;
    } catch (error) {
      changing = undefined;
      throw error;
    }
  };
  const value = new Proxy(reading.value, {
    get(_, name) {
      const method = Reflect.get(current, name);
      if (typeof method !== "function") return method;
      const operation = Reflect.get(OPERATIONS, name) as Operation | undefined;
      if (operation === undefined || changing || !needsStore(operation))
        return method.bind(current);
      return async (...args: unknown[]) => {
        await change();
        return await Reflect.get(current, name).apply(current, args);
      };
    },
  });
  const close = async () => {
    await reading.close();
    await (await changing)?.close();
  };
  return { value, close };
}
