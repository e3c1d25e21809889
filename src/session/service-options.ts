import type { RetryPolicy } from "../agent/retry.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import type { CompactionConfig, Compactor } from "../core/compactor.ts";
import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import type { LanguageModel, ModelResolver } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { Tool } from "../core/tool.ts";
import type { ApprovalOptions } from "./approval-desk.ts";
import type { KnowledgeOptions } from "./knowledge-operations.ts";

/**
 * What a session service is made of. Each capability is something that is
 * passed; what is not passed, the service says it cannot do.
 */
export interface ServiceOptions {
  /** Who answers: a model, or the name of one that `models` finds. */
  readonly model: LanguageModel | string;
  /** Finds models by the names that requests give. Without it, requests cannot name one. */
  readonly models?: ModelResolver;
  /** Capability `session-store`: sessions outlive the process. */
  readonly stores?: {
    readonly events: EventStore;
    readonly sessions: SessionStore;
    /** Where calls wait for approval; without it, only this process sees them. */
    readonly approvals?: ApprovalStore;
    /** What was learned here before: what is forgotten goes from it too where nothing is learned now. */
    readonly knowledge?: KnowledgeStore;
  };
  /** Capability `memory-store`: what leaves a history can be searched. */
  readonly memory?: MemoryStore;
  /** Whether memory can be searched, by models and by callers; it is kept in any case. Default true. */
  readonly searchableMemory?: boolean;
  /** Results of a `searchMemory` that names no limit. Default 10. */
  readonly memoryResults?: number;
  /** Capability `session-compaction`; `{}` for the defaults. */
  readonly compaction?: CompactionOptions;
  /** What sessions teach the project, and the project them; nothing is learned without it. */
  readonly knowledge?: KnowledgeOptions;
  /** Which tool calls need somebody's word, and whose. Without it, a tool's own policy counts. */
  readonly approvals?: ApprovalOptions;
  readonly tools?: readonly Tool[];
  /** `memory_search`, `search_project_history`, `update_task` and `datetime`, as far as the stores allow. Default true. */
  readonly builtinTools?: boolean;
  /** For sessions that are created without one. */
  readonly systemPrompt?: string;
  /** Output tokens of one model call, for sessions that are created without a limit. */
  readonly maxTokens?: number;
  /** The folder (`.rkat/sessions`) that shows sessions as files; none are written without it. */
  readonly sessionFiles?: string;
  readonly retry?: Partial<RetryPolicy>;
  /** How long a tool call may take that has no limit of its own. Default 120 000. */
  readonly toolTimeoutMs?: number;
  /** Called when work in the background fails and will be tried again. Default: a process warning. */
  readonly onBackgroundError?: (error: unknown) => void;
}

export interface CompactionOptions extends Partial<CompactionConfig> {
  /** Another strategy in the place of `DefaultCompactor`. */
  readonly compactor?: Compactor;
  /** Who writes summaries: the session's model when it is not given, `"fallback"` for no model at all. */
  readonly summarizer?: LanguageModel | "fallback";
  /** What a failed summary does: leave the history as it is (default), or take the fallback's. */
  readonly onSummaryFailure?: "keep" | "fallback";
  /** Whether old tool output is shortened before anything is summarised. Default true. */
  readonly pruneToolOutput?: boolean;
  /** How long a summary may take. Default 120 000. */
  readonly summaryTimeoutMs?: number;
  /** Whether paths, names and numbers that a summary lost are appended to it. Default true. */
  readonly keepAnchors?: boolean;
  /** Tokens that pins may take: a quarter of the threshold when it is not given, half of it at the most. */
  readonly pinBudget?: number;
}
