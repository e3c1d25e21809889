import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { policyOf, stricter } from "./agent/tool-policy.ts";
import type { Config } from "./config/config.ts";
import { isHome, userStoreFile } from "./config/config-places.ts";
import { projectApprovals } from "./config/project-approvals.ts";
import {
  compactionSettings,
  knowledgeSettings,
  providerSettings,
  requireProviderKey,
} from "./config/service-settings.ts";
import type { SearchScope } from "./config/settings.ts";
import { switchedOffSettings } from "./config/unused-settings.ts";
import {
  hasCapability,
  hasStore,
  lookAtStore,
  openUserWorkspace,
  type Workspace,
} from "./config/workspace.ts";
import type { ToolPolicy } from "./core/approval.ts";
import { errorText, SessionError } from "./core/errors.ts";
import { given } from "./core/fields.ts";
import type { LanguageModel } from "./core/language-model.ts";
import type { SessionService } from "./core/session-service.ts";
import type { Stores } from "./core/stores.ts";
import { taskView } from "./core/task.ts";
import type { Tool } from "./core/tool.ts";
import { warn } from "./core/warn.ts";
import {
  actingFor,
  closeAll,
  openEmbedderOf,
  openStores,
  requireUsearch,
  storeBesides,
  storesAt,
} from "./open-stores.ts";
import { type MemoryOptions, openMemoryOperations } from "./session/memory-operations.ts";
import type { ServiceOptions } from "./session/service-options.ts";
import { type LibraryOptions, memoryWithLibrary, withLibrary } from "./session/with-library.ts";
import type { Engine, Opened } from "./surfaces/cli/cli-context.ts";

/**
 * Opens what the settings of a project describe: SQLite stores, models, an embedder,
 * and a service over them. Everything heavy is imported when it is first needed, so
 * that a quick command starts quickly.
 */
export const openProject: Engine = {
  async openService(workspace, access, { tools: which, allow = [], ...asking } = {}) {
    const { config } = workspace;
    // A command that only reads does not depend on them.
    if (access !== "existing") for (const text of switchedOffSettings(config)) warn(text);
    const stores = await openStores(workspace, access);
    const own = projectApprovals(workspace, process.env);
    const allowed = allow.map((tool) => ({ tool }));
    const tools = which === undefined ? [] : await toolsOf(workspace, which);
    const service = await createService(workspace, stores, {
      tools,
      model: config.get("model") ?? NO_MODEL,
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
      ...given({
        systemPrompt: config.get("system_prompt"),
        maxTokens: config.get("max_tokens"),
      }),
    });
    return {
      value: actingFor(workspace, service),
      toolsNote: which === undefined ? undefined : toolsNote(tools, which, config),
      close: () => closeAll([service, stores]),
    };
  },

  async openMemory(workspace, access) {
    const stores = await openStores(workspace, access);
    const operations = openMemoryOperations(memoryOptions(workspace, actingFor(workspace, stores)));
    return { value: operations, close: () => stores.close() };
  },

  openServiceOf: (scope, workspace, access) =>
    openScope(scope, workspace, (one) => openProject.openService(one, access), withLibrary),

  openMemoryOf: (scope, workspace) =>
    openScope(
      scope,
      workspace,
      (one) => openProject.openMemory(one, "existing"),
      memoryWithLibrary,
    ),

  async readRules(workspace, folder) {
    const [{ isMemoryBehind }, { withGrounds }] = await Promise.all([
      import("./projections/memory-behind.ts"),
      import("./knowledge/with-grounds.ts"),
    ]);
    const stores = await openStores(workspace, "existing");
    try {
      const { events, knowledge, sessions } = actingFor(workspace, stores);
      if (await isMemoryBehind(events, workspace.config.get("memory.index"), knowledge)) {
        return undefined;
      }
      const { current, distilled } = await knowledge.revision();
      if (current !== distilled) return undefined;
      const rules = await knowledge.list({ kind: "rule", limit: RULES_MAX });
      return {
        rules: await withGrounds(rules, knowledge),
        sessions: await sessions.withSource({ project: folder, own: false }, true),
      };
    } finally {
      await stores.close();
    }
  },

  async readLatest(workspace, sessionId) {
    if (!hasCapability(workspace.config, "session-store")) return undefined;
    const { latestState } = await import("./session/latest-state.ts");
    const stores = await openStores(workspace, "existing");
    try {
      const { events, sessions } = actingFor(workspace, stores);
      const snapshot = await sessions.load(sessionId);
      if (!snapshot) return undefined;
      const { working, history } = await latestState(snapshot, (after, to) =>
        events.read(sessionId, after, to),
      );
      return { task: taskView(working.task), history };
    } finally {
      await stores.close();
    }
  },

  async noteTask(workspace, sessionId, notes) {
    const { noteTask } = await import("./session/note-task.ts");
    const stores = await openStores(workspace, "existing");
    try {
      return await noteTask(actingFor(workspace, stores), sessionId, notes);
    } finally {
      await stores.close();
    }
  },

  async withoutForgotten(workspace, sessionId, messages) {
    if (!hasStore(workspace)) return messages;
    const { withoutForgotten } = await import("./import/without-forgotten.ts");
    const stores = await openStores(workspace, "existing");
    try {
      const { forgotten } = actingFor(workspace, stores);
      return await withoutForgotten(messages, sessionId, forgotten);
    } finally {
      await stores.close();
    }
  },

  async openReplay(workspace, { model, tools }, { summarizer, isTrial = false }) {
    const { config } = workspace;
    const stores = isTrial
      ? (await import("./stores/ephemeral/ephemeral-stores.ts")).ephemeralStores()
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
  },

  async openImport(workspace, options) {
    const { openImport } = await import("./open-import.ts");
    return await openImport(workspace, options);
  },

  async projectSessions(workspace) {
    if (workspace.user !== undefined) {
      throw new SessionError("INVALID_PARAMS", {
        message: "The sessions of users are not written as files.",
        hint: "Leave --user out, and RKAT_USER empty, to write those that belong to no user.",
      });
    }
    if (!hasCapability(workspace.config, "session-store")) {
      throw new SessionError("SESSION_PERSISTENCE_DISABLED");
    }
    const [{ SessionFiles }, { ProjectionRunner }, { newOwner, withFilesLease }] =
      await Promise.all([
        import("./projections/session-files.ts"),
        import("./projections/projection-runner.ts"),
        import("./session/session-lease.ts"),
      ]);
    const stores = await openStores(workspace, "existing");
    try {
      const folder = join(workspace.dataFolder, "sessions");
      if (!hasStore(workspace)) return { folder, sessions: 0 };
      const owner = newOwner();
      const files = new SessionFiles(stores.events, folder, (work) =>
        withFilesLease(stores.sessions, owner, work),
      );
      await files.startAgain();
      await new ProjectionRunner(stores.events, [files], warn).flush();
      return { folder, sessions: files.count };
    } finally {
      await stores.close();
    }
  },

  async move(workspace, { to, from = storeBesides(to, workspace), ...options }) {
    if (resolve(from) === resolve(to)) {
      throw new SessionError("INVALID_PARAMS", {
        message: "Both stores are the same.",
        hint: "Name another one with --to.",
      });
    }
    const { moveStores } = await import("./moving/move-stores.ts");
    const source = await storesAt(from, workspace, "existing");
    try {
      const target = await storesAt(to, workspace, "create");
      try {
        return await moveStores(source, target, options);
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  },

  async examineSqlite() {
    const { examineSqlite } = await import("./stores/sqlite/examine-sqlite.ts");
    return examineSqlite();
  },

  async examineStore(file) {
    const { examineStore } = await import("./stores/sqlite/examine-sqlite.ts");
    try {
      lookAtStore(file);
    } catch (error) {
      return [errorText(error)];
    }
    return examineStore(file);
  },

  async examineServer({ config }, address) {
    const { examinePostgres } = await import("./stores/postgres/examine-postgres.ts");
    const { postgresAddress } = await import("./stores/postgres/server-address.ts");
    const { MEMORY_INDEX } = await import("./projections/memory-behind.ts");
    try {
      const projection = MEMORY_INDEX[config.get("memory.index")];
      return await examinePostgres(postgresAddress(address), projection);
    } catch (error) {
      const { message, hint } = SessionError.from(error);
      return [{ name: "store", state: "wrong", detail: `${message} ${hint}` }];
    }
  },

  async providers({ config }) {
    const { providerStates } = await import("./models/provider-states.ts");
    return providerStates(config.providers, process.env);
  },

  async requireKnownProvider({ config }, model) {
    const { requireKnownProvider } = await import("./models/ai-sdk-models.ts");
    requireKnownProvider(model, providerSettings(config, process.env));
  },

  async examineMemory({ config }) {
    if (!hasCapability(config, "memory-store")) return undefined;
    const store = config.get("memory.store");
    try {
      if (store === "hnsw") await requireUsearch();
      return { store };
    } catch (error) {
      const { message, hint } = SessionError.from(error);
      return { problem: `${message} ${hint}` };
    }
  },

  async examineEmbedder({ config }) {
    try {
      const embedder = await openEmbedderOf(config, { maxRetries: 0 });
      // A wrong key, address or model shows only when the embedder is used.
      await embedder?.embed(["Hello."], { signal: AbortSignal.timeout(EMBEDDER_TIMEOUT_MS) });
      return embedder && { id: embedder.id };
    } catch (error) {
      const { message, hint } = SessionError.from(error);
      return { problem: `${message} ${hint}` };
    }
  },
};

/**
 * Opens the project, the user-wide store, or both together. A user of a project sees only the
 * project. In your home folder both are the same.
 */
async function openScope<Value>(
  scope: SearchScope,
  workspace: Workspace,
  open: (workspace: Workspace) => Promise<Opened<Value>>,
  unite: (own: Value, library: Value, options: LibraryOptions) => Value,
): Promise<Opened<Value>> {
  const { config, folder, user } = workspace;
  const { env } = process;
  const surroundings = { cwd: folder, env };
  if (scope === "user") return await open(await openUserWorkspace(surroundings, user));
  const own = await open(workspace);
  const isAlone = user !== undefined || isHome(folder, env) || !existsSync(userStoreFile(env));
  if (isAlone) return own;
  try {
    const library = await open(await openUserWorkspace(surroundings));
    const memoryResults = config.get("search.max_results");
    const which = { memoryResults, ...(scope === "all" ? {} : { project: folder }) };
    const value = unite(own.value, library.value, which);
    return { value, close: () => closeAll([own, library]) };
  } catch (error) {
    // The project is there all the same.
    warn(SessionError.from(error), "The user-wide store was not searched.");
    return own;
  }
}

/** As many rules as a list shows that names no limit. */
const RULES_MAX = 50;

/** How long `rkat doctor` waits for an embedder. */
const EMBEDDER_TIMEOUT_MS = 10_000;

/** The model when none is configured. Everything except a turn works without one. */
const NO_MODEL: LanguageModel = {
  id: "none",
  // biome-ignore lint/correctness/useYield: it only throws.
  async *stream() {
    throw new SessionError("MODEL_UNAVAILABLE", { message: "No model is configured." });
  },
};

/** The tools for the project's folder. Commands do not see the keys that the settings name. */
async function toolsOf({ config, folder }: Workspace, which: "all" | "read" | "none") {
  const { projectTools } = await import("./tools/project/project-tools.ts");
  const keys = Object.values(config.providers).map(({ api_key_env }) => api_key_env);
  const hidden = [...keys, config.get("embeddings.api_key_env")];
  const env = Object.entries(process.env).filter(([name]) => !hidden.includes(name));
  return projectTools(folder, which, Object.fromEntries(env));
}

/** What the model can do in the project's folder, in one line. */
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

async function createService(
  workspace: Workspace,
  stores: Stores,
  { compaction, ...options }: ServiceOptions,
): Promise<SessionService> {
  const { config, dataFolder } = workspace;
  const { createSessionService } = await import("./index.ts");
  const keepsFiles = hasCapability(config, "session-store") && existsSync(dataFolder);
  return createSessionService({
    ...options,
    ...memoryOptions(workspace, stores),
    redact: config.get("privacy.redact"),
    keepDeletedDays: config.get("sessions.keep_deleted_days"),
    keepDays: given({
      archived: config.get("sessions.keep_archived_days"),
      compacted: config.get("sessions.keep_compacted_days"),
    }),
    ...(hasCapability(config, "session-compaction") && compaction ? { compaction } : {}),
    ...(keepsFiles ? { sessionFiles: join(dataFolder, "sessions") } : {}),
  });
}

/** The options of a service that its memory depends on, with the capabilities that are on. */
function memoryOptions({ config, folder }: Workspace, stores: Stores): MemoryOptions {
  const hasMemory = hasCapability(config, "memory-store");
  return {
    ...(hasCapability(config, "session-store") ? { stores } : {}),
    project: folder,
    memory: hasMemory && stores.memory,
    knowledge: hasMemory &&
      config.get("knowledge.enabled") && { store: stores.knowledge, ...knowledgeSettings(config) },
    ...(hasMemory
      ? {
          memoryScope: config.get("memory.index"),
          searchableMemory: config.get("search.enabled"),
          memoryResults: config.get("search.max_results"),
        }
      : {}),
  };
}

function modelsOf(config: Config): NonNullable<ServiceOptions["models"]> {
  return async (name) => {
    requireProviderKey(name.split("/")[0] ?? "", config, process.env);
    const { aiSdkModels } = await import("./ai-sdk.ts");
    return await aiSdkModels(providerSettings(config, process.env))(name);
  };
}
