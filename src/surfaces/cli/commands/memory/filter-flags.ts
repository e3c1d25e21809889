import { type Command, Option } from "commander";
import { given } from "../../../../core/given.ts";
import { MEMORY_KINDS, type MemoryFilter, type MemoryKind } from "../../../../core/memory-store.ts";

export interface FilterFlags {
  readonly session?: string;
  readonly role?: string;
  readonly kind?: MemoryKind;
  readonly since?: string;
  readonly until?: string;
}

/** The flags that select entries of memory. */
export function addFilterFlags(command: Command): Command {
  return command
    .option("--session <id>", "only this session")
    .option("--role <role>", "only this role: user, assistant …")
    .addOption(new Option("--kind <kind>", "only entries of this kind").choices(MEMORY_KINDS))
    .option("--since <time>", "from this time on (ISO 8601)")
    .option("--until <time>", "up to this time (ISO 8601)");
}

/**
 * The filters of the flags, checked as a service checks them. The schemas are
 * loaded only when there is something to check.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export async function filtersOf(flags: FilterFlags): Promise<MemoryFilter> {
  const { session, role, kind, since, until } = flags;
  const filters = given({ sessionId: session, role, kind, since, until });
  if (Object.keys(filters).length === 0) return filters;
  const { parseRequest, listMemory } = await import("../../../../core/requests.ts");
  parseRequest(listMemory, filters);
  return filters;
}
