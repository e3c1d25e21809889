import type { MemoryScope } from "../core/memory-store.ts";
import { SharedAnswer } from "../core/shared-answer.ts";
import type { Stores } from "../core/stores.ts";
import type { Metric, Sample } from "../core/traces.ts";
import { MEMORY_INDEX, memoryLag } from "../projections/log-projection.ts";
import { Meters } from "../traces/meters.ts";

/** Leases that are counted. More are in force only on a server with thousands of turns at once. */
const LEASES_MAX = 10_000;

/** Numbers of a server's work and of its store, and whether the store answers, for a program that watches it. */
export class WatchedService {
  readonly meters = new Meters();
  #opened: { readonly stores: Stores; readonly scope: MemoryScope } | undefined;
  /** While a database is away, its store tries again for longer than a scrape waits. */
  #ofStore: SharedAnswer<readonly Metric[]> | undefined;

  /** The store of the server. Those that it only reads besides are opened after it. */
  opened(stores: Stores, scope: MemoryScope): void {
    if (this.#opened) return;
    this.#opened = { stores, scope };
    this.#ofStore = new SharedAnswer(
      () => storeMetrics(stores, scope),
      () => downMetrics(stores),
    );
  }

  async metrics(): Promise<readonly Metric[]> {
    const ofStore = (await this.#ofStore?.read()) ?? [];
    return [...this.meters.read(), ...ofStore];
  }

  /** Fails when the store does not answer. */
  async ready(): Promise<void> {
    const { stores, scope } = this.#opened ?? {};
    if (stores && scope) await stores.events.checkpoint(MEMORY_INDEX[scope]);
  }
}

/** The numbers of a store. */
async function storeMetrics(stores: Stores, scope: MemoryScope): Promise<readonly Metric[]> {
  try {
    const [lag, leases] = await Promise.all([
      memoryLag(stores.events, scope),
      stores.sessions.leases?.(LEASES_MAX),
    ]);
    return [
      gauge("rkat_store_up", "Whether the store answers.", 1),
      gauge(
        "rkat_memory_backlog_events",
        "Events of the log that memory does not have yet, at most 100000. Those of users are not counted.",
        lag?.events ?? 0,
      ),
      gauge(
        "rkat_memory_backlog_seconds",
        "The age of the oldest event that memory does not have yet.",
        lag?.seconds ?? 0,
      ),
      ...(leases
        ? [
            gauge(
              "rkat_leases",
              "Sessions and work that one process has for itself.",
              leases.length,
            ),
          ]
        : []),
      ...connections(stores),
    ];
  } catch {
    return downMetrics(stores);
  }
}

/** The numbers of a store that does not answer. */
function downMetrics(stores: Stores): readonly Metric[] {
  return [gauge("rkat_store_up", "Whether the store answers.", 0), ...connections(stores)];
}

function connections({ connections: count }: Stores): readonly Metric[] {
  const found = count?.();
  if (!found) return [];
  const samples = Object.entries(found).map(
    ([state, value]): Sample => ({ value, labels: { state } }),
  );
  const help = "Connections of this process to the database, and work that waits for one.";
  return [{ name: "rkat_pool_connections", help, type: "gauge", samples }];
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: "gauge", samples: [{ value }] };
}
