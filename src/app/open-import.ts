import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { isHome, shortPath, userStoreProblem } from "../config/config-places.ts";
import {
  folderForImport,
  hasCapability,
  hasStore,
  openUserWorkspace,
  openWorkspace,
  takesImports,
  type Workspace,
} from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { ImportReport } from "../core/operations/imports.ts";
import type { FoundTranscripts } from "../import/find-transcripts.ts";
import type { ImportOptions } from "../import/import-files.ts";
import type { AddedTo } from "../import/import-report.ts";
import {
  type ImportPlace,
  type ImportPlaces,
  type ImportStores,
  withLibraryKnown,
} from "../import/import-stores.ts";
import { findImportable, importIntoPlaces, isAnyImportable } from "./import-transcripts.ts";
import { openStores, storeName } from "./open-stores.ts";
import { actingFor, closeAll, type Opened, type StoreAccess } from "./opened.ts";

/** Imports conversations of other agents. */
export interface Importer {
  /** A sentence that says where sessions go. */
  readonly destination: string;
  find(source: Pick<ImportOptions, "agent" | "path">): readonly FoundTranscripts[];
  run(
    options: Omit<
      ImportOptions,
      "formats" | "machine" | "model" | "sinceMs" | "onStored" | "places"
    > & {
      readonly since?: string;
    },
  ): Promise<{
    readonly report: ImportReport;
    /** The additions to each store. */
    readonly added: readonly (AddedTo & { readonly place: string })[];
  }>;
}

/**
 * Opens what `rkat import` imports into. Each session goes to the store of its own project, or to the
 * user-wide one; if the workspace was chosen, to that store. A trial stores nothing.
 */
export async function openImport(
  workspace: Workspace,
  { isTrial, isChosen }: { readonly isTrial: boolean; readonly isChosen: boolean },
): Promise<Opened<Importer>> {
  const access = isTrial ? "existing" : "create";
  const { env } = process;
  const isOne =
    isChosen || workspace.storeAddress !== undefined || userStoreProblem(env) !== undefined;
  const own = isOne ? workspace : await openUserWorkspace({ cwd: workspace.folder, env });
  const name = storeName(own);
  // Opened for the first import: without transcripts, or after a no, no store is needed.
  let opening: Promise<Opened<ImportStores>> | undefined;
  let projects: ImportProjects | undefined;
  return {
    value: {
      destination: isOne
        ? `Everything goes to ${name}.`
        : `A session goes to the .rkat of its project, if there is one that you trust, and otherwise to ${name}.`,
      find: findImportable,
      async run(options) {
        const isNeeded = hasStore(own) || (await isAnyImportable(options));
        if (isNeeded) opening ??= openImportStores(own, access);
        const { value: stores } = await (opening ?? openImportStores(own, "existing"));
        if (!isOne && isNeeded) projects ??= new ImportProjects(stores, access);
        const tally = await importIntoPlaces(
          {
            ...options,
            stores,
            ...given({ model: own.config.get("model") }),
            memoryScope: own.config.get("memory.index"),
          },
          projects,
        );
        const added = tally.byPlace.map((each) => ({ ...each, place: each.place ?? name }));
        return { report: tally.report(), added };
      },
    },
    async close() {
      const library = await opening?.catch(() => undefined);
      await closeAll([projects, library].flatMap((one) => one ?? []));
    },
  };
}

/** @throws SessionError `SESSION_PERSISTENCE_DISABLED` */
async function openImportStores(
  workspace: Workspace,
  access: StoreAccess,
): Promise<Opened<ImportStores>> {
  const { config } = workspace;
  if (!hasCapability(config, "session-store")) {
    throw new SessionError("SESSION_PERSISTENCE_DISABLED");
  }
  const opened = await openStores(workspace, access);
  const { memory, ...stores } = actingFor(workspace, opened);
  const value = { ...stores, ...(hasCapability(config, "memory-store") ? { memory } : {}) };
  return { value, close: () => opened.close() };
}

/**
 * The stores of the projects that imported sessions were held in, opened when the first session comes.
 * A project without a `.rkat` that you trust has none: its sessions go to the library. So does what
 * comes later of a session that is there.
 */
class ImportProjects implements ImportPlaces {
  readonly #library: ImportStores;
  readonly #access: StoreAccess;
  readonly #opened = new Map<string, Promise<Opened<ImportPlace>>>();

  constructor(library: ImportStores, access: StoreAccess) {
    this.#library = library;
    this.#access = access;
  }

  async placeOf({ id, project }: Parameters<ImportPlaces["placeOf"]>[0]) {
    const folder = await folderForImport(project, process.env);
    if (folder === undefined || isHome(folder, process.env)) return undefined;
    if ((await this.#library.events.lastSeq(id)) > 0) return undefined;
    const opening = this.#opened.get(folder) ?? this.#open(folder);
    this.#opened.set(folder, opening);
    return (await opening).value;
  }

  async #open(folder: string): Promise<Opened<ImportPlace>> {
    const { env } = process;
    const workspace = await openWorkspace({ cwd: folder, env }, folder);
    const { value, close } = await openImportStores(workspace, this.#access);
    const stores = withLibraryKnown(value, this.#library);
    const name = shortPath(workspace.storePlace.dataFolder, env);
    return { value: { name, mark: markOf(workspace.storeFile), stores }, close };
  }

  isThere(mark: string): boolean {
    const storeFile = mark.slice(mark.indexOf(" ") + 1);
    const folder = dirname(dirname(storeFile));
    return markOf(storeFile) === mark && takesImports(folder, process.env);
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#opened.values());
    await closeAll(opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
  }
}

/** Names a store's file: another file at the same path has another mark. */
function markOf(storeFile: string): string {
  const found = lstatSync(storeFile, { throwIfNoEntry: false });
  return `${found?.dev ?? 0}-${found?.ino ?? 0} ${storeFile}`;
}
