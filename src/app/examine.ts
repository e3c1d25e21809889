// The checks of `rkat doctor`.

import { constants, copyFileSync, existsSync } from "node:fs";
import { type Config, embedderSettings, providerSettings } from "../config/config.ts";
import { untrustedNote } from "../config/load-config.ts";
import { lookAtStore, requireTrustedStore } from "../config/store-file.ts";
import { hasCapability, hasStore, type Workspace } from "../config/workspace.ts";
import type { Embedder } from "../core/embedder.ts";
import { errorText, messageAndHint, SessionError, shownAddress } from "../core/errors.ts";
import { MEMORY_STORES } from "./memory-stores.ts";
import { openEmbedderOf, openStores } from "./open-stores.ts";
import { actingFor } from "./opened.ts";

/** A check and its outcome. Only `wrong` makes `rkat doctor` fail. */
export interface Finding {
  readonly name: string;
  readonly state: "good" | "note" | "wrong";
  readonly detail: string;
}

/** The version of SQLite, and its known problems. */
export async function examineSqlite(): Promise<{
  readonly version: string;
  readonly problem?: string;
}> {
  return (await import("../stores/sqlite/examine-sqlite.ts")).examineSqlite();
}

/** The problems of a store's file; empty when it is sound. */
export async function examineStore(file: string): Promise<readonly string[]> {
  const { examineStore: problemsOf } = await import("../stores/sqlite/examine-sqlite.ts");
  try {
    lookAtStore(file);
  } catch (error) {
    return [errorText(error)];
  }
  return problemsOf(file);
}

/** A note about the indexes in a sound file, when they are being made again. */
export async function examineIndexes(file: string): Promise<readonly Finding[]> {
  const { examineIndexes: noteOf } = await import("../stores/sqlite/examine-sqlite.ts");
  const detail = noteOf(file);
  return detail === undefined ? [] : [{ name: "memory index", state: "note", detail }];
}

/** The findings about a database at this address. */
export async function examineServer(
  { config }: Workspace,
  address: string,
): Promise<readonly Finding[]> {
  const { examinePostgres } = await import("../stores/postgres/examine-postgres.ts");
  const { postgresAddress } = await import("../stores/postgres/server-address.ts");
  const { MEMORY_INDEX } = await import("../projections/log-projection.ts");
  try {
    const projection = MEMORY_INDEX[config.get("memory.index")];
    return await examinePostgres(postgresAddress(address), projection);
  } catch (error) {
    return [{ name: "store", state: "wrong", detail: messageAndHint(SessionError.from(error)) }];
  }
}

/** The differences between memory and the log, in sentences; empty when they are alike. */
export async function examineMemoryOfLog(workspace: Workspace): Promise<readonly string[]> {
  const { config } = workspace;
  const isCompared =
    hasCapability(config, "memory-store") && hasCapability(config, "session-store");
  if (!isCompared || !hasStore(workspace)) return [];
  const { MemoryAudit } = await import("../session/memory-audit.ts");
  const stores = await openStores(workspace, "existing");
  try {
    const own = actingFor(workspace, stores);
    return (await new MemoryAudit(own, config.get("memory.index")).check()).problems;
  } catch (error) {
    return [SessionError.from(error).message];
  } finally {
    await stores.close();
  }
}

/** Leases that a finding names. */
const LEASES_MAX = 5;

/** Which processes work in which sessions, and until when they have these for themselves. */
export async function examineLeases(workspace: Workspace): Promise<readonly Finding[]> {
  if (!hasCapability(workspace.config, "session-store") || !hasStore(workspace)) return [];
  const stores = await openStores(workspace, "existing");
  try {
    const held = await actingFor(workspace, stores).sessions.leases?.(LEASES_MAX + 1);
    if (!held) return [];
    const named = held.slice(0, LEASES_MAX).map(({ key, host, pid, leftMs }) => {
      const until = new Date(Date.now() + leftMs).toISOString().slice(11, 19);
      return `${key} by process ${pid} of ${host}, until ${until} UTC or longer`;
    });
    const more = held.length > LEASES_MAX ? ["and more"] : [];
    const detail = held.length === 0 ? "none" : [...named, ...more].join("; ");
    return [{ name: "leases", state: "good", detail }];
  } catch (error) {
    return [{ name: "leases", state: "wrong", detail: SessionError.from(error).message }];
  } finally {
    await stores.close();
  }
}

/** The providers of models, and what each lacks to be used. */
export async function examineProviders({ config }: Workspace) {
  const { providerStates } = await import("../models/providers.ts");
  return providerStates(config.providers, process.env);
}

/**
 * Whether the server of the model answers. A server of this machine is asked, another one only `online`: the request costs
 * nothing, but the key goes there.
 */
export async function examineModel({ config }: Workspace, { online }: Online): Promise<Finding> {
  const model = config.get("model");
  if (model === undefined) {
    const way = untrustedNote(config, "model") ?? "Name one with -m, or set `model`";
    return { name: "model", state: "note", detail: `none is set. ${way}` };
  }
  const { contactOf } = await import("../models/find-provider.ts");
  try {
    const contact = contactOf(model, providerSettings(config, process.env));
    const address = shownAddress(contact.address);
    if (!online && !contact.isLocal) {
      return { name: "model", state: "note", detail: `${model}. ${notContacted(address)}` };
    }
    const said = await contact.ask(AbortSignal.timeout(CONTACT_TIMEOUT_MS));
    return { name: "model", state: "good", detail: `${model} at ${address}: ${said}` };
  } catch (error) {
    const failure = SessionError.from(error);
    // A line of its own tells what the provider lacks.
    const said = failure.code === "MODEL_UNAVAILABLE" ? failure.message : messageAndHint(failure);
    return { name: "model", state: "wrong", detail: `${model}: ${said}` };
  }
}

interface Online {
  /** Whether servers of other machines are asked too. */
  readonly online: boolean;
}

function notContacted(address: string): string {
  return `${address} was not contacted: \`rkat doctor --online\` asks it`;
}

/** Whether the memory store of the settings has everything that it needs; undefined when memory is off. */
export async function examineMemory({
  config,
  storeAddress,
}: Workspace): Promise<{ readonly index: string } | { readonly problem: string } | undefined> {
  if (!hasCapability(config, "memory-store")) return undefined;
  const store = config.get("memory.store");
  try {
    await MEMORY_STORES[store].requirePackages();
    const place = storeAddress === undefined ? "in the store's file" : "in PostgreSQL";
    return { index: store === "hnsw" ? 'store = "hnsw"' : `words, ${place}` };
  } catch (error) {
    return { problem: messageAndHint(SessionError.from(error)) };
  }
}

/** Tries the embedder of the settings; undefined when they name none. A server of another machine may cost something. */
export async function examineEmbedder(
  workspace: Workspace,
  { online }: Online,
): Promise<
  { readonly id: string; readonly asked: boolean } | { readonly problem: string } | undefined
> {
  const { config } = workspace;
  try {
    const remote = online ? undefined : await remoteEmbedder(config);
    if (remote !== undefined) return remote;
    const embedder = await openEmbedderOf(config, { maxRetries: 0 });
    // A wrong key, address or model shows only when the embedder is used.
    await embedder?.embed(["Hello."], { signal: AbortSignal.timeout(EMBEDDER_TIMEOUT_MS) });
    if (embedder === undefined) return undefined;
    return { id: `${embedder.id}. ${await meaningOf(embedder, workspace)}`, asked: true };
  } catch (error) {
    return { problem: messageAndHint(SessionError.from(error)) };
  }
}

/** The embedder as doctor shows it: its size, what a search does with it, and how many entries it still lacks. */
async function meaningOf(embedder: Embedder, workspace: Workspace): Promise<string> {
  const { dimensions, trained } = embedder;
  const about = "about" in embedder ? `${embedder.about}, ` : "";
  const does = trained
    ? "Searches use words and meaning together."
    : "Counted words decide between entries whose words say the same.";
  return `${about}${dimensions} dimensions. ${does}${await pendingVectors(workspace)}`;
}

async function pendingVectors(workspace: Workspace): Promise<string> {
  if (!hasStore(workspace)) return "";
  const stores = await openStores(workspace, "existing");
  try {
    const { vectors } = await actingFor(workspace, stores).memory.stats();
    if (vectors === undefined || vectors.pending === 0) return "";
    const all = vectors.embedded + vectors.pending;
    return ` ${vectors.pending} of ${all} passages are still to be embedded; words find them meanwhile.`;
  } finally {
    await stores.close();
  }
}

/** The embedder, if its server is another machine's. */
async function remoteEmbedder(
  config: Config,
): Promise<{ readonly id: string; readonly asked: boolean } | undefined> {
  const settings = embedderSettings(config, process.env);
  const { provider, baseUrl, apiKey } = settings ?? {};
  if (provider !== "openai" && provider !== "ollama") return undefined;
  const { contactOf } = await import("../models/find-provider.ts");
  const { address, isLocal } = contactOf(provider, {
    ...(baseUrl === undefined ? {} : { baseUrls: { [provider]: baseUrl } }),
    ...(apiKey === undefined ? {} : { keys: { [provider]: apiKey } }),
  });
  if (isLocal) return undefined;
  const id = (await openEmbedderOf(config))?.id ?? provider;
  return { id: `${id}. ${notContacted(shownAddress(address))}`, asked: false };
}

const CONTACT_TIMEOUT_MS = 5_000;

/** The time that `rkat doctor` waits for an embedder. */
const EMBEDDER_TIMEOUT_MS = 10_000;

/**
 * Copies a damaged SQLite file, with its log, before anything in it is changed. Returns the path of the copy; undefined
 * when the file is sound.
 *
 * @throws SessionError `STORE_NOT_TRUSTED`, `UNSAFE_FILE`
 * @throws SessionError `SESSION_STORE_ERROR` when nothing is left in it
 */
export async function keepDamaged(workspace: Workspace): Promise<string | undefined> {
  const { storeFile } = workspace.storePlace;
  if (workspace.storeAddress !== undefined || !existsSync(storeFile)) return undefined;
  requireTrustedStore(workspace.storePlace, process.env);
  const [problem] = await examineStore(storeFile);
  if (problem === undefined) return undefined;
  if (problem.startsWith("It is empty")) {
    throw new SessionError("SESSION_STORE_ERROR", {
      message: `${storeFile}: ${problem}`,
      hint: "There is nothing to repair. `rkat restore` makes a store from a backup.",
    });
  }
  const copy = `${storeFile}.damaged-${Date.now()}`;
  for (const end of ["", "-wal"]) {
    if (!existsSync(storeFile + end)) continue;
    copyFileSync(storeFile + end, copy + end, constants.COPYFILE_EXCL);
  }
  return copy;
}
