import type { Command } from "commander";
import type { Workspace } from "../../../../config/workspace.ts";
import type { MemoryStore } from "../../../../core/memory-store.ts";
import type { CliContext, StoreAccess } from "../../cli-context.ts";
import { workspaceOf } from "../with-service.ts";

/** Opens the memory of the project that the command line names, for as long as the work takes. */
export async function withMemory(
  context: CliContext,
  command: Command,
  work: (store: MemoryStore, workspace: Workspace) => Promise<void>,
  access: StoreAccess = "existing",
): Promise<void> {
  const workspace = await workspaceOf(context, command);
  const memory = await context.engine.openMemory(workspace, access);
  try {
    await work(memory.it, workspace);
  } finally {
    await memory.close();
  }
}
