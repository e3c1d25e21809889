import { onTestFinished } from "vitest";
import { makeStore } from "../../src/config/store-file.ts";
import { openWorkspace, type Workspace } from "../../src/config/workspace.ts";
import { postgresStores } from "../../src/postgres.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { postgresAddress } from "../../src/stores/postgres/server-address.ts";
import { temporaryFolder } from "./obey.ts";
import { freshSchema, hasPostgres, postgresUrl } from "./postgres.ts";
import { systemEnvironment } from "./system-environment.ts";

/** A project with a store of its own. */
export interface Place {
  readonly workspace: Workspace;
  open(): Stores;
}

type Kind = "SQLite" | "PostgreSQL";
export const PLACE_KINDS: readonly Kind[] = hasPostgres ? ["SQLite", "PostgreSQL"] : ["SQLite"];

export async function newPlace(kind: Kind = "SQLite"): Promise<Place> {
  const cwd = await temporaryFolder();
  const address = kind === "SQLite" ? undefined : await newAddress();
  const workspace = await openWorkspace({ cwd, env: systemEnvironment() }, cwd, undefined, address);
  return {
    workspace,
    open() {
      const stores =
        address === undefined
          ? sqliteStores({ path: workspace.storeFile })
          : postgresStores(postgresAddress(address));
      onTestFinished(() => stores.close());
      return stores;
    },
  };
}

async function newAddress(): Promise<string> {
  const url = new URL(await postgresUrl());
  url.searchParams.set("schema", await freshSchema());
  return url.href;
}

/** A project whose store this user made, with something in it. */
export async function newProject(kind: Kind = "SQLite"): Promise<Place> {
  const place = await newPlace(kind);
  if (kind === "SQLite") makeStore(place.workspace, systemEnvironment());
  return place;
}
