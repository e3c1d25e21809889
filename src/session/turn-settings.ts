import { DEFAULT_RETRY_POLICY } from "../agent/call-model.ts";
import type { AgentCompaction } from "../agent/run-compaction.ts";
import type { RunOptions } from "../agent/run-turn.ts";
import { compactionThreshold, DefaultCompactor } from "../compaction/default-compactor.ts";
import { engineCompactor } from "../compaction/engine-compactor.ts";
import { SessionError } from "../core/errors.ts";
import type { SessionSettings } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { LanguageModel } from "../core/language-model.ts";
import { type CompactionSettings, compactionSettings } from "../core/operations/request-fields.ts";
import type { Budget } from "../core/operations/turns.ts";
import { model as modelCheck, requireArgument } from "../core/options.ts";
import { TASK_LIMITS } from "../core/task.ts";
import { fromWire, toWire } from "../core/wire.ts";
import { recallTokensOf, type ServiceOptions, type SessionOptions } from "./service-options.ts";

const TOOL_TIMEOUT_MS = 120_000;
const SUMMARY_TIMEOUT_MS = 120_000;

/** Share of the compaction threshold that pins may take: by default, and at most. */
const PIN_SHARE = 1 / 4;
const PIN_SHARE_MAX = 1 / 2;
/** Share that a task record may take. */
const TASK_SHARE = 1 / 8;
/** Share that standing instructions may take. */
const INSTRUCTION_SHARE = 1 / 8;
const INSTRUCTION_BYTES_MAX = 4096;

/** The settings that a request may choose for its turn. */
interface TurnRequest {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly budget?: Budget;
  readonly compaction?: CompactionSettings;
}

/** How much a session's model calls may hold. */
export interface SessionWindow {
  readonly compaction: AgentCompaction | undefined;
  readonly contextWindow: number | undefined;
  /** Tokens that pins may take. It leaves a compaction enough to work with. */
  readonly pinTokensMax: number;
  /** Bytes that the task record may take. */
  readonly taskBytesMax: number;
}

/** Settles what a turn runs with: the request's choice, else the session's, else the service's. */
export class TurnSettings {
  readonly #options: ServiceOptions & Pick<SessionOptions, "tracer">;

  /** @throws SessionError `INVALID_PARAMS` when a compaction setting or a method of the compactor is wrong. */
  constructor(options: ServiceOptions & Pick<SessionOptions, "tracer">) {
    this.#options = options;
    this.#compaction({}, undefined, undefined);
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
        message: `The model "${name}" was named, but this service has no way to find models by name.`,
        hint: "Pass `models` to createSessionService(), for example aiSdkModels().",
      });
    }
    const found = await models(name);
    requireArgument(`the model that \`models\` found for "${name}"`, modelCheck, found);
    return found;
  }

  async forTurn({ settings }: { readonly settings: SessionSettings }, request: TurnRequest) {
    const { retry, toolTimeoutMs = TOOL_TIMEOUT_MS, tracer: traces } = this.#options;
    const model = await this.#modelFor(settings, request.model);
    const maxTokens = request.maxTokens ?? settings.max_tokens;
    const compaction = this.#compaction(settings, request.compaction, model.contextWindow);
    return {
      model,
      retry: { ...DEFAULT_RETRY_POLICY, ...retry },
      budget: request.budget ?? {},
      toolTimeoutMs,
      ...(traces ? { traces } : {}),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(compaction ? { compaction } : {}),
    } satisfies Partial<RunOptions>;
  }

  /** A session whose model is not available has a window all the same. */
  async window(settings: SessionSettings): Promise<SessionWindow> {
    const model = await this.#modelFor(settings).catch(() => undefined);
    const contextWindow = model?.contextWindow;
    const compaction = this.#compaction(settings, undefined, contextWindow);
    const threshold =
      compaction?.compactor.config.autoCompactThreshold ?? compactionThreshold(contextWindow);
    const { pinBudget = threshold * PIN_SHARE } = this.#options.compaction ?? {};
    return {
      compaction,
      contextWindow,
      pinTokensMax: Math.floor(Math.min(pinBudget, threshold * PIN_SHARE_MAX)),
      taskBytesMax: Math.floor(Math.min(TASK_LIMITS.bytes, threshold * 4 * TASK_SHARE)),
    };
  }

  /** Compaction settings as a session's first event keeps them. */
  wireCompaction(settings: CompactionSettings): NonNullable<SessionSettings["compaction"]> {
    return toWire(compactionSettings, settings) as NonNullable<SessionSettings["compaction"]>;
  }

  /** A session keeps its model. When that cannot be looked up by name, the service's own answers. */
  async #modelFor(settings: SessionSettings, requested?: string): Promise<LanguageModel> {
    const { model, models } = this.#options;
    if (requested !== undefined) return await this.model(requested);
    if (typeof model !== "string" && (!models || model.id === settings.model)) return model;
    return await this.model(settings.model || this.defaultModelName).catch(notTheRequest);
  }

  #compaction(
    settings: Partial<Pick<SessionSettings, "compaction" | "memory">>,
    requested: CompactionSettings | undefined,
    contextWindow: number | undefined,
  ): AgentCompaction | undefined {
    const { compaction } = this.#options;
    if (!compaction) return undefined;
    const {
      compactor,
      summarizer,
      onSummaryFailure = "keep",
      pruneToolOutput = true,
      keepAnchors = true,
      userWordsTokens,
      summaryTimeoutMs = SUMMARY_TIMEOUT_MS,
      pinBudget: _,
      ...own
    } = compaction;
    const ofSession = fromWire(compactionSettings, settings.compaction ?? {}) as CompactionSettings;
    const config = { ...own, ...ofSession, ...requested };
    const autoCompactThreshold = config.autoCompactThreshold ?? compactionThreshold(contextWindow);
    const usual = new DefaultCompactor({ ...config, autoCompactThreshold });
    const recallTokens = recallTokensOf(this.#options, settings);
    return {
      compactor: compactor ? engineCompactor(compactor, usual) : usual,
      ...(summarizer ? { summarizer } : {}),
      onSummaryFailure,
      pruneToolOutput,
      keepAnchors,
      ...(userWordsTokens === undefined ? {} : { userWordsTokens }),
      ...(recallTokens === 0 ? {} : { recallTokens }),
      summaryTimeoutMs,
      ...given({ prices: this.#options.prices }),
    };
  }
}

/** Bytes that the standing instructions of a session may take. */
export function instructionBytesMax(compaction: AgentCompaction | undefined): number {
  const threshold = compaction?.compactor.config.autoCompactThreshold ?? Infinity;
  return Math.min(INSTRUCTION_BYTES_MAX, Math.floor(threshold * 4 * INSTRUCTION_SHARE));
}

/** A bad name that the request does not have is no fault of the request. */
function notTheRequest(error: unknown): never {
  if (!SessionError.is(error) || error.code !== "INVALID_PARAMS") throw error;
  const { message } = error;
  throw new SessionError("MODEL_UNAVAILABLE", { message, cause: error });
}
