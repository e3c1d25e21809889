import type { Stores } from "../core/stores.ts";
import { whenWatched } from "../core/traces.ts";
import { type OpenedService, openService } from "../session/open-service.ts";

/** rkat's stores behind the loop of another package. The loop asks its own model. */
export interface HostService extends OpenedService {
  /** Brings memory up to date. The stores stay open. */
  close(): Promise<void>;
}

/** Opens the stores for a loop. With `redact: "log"`, no credential is stored. */
export function openHostService(
  stores: Stores,
  { redact = "memory" }: { readonly redact?: "memory" | "log" } = {},
): HostService {
  const opened = openService({
    model: "none",
    stores,
    redact,
    builtinTools: false,
    persistent: true,
    tracer: whenWatched(async () => (await import("../traces/open-telemetry.ts")).openTelemetry()),
  });
  return { ...opened, close: () => opened.service.close() };
}
