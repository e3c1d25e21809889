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
import type { Tool } from "../core/tool.ts";
import { fromWire, toWire } from "../core/wire.ts";
import { datetimeTool } from "../tools/datetime.ts";
import { memorySearchTool } from "../tools/memory-search.ts";
import { searchProjectHistoryTool } from "../tools/search-project-history.ts";
import type { ServiceOptions } from "./service-options.ts";

const TOOL_TIMEOUT_MS = 120_000;
const SUMMARY_TIMEOUT_MS = 120_000;

type Searches = Pick<SessionService, "searchMemory" | "searchHistory">;
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

  constructor(options: ServiceOptions, searches: Searches) {
    this.#options = options;
    const builtin = options.builtinTools === false ? [] : builtinTools(options, searches);
    const own = options.tools ?? [];
    this.#withMemory = new ToolSet([...own, ...builtin]);
    const isMemorySearch = (tool: Tool) => tool.definition.name === "memory_search";
    this.#withoutMemory = new ToolSet([...own, ...builtin.filter((tool) => !isMemorySearch(tool))]);
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
    const compaction = this.#compaction(settings, request.compaction, model);
    return {
      model,
      tools: settings.memory ? this.#withMemory : this.#withoutMemory,
      retry: { ...DEFAULT_RETRY_POLICY, ...this.#options.retry },
      budget: request.budget ?? {},
      toolTimeoutMs: this.#options.toolTimeoutMs ?? TOOL_TIMEOUT_MS,
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(compaction ? { compaction } : {}),
    };
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
    model: LanguageModel,
  ): AgentCompaction | undefined {
    const { compaction } = this.#options;
    if (!compaction) return undefined;
    const { compactor, summarizer, onSummaryFailure, pruneToolOutput, summaryTimeoutMs, ...own } =
      compaction;
    const ofSession = fromWire(compactionSettings, settings.compaction ?? {}) as CompactionSettings;
    const config = { ...own, ...ofSession, ...requested };
    const autoCompactThreshold =
      config.autoCompactThreshold ?? compactionThreshold(model.contextWindow);
    return {
      compactor: compactor ?? new DefaultCompactor({ ...config, autoCompactThreshold }),
      ...(summarizer ? { summarizer } : {}),
      onSummaryFailure: onSummaryFailure ?? "keep",
      pruneToolOutput: pruneToolOutput ?? true,
      summaryTimeoutMs: summaryTimeoutMs ?? SUMMARY_TIMEOUT_MS,
    };
  }
}

function builtinTools(options: ServiceOptions, searches: Searches): Tool[] {
  return [
    ...(options.memory ? [memorySearchTool((request) => searches.searchMemory(request))] : []),
    ...(options.stores
      ? [searchProjectHistoryTool((request) => searches.searchHistory(request))]
      : []),
    datetimeTool(),
  ];
}
