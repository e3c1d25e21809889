import { SessionError } from "./core/errors.ts";
import { given } from "./core/fields.ts";
import type { SessionService } from "./core/session-service.ts";
import type { Stores } from "./core/stores.ts";
import { importTranscripts } from "./import-transcripts.ts";
import { chatRecords } from "./session/chat-records.ts";
import { LocalSessionService } from "./session/local-session-service.ts";
import type { ServiceOptions, ServiceStores, SessionStores } from "./session/service-options.ts";
import { EphemeralApprovalStore } from "./stores/ephemeral/ephemeral-approval-store.ts";
import { EphemeralEventStore } from "./stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "./stores/ephemeral/ephemeral-session-store.ts";
import { ephemeralStores } from "./stores/ephemeral/ephemeral-stores.ts";
import {
  createHistoryWindow as createWindow,
  type HistoryWindow,
  type HistoryWindowOptions as WindowOptions,
} from "./window/history-window.ts";
import { readWindowItem } from "./window/window-record.ts";

export type { RetryPolicy } from "./agent/retry.ts";
export type { ToolPolicies } from "./agent/tool-policy.ts";
export { type Agent, type AgentBuildConfig, AgentFactory } from "./agent-factory.ts";
export { checkRebuild, type Violation } from "./compaction/check-rebuild.ts";
export {
  type CompactHistoryOptions,
  compactHistory,
  type HistoryCompaction,
  type Summarize,
  type SummaryRequest,
} from "./compaction/compact-history.ts";
export type {
  CompactedHistory,
  CompactHistoryResult,
  DiscardedMessage,
  PrunedHistory,
  PrunedToolOutput,
  SummaryFailure,
  UnchangedHistory,
  UnchangedReason,
} from "./compaction/compact-history-result.ts";
export { COMPACTION_PROMPT } from "./compaction/compaction-prompt.ts";
export { DefaultCompactor } from "./compaction/default-compactor.ts";
export { type PruneOptions, pruneToolOutput } from "./compaction/prune-tool-output.ts";
export { smartFallbackSummary } from "./compaction/smart-fallback-summary.ts";
export type {
  AllowedCalls,
  AllowedFor,
  ApprovalAnswer,
  Approve,
  PendingApproval,
  ProjectApprovals,
  ToolPolicy,
} from "./core/approval.ts";
export type { ApprovalStore } from "./core/approval-store.ts";
export {
  type CompactionConfig,
  type CompactionContext,
  type CompactionResult,
  type Compactor,
  DEFAULT_COMPACTION_CONFIG,
  type EngineCompactor,
  type RebuildConstraints,
  type RebuildResult,
  type Shortened,
} from "./core/compactor.ts";
export type { Embedder } from "./core/embedder.ts";
export { ERRORS, type ErrorCode, SessionError } from "./core/errors.ts";
export type {
  AnchorReport,
  Author,
  Cleaned,
  CleanedPlace,
  CompactionCompleted,
  CompactionFailure,
  CompactionReport,
  DiscardedSpan,
  DurableEvent,
  EventEnvelope,
  GivenInstructions,
  HostItemsChanged,
  NewEvent,
  NotCleanedPlace,
  Origin,
  PrunedOutput,
  SessionEvent,
  SessionSettings,
  StandingInstruction,
  StoredEvent,
  SummaryReport,
  TextForgotten,
  ToolApprovalRequested,
  ToolApprovalResolved,
  TransientEvent,
} from "./core/event.ts";
export type {
  EventStore,
  HistoryHit,
  HistoryQuery,
  PositionedEvent,
  Redaction,
  SessionChoice,
} from "./core/event-store.ts";
export type { ForgottenMarks, ForgottenTexts } from "./core/forgotten-texts.ts";
export type {
  HostChange,
  HostItems,
  HostMessage,
  HostOperation,
  HostRecord,
  ReadHostItem,
} from "./core/host-record.ts";
export type { ImportBatch, ImportedFile, ImportKeys, ImportStore } from "./core/import-store.ts";
export type { Issue } from "./core/issues.ts";
export type {
  Contradiction,
  Ground,
  KnowledgeEntry,
  KnowledgeKind,
  KnowledgeOrigin,
  Likeness,
  NewKnowledge,
} from "./core/knowledge.ts";
export type {
  CopiedKnowledge,
  KnowledgeChange,
  KnowledgeCopy,
  KnowledgeLimits,
  KnowledgePage,
  KnowledgeStore,
  RecordedBatch,
  Unheard,
} from "./core/knowledge-store.ts";
export type {
  LanguageModel,
  ModelChunk,
  ModelRequest,
  ModelResolver,
} from "./core/language-model.ts";
export type {
  MemoryCheck,
  MemoryEntry,
  MemoryFilter,
  MemoryHit,
  MemoryKind,
  MemoryPage,
  MemoryQuery,
  MemoryScope,
  MemoryStats,
  MemoryStore,
  ScoreExplanation,
  ScorePart,
  ShownEntry,
  Watch,
} from "./core/memory-store.ts";
export {
  type AssistantBlock,
  type AssistantMessage,
  type BlockAssistantMessage,
  type ContentBlock,
  indexableText,
  type Message,
  type ProviderMeta,
  type StopReason,
  SUMMARY_PREFIX,
  type SystemMessage,
  summaryMessage,
  type ToolResult,
  type ToolResultsMessage,
  type ToolUse,
  type UserMessage,
} from "./core/message.ts";
export type { Projection } from "./core/projection.ts";
export type {
  AddKnowledge,
  AddMemory,
  AnswerApproval,
  AppendMessages,
  Budget,
  CompactionSettings,
  CompactSession,
  CreateSession,
  DeleteSession,
  DistillKnowledge,
  EditKnowledge,
  ForgetMemory,
  ImportStream,
  ImportTranscripts,
  KnowledgeRequest,
  ListApprovals,
  ListKnowledge,
  ListMemory,
  ListSessions,
  MemoryStatsRequest,
  MessageRequest,
  ResumeTurn,
  RevokeAllowed,
  SearchHistory,
  SearchMemory,
  SessionRequest,
  StartTurn,
  Subscribe,
  UpdateTask,
} from "./core/requests.ts";
export {
  type Allowed,
  type ApprovalAnswered,
  CAPABILITIES,
  type Capability,
  type CompactionOutcome,
  type ContextPart,
  type ContextPartName,
  type ContextView,
  type Distillation,
  type HistoryMessage,
  type ImportReport,
  type MemoryAdded,
  type MemoryForgotten,
  type MessagesAppended,
  type NextCompaction,
  type NotCleaned,
  type PinnedMessage,
  type Pins,
  type SessionCreated,
  type SessionService,
  type SessionSummary,
  type SessionView,
  type Skipped,
  type SubscribeOptions,
  type TurnEnd,
  type TurnOptions,
  type TurnResult,
} from "./core/session-service.ts";
export type { SessionSnapshot } from "./core/session-snapshot.ts";
export {
  type LoggedSource,
  type ParentSession,
  passesSource,
  type SessionSource,
  type SourceFilter,
  type SourceView,
} from "./core/session-source.ts";
export type { HeldLease, LeaseOwner, SessionQuery, SessionStore } from "./core/session-store.ts";
export type { AgeLimits, Stores, TrashStores } from "./core/stores.ts";
export type { SubTask, TaskChange, TaskRecord, TaskView } from "./core/task.ts";
export { estimateTokens } from "./core/tokens.ts";
export {
  defineTool,
  type JsonSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  ToolError,
  type ToolErrorCode,
  type ToolOutput,
} from "./core/tool.ts";
export { splitTurns, type Turn } from "./core/turn.ts";
export type { TokenUsage, Usage } from "./core/usage.ts";
export type { HeldInstruction } from "./core/working-memory.ts";
export { BagOfWordsEmbedder } from "./embedders/bag-of-words-embedder.ts";
export { LocalEmbedder } from "./embedders/local-embedder.ts";
export {
  type EmbedderProvider,
  type EmbedderSettings,
  openEmbedder,
} from "./embedders/open-embedder.ts";
export type { ImportProgress } from "./import/import-files.ts";
export { type ImportTranscriptsOptions, importTranscripts } from "./import-transcripts.ts";
export {
  type Distilled,
  type DistillerOptions,
  type Evidence,
  KnowledgeDistiller,
} from "./knowledge/knowledge-distiller.ts";
export { type OnRedacted, redactSecrets } from "./secrets/redact-secrets.ts";
export type { ApprovalOptions } from "./session/approval-desk.ts";
export type {
  CompactionOptions,
  KnowledgeOptions,
  ServiceOptions,
  ServiceStores,
} from "./session/service-options.ts";
export { type LibraryOptions, withLibrary } from "./session/with-library.ts";
export { EphemeralKnowledgeStore } from "./stores/ephemeral/ephemeral-knowledge-store.ts";
export { SimpleMemoryStore } from "./stores/ephemeral/simple-memory-store.ts";
export type { AgentName } from "./transcripts/imported.ts";
export type { AppliedWindow, ApplyOptions, HistoryWindow } from "./window/history-window.ts";
export type { MessageView, ViewedMessage } from "./window/message-view.ts";
export { EphemeralApprovalStore, EphemeralEventStore, EphemeralSessionStore };

export interface HistoryWindowOptions<HostMessage extends object>
  extends Omit<WindowOptions<HostMessage>, "record"> {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. Needs a `chatId`. */
  readonly stores?: Stores;
  /** Your id of the conversation. Its session has the id `chat:<chatId>`. */
  readonly chatId?: string;
}

/**
 * Compaction for a loop that is not rkat's. With `stores` and a `chatId`, a later process goes on where
 * this one ends, and searches find what was compacted.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function createHistoryWindow<HostMessage extends object>({
  stores,
  chatId,
  ...options
}: HistoryWindowOptions<HostMessage>): HistoryWindow<HostMessage> {
  if (!stores) return createWindow(options);
  if (!chatId) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The window has stores, but no chatId.",
      hint: "Pass your id of the conversation as `chatId`.",
    });
  }
  const records = chatRecords(stores, readWindowItem);
  const window = createWindow({ ...options, record: records.of(chatId) });
  return {
    apply: (history, applied) => window.apply(history, applied),
    async close() {
      await window.close();
      await records.close();
    },
  };
}

/**
 * A session service with the capabilities whose parts you pass:
 *
 *     stores       session-store        sessions outlive the process
 *     memory       memory-store         what was said can be searched; comes with `stores`
 *     compaction   session-compaction   histories are compacted in time
 *
 * `stores` that have a memory and a knowledge store bring both: the project remembers and learns.
 * `memory: false` and `knowledge: false` switch that off. `approvals` asks before a tool runs.
 *
 * Close it when done. The stores stay open, because they are yours.
 */
export function createSessionService({ stores, ...options }: ServiceOptions): SessionService {
  return stores
    ? new PersistentSessionService({ ...options, stores })
    : new EphemeralSessionService(options);
}

/** Sessions that outlive the process, in stores that several processes may share. */
export class PersistentSessionService extends LocalSessionService {
  constructor(options: ServiceOptions & { readonly stores: ServiceStores }) {
    super({
      ...options,
      stores: withApprovals(options.stores),
      persistent: true,
      importer: importTranscripts,
    });
  }
}

/** The same stores. Without an approval store, only this process sees the calls that wait. */
function withApprovals(stores: ServiceStores): SessionStores {
  const {
    approvals = new EphemeralApprovalStore(),
    forUser: _,
    users: __,
    usersWithOld: ___,
    ...others
  } = stores;
  const forUser = stores.forUser?.bind(stores);
  const users = stores.users?.bind(stores);
  const usersWithOld = stores.usersWithOld?.bind(stores);
  if (!forUser) return { ...others, approvals };
  return {
    ...others,
    approvals,
    forUser: (user) => withApprovals(forUser(user)),
    ...given({ users, usersWithOld }),
  };
}

/** Sessions that end with the process. What looks up old ones is `SESSION_PERSISTENCE_DISABLED`. */
export class EphemeralSessionService extends LocalSessionService {
  constructor(options: Omit<ServiceOptions, "stores">) {
    const { events, sessions, approvals, forUser } = ephemeralStores();
    const stores = { events, sessions, approvals, forUser };
    super({ ...options, stores, persistent: false });
  }
}
export type { KeepDays } from "./forgetting/retention.ts";
export type { ImportStores } from "./import/storing-options.ts";
