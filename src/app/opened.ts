import { hasUserStore, isHome } from "../config/config-places.ts";
import { untrustedNote } from "../config/load-config.ts";
import type { SearchScope } from "../config/settings.ts";
import { openUserWorkspace, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import { warn } from "../core/warn.ts";
import type { LibraryOptions } from "../session/with-library.ts";

/**
 * The way a command uses the store of a project:
 *
 *     existing   reads; a missing store is empty, and is not created
 *     show       reads it too, for as long as a page is open, and refuses at once a
 *                store that cannot be used
 *     create     creates a missing store
 *     serve      creates it too, and queries it on a worker thread, so that one
 *                slow query does not block the other clients
 */
export type StoreAccess = "existing" | "show" | "create" | "serve";

/** Whether a missing store stays missing. */
export function onlyReads(access: StoreAccess): boolean {
  return access === "existing" || access === "show";
}

/** Tells what a person may not know of the store that is opened. */
export function warnOfStore({ config, leftStore }: Workspace, access: StoreAccess): void {
  // A process that only reads depends on the settings of memory alone.
  const read = onlyReads(access) ? ["embeddings", "memory", "search"] : [];
  for (const text of [leftStore, untrustedNote(config, ...read)]) {
    if (text !== undefined) warn(text);
  }
}

/** The same service or stores, for the user that the command names. */
export function actingFor<Acting extends { forUser(user: string): Acting }>(
  { user }: Workspace,
  acting: Acting,
): Acting {
  return user === undefined ? acting : acting.forUser(user);
}

export interface Opened<Value> {
  readonly value: Value;
  close(): Promise<void>;
}

/** Works with something that was opened, and closes it. */
export async function useOpened<Value, Result>(
  opened: Opened<Value>,
  work: (value: Value) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened.value);
  } finally {
    await opened.close();
  }
}

/** Closes things one after the other: each may use those after it. */
export async function closeAll(things: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const thing of things) await thing.close();
}

/**
 * Opens the project, the user-wide store, or both together. A user of a project sees only the
 * project. In your home folder both are the same.
 */
export async function openScope<Value>(
  scope: SearchScope,
  workspace: Workspace,
  open: (workspace: Workspace) => Promise<Opened<Value>>,
  unite: (own: Value, library: Value, options: LibraryOptions) => Promise<Value>,
): Promise<Opened<Value>> {
  const { config, folder, user } = workspace;
  const { env } = process;
  const surroundings = { cwd: folder, env };
  if (scope === "user") return await open(await openUserWorkspace(surroundings, user));
  const own = await open(workspace);
  const isAlone = user !== undefined || isHome(folder, env) || !hasUserStore(env);
  if (isAlone) return own;
  try {
    const library = await open(await openUserWorkspace(surroundings));
    const memoryResults = config.get("search.max_results");
    const which = { memoryResults, ...(scope === "all" ? {} : { project: folder }) };
    const value = await unite(own.value, library.value, which);
    return { value, close: () => closeAll([own, library]) };
  } catch (error) {
    // The project is there all the same.
    warn(SessionError.from(error), "The user-wide store was not searched.");
    return own;
  }
}
