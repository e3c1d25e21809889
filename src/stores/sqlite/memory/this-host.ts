import { readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Where our process ids mean something: a lease of a process of the same place that is gone is
 * taken at once. Containers may share a host name and not their processes.
 */
export function thisHost(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux: every process of the host is in one space.
    return hostname();
  }
}
