import { type Command, Option } from "commander";
import { MEMORY_KINDS, type MemoryFilter, type MemoryKind } from "../../../../core/memory-store.ts";
import { given } from "../flags.ts";

export interface FilterFlags {
  readonly session?: string;
  readonly role?: string;
  readonly kind?: MemoryKind;
  readonly since?: string;
  readonly until?: string;
}

/** The flags that say which entries of memory are meant. */
export function filterOptions(command: Command): Command {
  return command
    .option("--session <id>", "only of this session")
    .option("--role <role>", "only what this role said: user, assistant …")
    .addOption(new Option("--kind <kind>", "only entries of this kind").choices(MEMORY_KINDS))
    .option("--since <time>", "only from then on (ISO 8601)")
    .option("--until <time>", "only until then (ISO 8601)");
}

/**
 * What the flags say, checked as the service would check it.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export async function filtersOf(flags: FilterFlags): Promise<MemoryFilter> {
  const { session, role, kind, since, until } = flags;
  const filters = given({ sessionId: session, role, kind, since, until });
  // The schemas load only when there is something to check.
  if (Object.keys(filters).length === 0) return filters;
  const { parseRequest, listMemory } = await import("../../../../core/requests.ts");
  parseRequest(listMemory, filters);
  return filters;
}
