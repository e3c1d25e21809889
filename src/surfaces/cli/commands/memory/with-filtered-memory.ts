import type { Command } from "commander";
import type { SearchScope } from "../../../../config/settings.ts";
import { given } from "../../../../core/fields.ts";
import type { MemoryOperations, SessionService } from "../../../../core/session-service.ts";
import type { CliContext } from "../../cli-context.ts";
import { type FilterFlags, type Filters, filtersOf } from "../flags.ts";
import { withMemory, withService } from "../with-service.ts";

const FULL_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Opens memory and reads the filters of the flags. `--session` takes a full id or any name under which
 * texts were added as it is. The agent is loaded only to find what another name means.
 */
export async function withFilteredMemory(
  context: CliContext,
  command: Command,
  flags: FilterFlags & { readonly scope?: SearchScope },
  work: (memory: MemoryOperations, filters: Filters) => Promise<void>,
): Promise<void> {
  const filters = await filtersOf(flags, context.terminal);
  const scope = given({ scope: flags.scope });
  const search = async (memory: MemoryOperations) => {
    const { sessionId: name } = filters;
    if (name === undefined || FULL_ID.test(name)) return await work(memory, filters);
    const { entries } = await memory.stats({ sessionId: name });
    if (entries > 0) return await work(memory, filters);
    const { findExisting } = await import("../find-session.ts");
    const find = (service: SessionService) => findExisting(service, name);
    const sessionId = await withService(context, command, find, scope);
    await work(memory, { ...filters, sessionId });
  };
  await withMemory(context, command, search, scope);
}
