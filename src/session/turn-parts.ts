import { DEFAULT_RETRY_POLICY } from "../agent/retry.ts";
import type { AgentCompaction } from "../agent/run-compaction.ts";
import type { RunOptions } from "../agent/run-turn.ts";
import { ToolSet } from "../agent/tool-set.ts";
import { compactionThreshold } from "../compaction/compaction-threshold.ts";
import { DefaultCompactor } from "../compaction/default-compactor.ts";
import { SessionError } from "../core/errors.ts";
import type { SessionSettings } from "../core/event.ts";
import type { LanguageModel } from "../core/language-model.ts";
import { type Budget, type CompactionSettings, compactionSettings } from "../core/requests.ts";
import type { SessionService } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import { TASK_LIMITS, type TaskChange, type TaskRecord } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { fromWire, toWire } from "../core/wire.ts";
import { datetimeTool } from "../tools/datetime.ts";
import { memorySearchTool } from "../tools/memory-search.ts";
import { searchProjectHistoryTool } from "../tools/search-project-history.ts";
import { updateTaskTool } from "../tools/update-task.ts";
import type { SessionWindow } from "./context-view.ts";
import { memoryOf, type ServiceOptions } from "./service-options.ts";

const TOOL_TIMEOUT_MS = 120_000;
const SUMMARY_TIMEOUT_MS = 120_000;

/** Parts of the compaction threshold that pins take when nothing else is said, and at the most. */
const PIN_SHARE = 1 / 4;
const PIN_SHARE_MAX = 1 / 2;
/** The part that a task record takes at the most. */
const TASK_SHARE = 1 / 8;

/** What the built-in tools do. */
interface BuiltinWork extends Pick<SessionService, "searchMemory" | "searchHistory"> {
  updateTask(sessionId: string, change: TaskChange): Promise<TaskRecord>;
}

/** What a request may choose for its turn. */
interface TurnRequest {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly budget?: Budget;
  readonly compaction?: CompactionSettings;
}

/** Finds what a turn is run with: the request's choice before the session's before the service's. */
export class TurnParts {
  readonly #options: ServiceOptions;
  readonly #withMemory: ToolSet;
  readonly #withoutMemory: ToolSet;

  constructor(options: ServiceOptions, work: BuiltinWork) {
    this.#options = options;
    const builtin = options.builtinTools === false ? [] : builtinTools(options, work);
    const own = options.tools ?? [];
    this.#withMemory = new ToolSet([...own, ...builtin], builtin);
    const isMemorySearch = (tool: Tool) => tool.definition.name === "memory_search";
    const rest = builtin.filter((tool) => !isMemorySearch(tool));
    this.#withoutMemory = new ToolSet([...own, ...rest], rest);
  }

  get defaultModelName(): string {
    const { model } = this.#options;
    return typeof model === "string" ? model : model.id;
  }

  /** @throws SessionError `MODEL_UNAVAILABLE`, or `INVALID_PARAMS` where models cannot be named. */
  async model(name: string): Promise<LanguageModel> {
    const { model, models } = this.#options;
    if (typeof model !== "string" && model.id === name) return model;
    if (!models) {
      throw new SessionError("INVALID_PARAMS", {
        detail: `The model "${name}" was named, but this service was given no way to find models by name.`,
        hint: "Pass `models` to createSessionService(), for example aiSdkModels().",
      });
    }
    return await models(name);
  }

  async forTurn(
    state: SessionState,
    request: TurnRequest,
  ): Promise<Omit<RunOptions, "log" | "signal">> {
    const { settings } = state;
    const model = await this.#modelFor(settings, request.model);
    const maxTokens = request.maxTokens ?? settings.max_tokens;
    const compaction = this.#compaction(settings, request.compaction, model.contextWindow);
    return {
      model,
      tools: this.#toolsFor(settings),
      retry: { ...DEFAULT_RETRY_POLICY, ...this.#options.retry },
      budget: request.budget ?? {},
      toolTimeoutMs: this.#options.toolTimeoutMs ?? TOOL_TIMEOUT_MS,
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(compaction ? { compaction } : {}),
    };
  }

  /** How a session's window is filled; without the model, where that cannot be had. */
  async window(settings: SessionSettings): Promise<SessionWindow> {
    const model = await this.#modelFor(settings).catch(() => undefined);
    const contextWindow = model?.contextWindow;
    const compaction = this.#compaction(settings, undefined, contextWindow);
    const threshold =
      compaction?.compactor.config.autoCompactThreshold ?? compactionThreshold(contextWindow);
    const { pinBudget = threshold * PIN_SHARE } = this.#options.compaction ?? {};
    return {
      tools: this.#toolsFor(settings),
      compaction,
      contextWindow,
      pinTokensMax: Math.floor(Math.min(pinBudget, threshold * PIN_SHARE_MAX)),
      taskBytesMax: Math.floor(Math.min(TASK_LIMITS.bytes, threshold * 4 * TASK_SHARE)),
    };
  }

  #toolsFor(settings: SessionSettings): ToolSet {
    return settings.memory ? this.#withMemory : this.#withoutMemory;
  }

  wireCompaction(settings: CompactionSettings): NonNullable<SessionSettings["compaction"]> {
    return toWire(compactionSettings, settings) as NonNullable<SessionSettings["compaction"]>;
  }

  /** A session keeps its model; one that this service cannot find by name is answered by its own. */
  async #modelFor(settings: SessionSettings, requested?: string): Promise<LanguageModel> {
    const { model, models } = this.#options;
    if (requested !== undefined) return await this.model(requested);
    if (typeof model !== "string" && (!models || model.id === settings.model)) return model;
    return await this.model(settings.model || this.defaultModelName);
  }

  #compaction(
    settings: SessionSettings,
    requested: CompactionSettings | undefined,
    contextWindow: number | undefined,
  ): AgentCompaction | undefined {
    const { compaction } = this.#options;
    if (!compaction) return undefined;
    const {
      compactor,
      summarizer,
      onSummaryFailure,
      pruneToolOutput,
      summaryTimeoutMs,
      keepAnchors,
      pinBudget: _,
      ...own
    } = compaction;
    const ofSession = fromWire(compactionSettings, settings.compaction ?? {}) as CompactionSettings;
    const config = { ...own, ...ofSession, ...requested };
    const autoCompactThreshold = config.autoCompactThreshold ?? compactionThreshold(contextWindow);
    return {
      compactor: compactor ?? new DefaultCompactor({ ...config, autoCompactThreshold }),
      ...(summarizer ? { summarizer } : {}),
      onSummaryFailure: onSummaryFailure ?? "keep",
      pruneToolOutput: pruneToolOutput ?? true,
      keepAnchors: keepAnchors ?? true,
      summaryTimeoutMs: summaryTimeoutMs ?? SUMMARY_TIMEOUT_MS,
    };
  }
}

function builtinTools(options: ServiceOptions, work: BuiltinWork): Tool[] {
  const searchesMemory = memoryOf(options) && options.searchableMemory !== false;
  return [
    ...(searchesMemory ? [memorySearchTool((request) => work.searchMemory(request))] : []),
    ...(options.stores ? [searchProjectHistoryTool((request) => work.searchHistory(request))] : []),
    updateTaskTool((sessionId, change) => work.updateTask(sessionId, change)),
    datetimeTool(),
  ];
}
