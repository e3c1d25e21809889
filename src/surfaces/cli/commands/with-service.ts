import type { Command } from "commander";
import { openWorkspace, type Workspace } from "../../../config/workspace.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { Asking, CliContext, StoreAccess } from "../cli-context.ts";

/** The project that the command line names. */
export function workspaceOf(context: CliContext, command: Command): Promise<Workspace> {
  return openWorkspace(context.terminal, command.optsWithGlobals<{ dir?: string }>().dir);
}

/** Opens the service of the project that the command line names, for as long as the work takes. */
export async function withService<Result>(
  context: CliContext,
  command: Command,
  work: (service: SessionService, workspace: Workspace) => Promise<Result>,
  options: { readonly access?: StoreAccess; readonly asking?: AskingOf } = {},
): Promise<Result> {
  const workspace = await workspaceOf(context, command);
  const { access = "existing", asking } = options;
  return await withServiceOf(
    workspace,
    context,
    access,
    (service) => work(service, workspace),
    asking?.(workspace),
  );
}

/** Whom to ask, once the settings are known. */
export type AskingOf = (workspace: Workspace) => Asking;

/** Opens a project's service for as long as the work takes. */
export async function withServiceOf<Result>(
  workspace: Workspace,
  { engine }: CliContext,
  access: StoreAccess,
  work: (service: SessionService) => Promise<Result>,
  asking?: Asking,
): Promise<Result> {
  const service = await engine.openService(workspace, access, asking);
  try {
    return await work(service.it);
  } finally {
    await service.close();
  }
}
