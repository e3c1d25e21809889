import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { newId } from "../../core/ids.ts";
import type { VectorWork } from "../../indexing/vectors/vector-queue.ts";
import type { Database } from "./database.ts";

/** The vectors of a namespace in a SQLite file. One process at a time makes those of an embedder. */
export function sqliteVectorWork(
  database: Database,
  namespace: string,
  embedderId: string,
): VectorWork {
  const key = `vectors:${embedderId}`;
  const owner = { id: newId(), host: thisHost(), pid: process.pid };
  return {
    get closed() {
      return database.closed;
    },
    openSpace: (...values) => database.run("openVectorSpace", namespace, ...values),
    pendingPassages: (...values) => database.run("pendingPassages", namespace, ...values),
    storeVectors: (...values) => database.run("storeVectors", namespace, ...values),
    saveCalibration: (...values) => database.run("saveCalibration", namespace, ...values),
    deleteOtherSpaces: (...values) => database.run("deleteOtherSpaces", namespace, ...values),
    vectorStats: (...values) => database.run("vectorStats", namespace, ...values),
    lease: (ttlMs) => database.run("acquireLease", namespace, key, owner, Date.now(), ttlMs),
    release: () => database.run("releaseLease", namespace, key, owner.id),
  };
}

/**
 * Where process ids are unique: the lease of a process of the same place that is gone can be taken at
 * once. Containers may share a host name and not their processes.
 */
function thisHost(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux: all processes of the host share their ids.
    return hostname();
  }
}
