import { existsSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { policyOf, stricter } from "../agent/tool-policy.ts";
import {
  type Config,
  compactionSettings,
  providerSettings,
  requireProviderKey,
} from "../config/config.ts";
import { checkoutAround } from "../config/config-places.ts";
import { dotted } from "../config/config-source.ts";
import { misspeltPolicies, switchedOffSettings, untrustedNote } from "../config/load-config.ts";
import { projectApprovals } from "../config/project-approvals.ts";
import type { PROJECT_TOOLS, SearchScope } from "../config/settings.ts";
import { misspeltTools } from "../config/tool-names.ts";
import { hasCapability, type Workspace } from "../config/workspace.ts";
import type { Answerer, Approve, ToolPolicy } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { LanguageModel } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { SessionService } from "../core/session-service.ts";
import type { Stores } from "../core/stores.ts";
import type { Tool } from "../core/tool.ts";
import { warn } from "../core/warn.ts";
import type { Replay } from "../replay/replay.ts";
import type { ServiceOptions } from "../session/service-options.ts";
import { memoryOptions, openStores } from "./open-stores.ts";
import {
  actingFor,
  closeAll,
  type Opened,
  onlyReads,
  openScope,
  type StoreAccess,
} from "./opened.ts";
import type { WatchedService } from "./watched-service.ts";

/** The approver of a turn's tool calls, and the tools that its model has in the project's folder. */
export interface Asking {
  readonly approve?: Approve;
  /** The clients that may answer the waiting calls. Default: a user. */
  readonly answerers?: readonly Answerer[];
  /** The time that a turn waits for an answer. Default: as the settings say. */
  readonly timeoutMs?: number;
  /** The tools for the project's folder. Default: none, so that a server gives none to its clients. */
  readonly tools?: (typeof PROJECT_TOOLS)[number];
  /** Whether the model also has the tools of the MCP servers that the settings describe. Default false. */
  readonly mcp?: boolean;
  /** Tools whose calls need no approval. */
  readonly allow?: readonly string[];
  /** Numbers and readiness, for a server that is watched. */
  readonly watched?: WatchedService;
}

export interface OpenedProjectService extends Opened<SessionService> {
  /** A line for the user that names the tools; empty where none were asked for. */
  readonly toolsNote: string;
}

/**
 * Opens the service that a project's settings describe. Without `asking`, the settings say
 * how long calls wait for approval.
 */
export async function openProjectService(
  workspace: Workspace,
  access: StoreAccess,
  { tools: which, mcp = false, allow = [], watched, ...asking }: Asking = {},
): Promise<OpenedProjectService> {
  const { config } = workspace;
  // A command that only reads does not depend on them.
  if (!onlyReads(access)) {
    for (const text of [...switchedOffSettings(config), ...misspeltPolicies(config)]) warn(text);
  }
  for (const text of misspeltTools(allow, (name) => `--allow ${name}`)) warn(text);
  const stores = await openStores(workspace, access);
  watched?.opened(actingFor(workspace, stores), config.get("memory.index"));
  const own = projectApprovals(workspace, process.env);
  const allowed = allow.map((tool) => ({ tool }));
  const tools = which === undefined ? [] : await toolsOf(workspace, which);
  const servers = mcp ? await (await import("./mcp-tools.ts")).openMcpTools(workspace) : undefined;
  const options: ServiceOptions = {
    tools,
    ...given({ moreTools: servers?.tools }),
    model: config.get("model") ?? noModel(config),
    models: modelsOf(config),
    compaction: compactionSettings(config),
    approvals: {
      policies: config.toolPolicies,
      atLeast: config.toolPoliciesAtLeast,
      timeoutMs: config.get("approvals.timeout"),
      // A server's clients are not the user who allowed it.
      ...(which === undefined
        ? {}
        : { allowed: { ...own, list: () => [...allowed, ...own.list()] } }),
      ...asking,
    },
    // A server's clients have no part in this folder.
    ...(which === undefined
      ? {}
      : {
          surroundings: () =>
            [surroundingsOf(workspace.folder), servers?.instructions].filter(Boolean).join("\n\n"),
        }),
    ...given({
      meters: watched?.meters,
      systemPrompt: config.get("system_prompt"),
      maxTokens: config.get("max_tokens"),
    }),
  };
  const service = await createService(workspace, stores, options).catch(async (error) => {
    // A server that goes on would keep this process from ending.
    await servers?.close();
    throw error;
  });
  return {
    value: actingFor(workspace, service),
    toolsNote: [which === undefined ? undefined : toolsNote(tools, which, config), servers?.note]
      .filter((note) => note !== undefined)
      .join("\n"),
    close: () => closeAll([service, ...(servers ? [servers] : []), stores]),
  };
}

/** The day is enough: with the time, no two prompts would begin alike, and no provider could cache them. */
function surroundingsOf(folder: string): string {
  const now = new Date();
  const day = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  return `You work in the folder ${JSON.stringify(folder)}. This session began on ${day} (${zoneHere()}).`;
}

/** The zone of this process. Its first use of `Intl` takes as long as half of Node's start, and a link of the system has the same name. */
function zoneHere(): string {
  try {
    const [, name] = /\/zoneinfo\/(.+)$/.exec(readlinkSync("/etc/localtime")) ?? [];
    if (name !== undefined && process.env.TZ === undefined) return name;
  } catch {
    // Not every system has such a link.
  }
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Like `openProjectService`, for searches and lists within a scope. */
export function openServiceInScope(
  scope: SearchScope,
  workspace: Workspace,
  access: StoreAccess,
  asking?: Asking,
): Promise<Opened<SessionService>> {
  const open = (one: Workspace) => openProjectService(one, access, asking);
  return openScope(scope, workspace, open, async (...both) => {
    const { withLibrary } = await import("../session/with-library.ts");
    return withLibrary(...both);
  });
}

/** A service over stores, with the settings of the project. */
async function createService(
  workspace: Workspace,
  stores: Stores,
  { compaction, ...options }: ServiceOptions,
): Promise<SessionService> {
  const { config, folder, storePlace } = workspace;
  const { createSessionService } = await import("./create-session-service.ts");
  const keepsFiles = hasCapability(config, "session-store") && existsSync(storePlace.dataFolder);
  return createSessionService({
    ...options,
    ...memoryOptions(workspace, stores),
    heldIn: () => ({ project: folder, ...given({ branch: checkoutAround(folder)?.branch }) }),
    prices: config.prices,
    redact: config.get("privacy.redact"),
    keepDeletedDays: config.get("sessions.keep_deleted_days"),
    keepDays: given({
      archived: config.get("sessions.keep_archived_days"),
      compacted: config.get("sessions.keep_compacted_days"),
    }),
    ...(hasCapability(config, "session-compaction") && compaction ? { compaction } : {}),
    ...(keepsFiles ? { sessionFiles: join(storePlace.dataFolder, "sessions") } : {}),
  });
}

/** The tools for the project's folder. */
async function toolsOf({ config, folder }: Workspace, which: "all" | "read" | "none") {
  const { projectTools } = await import("../tools/project/project-tools.ts");
  return projectTools(folder, which, process.env, config.get("tools.run_command.environment"));
}

/** One line about the tools that the model has in the project's folder. */
function toolsNote(tools: readonly Tool[], which: string, config: Config): string {
  if (which === "none") return "Tools for files and commands: none.";
  if (tools.length === 0) {
    return "Tools for files and commands: none in your home folder. Start rkat in a project's folder.";
  }
  const named = (wanted: ToolPolicy) =>
    tools
      .filter(({ definition: { name }, policy: own }) => {
        const policy = typeof own === "function" ? undefined : own;
        const tool = { name, policy, builtin: false };
        const policies = policyOf(tool, config.toolPolicies);
        const { toolPoliciesAtLeast: atLeast } = config;
        return stricter(policies, policyOf({ name, builtin: false }, atLeast)) === wanted;
      })
      .map(({ definition }) => definition.name)
      .join(", ");
  const parts = [named("allow"), named("ask") && `with your approval ${named("ask")}`];
  return `Tools: ${parts.filter(Boolean).join("; ")}. Without them: --tools none.`;
}

/** The models that the settings and the environment give access to, by their names. */
function modelsOf(config: Config): NonNullable<ServiceOptions["models"]> {
  return async (name) => {
    const provider = name.split("/")[0] ?? "";
    requireProviderKey(provider, config, process.env);
    const { aiSdkModels } = await import("../models/ai-sdk-models.ts");
    try {
      return await aiSdkModels(providerSettings(config, process.env))(name);
    } catch (error) {
      throw withUntrusted(error, config, provider);
    }
  };
}

/** @throws SessionError `INVALID_PARAMS` or `MODEL_UNAVAILABLE` when the name of a model names no known provider. */
export async function requireModelOf(config: Config, model: string): Promise<void> {
  const { requireKnownProvider } = await import("../models/ai-sdk-models.ts");
  try {
    requireKnownProvider(model, providerSettings(config, process.env));
  } catch (error) {
    throw withUntrusted(error, config, model.split("/")[0] ?? "");
  }
}

/** The same error. If the project's file has what is missing, the way out is to trust it. */
function withUntrusted(error: unknown, config: Config, provider: string): unknown {
  const hint = untrustedNote(config, dotted(["providers", provider]));
  if (hint === undefined || !SessionError.is(error) || error.code !== "MODEL_UNAVAILABLE") {
    return error;
  }
  return new SessionError(error.code, { message: error.message, hint, cause: error });
}

/** The model when none is configured. Everything except a turn works without one. */
function noModel(config: Config): LanguageModel {
  return {
    id: "none",
    // biome-ignore lint/correctness/useYield: it only throws.
    async *stream() {
      throw new SessionError("MODEL_UNAVAILABLE", {
        message: "No model is configured.",
        ...given({ hint: untrustedNote(config, "model") }),
      });
    },
  };
}

/**
 * Opens a service over the project's stores in which a recording gives the
 * answers. `summarizer` names the model that writes summaries. A trial stores nothing.
 */
export async function openReplay(
  workspace: Workspace,
  { model, tools }: Pick<Replay, "model" | "tools">,
  { summarizer, isTrial = false }: { readonly summarizer?: string; readonly isTrial?: boolean },
): Promise<Opened<{ readonly service: SessionService; readonly memory?: MemoryStore }>> {
  const { config } = workspace;
  const stores = isTrial
    ? (await import("../stores/ephemeral/ephemeral-stores.ts")).ephemeralStores()
    : await openStores(workspace, "create");
  const service = await createService(workspace, stores, {
    model,
    tools,
    builtinTools: false,
    compaction: {
      ...compactionSettings(config),
      summarizer: summarizer === undefined ? "fallback" : await modelsOf(config)(summarizer),
    },
  });
  const { memory } = actingFor(workspace, stores);
  const remembering = hasCapability(config, "memory-store") ? { memory } : {};
  return {
    value: { service: actingFor(workspace, service), ...remembering },
    close: () => closeAll([service, stores]),
  };
}
