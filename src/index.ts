// A session service: `createSessionService` makes one. The classes are the names of the specification.

export type { RetryPolicy } from "./agent/call-model.ts";
export { type Agent, type AgentBuildConfig, AgentFactory } from "./app/agent-factory.ts";
export {
  createSessionService,
  EphemeralSessionService,
  PersistentSessionService,
} from "./app/create-session-service.ts";
export { CAPABILITIES, type Capability } from "./core/operations/operation.ts";
export type { SessionService } from "./core/session-service.ts";
export type { KeepDays } from "./forgetting/retention.ts";
export type {
  CompactionOptions,
  KnowledgeOptions,
  RecallFrom,
  ServiceOptions,
  ServiceStores,
} from "./session/service-options.ts";
export { type LibraryOptions, withLibrary } from "./session/with-library.ts";

// Its requests and results, by area. Each operation is described at its interface.

export type {
  DeniedCall,
  HeldInstruction,
  ShownMessage,
  ShownRecords,
  ShownTask,
} from "./core/kept-state.ts";
export type {
  Allowed,
  AnswerApproval,
  ApprovalAnswered,
  ListApprovals,
  RevokeAllowed,
} from "./core/operations/approvals.ts";
export type {
  AllowRecall,
  BringBack,
  BroughtBackOutcome,
  RecallRefusals,
  RefuseRecall,
} from "./core/operations/bring-back.ts";
export type {
  CallCost,
  CompactingCost,
  CompactionCost,
  CompactionEffect,
  Cost,
  CostRequest,
  EarlierCost,
  RecalledCost,
  SessionCost,
  TurnCost,
} from "./core/operations/cost.ts";
export type { ForkedSession, ForkSession } from "./core/operations/forks.ts";
export type {
  CompactedMessage,
  CompactionView,
  Fate,
  LearnedFrom,
  LogPage,
  LogSpan,
  MessageTrace,
  ReadCompaction,
  ReadLog,
  ReadMessage,
  TracedCompaction,
  UndoCompaction,
  UndoOutcome,
} from "./core/operations/history.ts";
export type {
  ImportReport,
  ImportStream,
  ImportTranscripts,
  Skipped,
} from "./core/operations/imports.ts";
export type {
  AddKnowledge,
  Distillation,
  DistillKnowledge,
  EditKnowledge,
  KnowledgeRequest,
  ListKnowledge,
} from "./core/operations/knowledge.ts";
export type {
  AddMemory,
  EditMemory,
  ForgetMemory,
  KeepBoth,
  ListMemory,
  MemoryAdded,
  MemoryForgotten,
  MemoryStatsRequest,
  NotCleaned,
  SearchHistory,
  SearchMemory,
} from "./core/operations/memory.ts";
export type { CompactionSettings, SessionRequest } from "./core/operations/request-fields.ts";
export type {
  CreateSession,
  DeleteSession,
  HistoryMessage,
  ListSessions,
  SessionCreated,
  SessionFork,
  SessionSummary,
  SessionView,
  Subscribe,
  SubscribeOptions,
} from "./core/operations/sessions.ts";
export type {
  MadeFrom,
  ReadSources,
  SourceMessage,
  SourcesView,
} from "./core/operations/sources.ts";
export type {
  AppendMessages,
  Budget,
  CompactionOutcome,
  CompactSession,
  MessagesAppended,
  ResumeTurn,
  StartTurn,
  TurnEnd,
  TurnOptions,
  TurnResult,
} from "./core/operations/turns.ts";
export type {
  ContextPart,
  ContextPartName,
  ContextView,
  MessageRequest,
  NextCompaction,
  PinnedMessage,
  Pins,
  RecalledBefore,
  RecalledText,
  ShownAgain,
  UpdateTask,
} from "./core/operations/working-memory.ts";
export type { ModelPrice, PriceTable } from "./core/prices.ts";
export type {
  LoggedSource,
  ParentSession,
  SessionSource,
  SourceFilter,
  SourceView,
} from "./core/session-source.ts";
export type { SubTask, TaskRecord, TaskView } from "./core/task.ts";
export type { TokenUsage, Usage } from "./core/usage.ts";

// Failures.

export { ERRORS, type ErrorCode, SessionError } from "./core/errors.ts";
export type { Issue } from "./core/issues.ts";

// Messages and events: the same in code, log and wires.

export {
  estimateTokens,
  indexableText,
  passesSource,
  smartFallbackSummary,
  splitTurns,
  summaryMessage,
} from "./compaction/plain-functions.ts";
export type {
  AnchorReport,
  Author,
  BroughtMessage,
  Cleaned,
  CleanedPlace,
  CompactionCompleted,
  CompactionFailure,
  CompactionPlan,
  CompactionReport,
  CompactionUndone,
  DiscardedSpan,
  DurableEvent,
  EventEnvelope,
  GivenInstructions,
  HistoryInherited,
  HostItemsChanged,
  MemoryRecalled,
  MessagesBroughtBack,
  NewEvent,
  NotCleanedPlace,
  Origin,
  PrunedOutput,
  RecallAllowed,
  RecalledRecord,
  RecallRefused,
  SessionEvent,
  SessionForked,
  SessionSettings,
  StandingInstruction,
  StateBefore,
  StoredEvent,
  SummaryReport,
  TextForgotten,
  ToolApprovalRequested,
  ToolApprovalResolved,
  TransientEvent,
  WordsReport,
} from "./core/event.ts";
export type { InheritedSummary, SaidIn } from "./core/kept-state.ts";
export {
  type AssistantBlock,
  type AssistantMessage,
  type BlockAssistantMessage,
  type ContentBlock,
  type Message,
  type ProviderMeta,
  type StopReason,
  SUMMARY_PREFIX,
  type SystemMessage,
  type ToolResult,
  type ToolResultsMessage,
  type ToolUse,
  type UserMessage,
} from "./core/message.ts";
export type { Turn } from "./core/turn.ts";

// Models, tools and approvals.

export type { ToolPolicies } from "./agent/tool-policy.ts";
export type {
  AllowedCalls,
  AllowedFor,
  Answerer,
  ApprovalAnswer,
  Approve,
  PendingApproval,
  ProjectApprovals,
  ToolPolicy,
} from "./core/approval.ts";
export type { ProviderItem } from "./core/compactor.ts";
export type {
  LanguageModel,
  ModelChunk,
  ModelRequest,
  ModelResolver,
} from "./core/language-model.ts";
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
export type { ApprovalOptions } from "./session/approval-desk.ts";

// Compaction of any history, and for any loop.

export { createHistoryWindow, type HistoryWindowOptions } from "./app/host-windows.ts";
export { checkRebuild, type Violation } from "./compaction/check-rebuild.ts";
export {
  type ContinuedRequest,
  type CostOutlook,
  compactHistory,
  type Summarize,
  type SummaryRequest,
} from "./compaction/compact-history.ts";
export type {
  CompactHistoryOptions,
  HistoryCompaction,
} from "./compaction/compact-history-options.ts";
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
export { DefaultCompactor } from "./compaction/default-compactor.ts";
export { type PruneOptions, pruneToolOutput } from "./compaction/prune-tool-output.ts";
export { COMPACTION_PROMPT } from "./compaction/summary-request.ts";
export type { SentNow } from "./compaction/write-summary.ts";
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
export type { KeptOutput } from "./core/tokens.ts";
export { Meters } from "./traces/meters.ts";
export type {
  AppliedWindow,
  ApplyOptions,
  CachedModel,
  HistoryWindow,
} from "./window/history-window.ts";
export type { MessageView, ViewedMessage } from "./window/message-view.ts";

// Stores of this process. `rkat/sqlite` and `rkat/postgres` have the others.

export { EphemeralEventStore } from "./stores/ephemeral/ephemeral-event-store.ts";
export { EphemeralKnowledgeStore } from "./stores/ephemeral/ephemeral-knowledge-store.ts";
export { EphemeralSessionStore } from "./stores/ephemeral/ephemeral-session-store.ts";
export { EphemeralApprovalStore, ephemeralStores } from "./stores/ephemeral/ephemeral-stores.ts";
export { SimpleMemoryStore } from "./stores/ephemeral/simple-memory-store.ts";

// Interfaces that a store of your own implements.

export type { ApprovalStore } from "./core/approval.ts";
export type {
  Backlog,
  Ending,
  EventStore,
  HistoryHit,
  HistoryQuery,
  IndexedKind,
  KindsRange,
  LogPlace,
  PositionedEvent,
  Redaction,
  Removal,
  RepairedEvent,
  SessionChoice,
} from "./core/event-store.ts";
export type { ForgottenMarks, ForgottenTexts } from "./core/forgotten-texts.ts";
export type { ImportBatch, ImportedFile, ImportKeys, ImportStore } from "./core/import-store.ts";
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
  EarlierText,
  EntryMarks,
  KeptBeside,
  MemoryCheck,
  MemoryEntry,
  MemoryFilter,
  MemoryHit,
  MemoryHits,
  MemoryKind,
  MemoryLag,
  MemoryPage,
  MemoryQuery,
  MemoryScope,
  MemoryStats,
  MemoryStore,
  OtherStatement,
  ScoreExplanation,
  ScorePart,
  ShownEntry,
  Watch,
} from "./core/memory-store.ts";
export type { SessionSnapshot } from "./core/session-snapshot.ts";
export type {
  HeldLease,
  LeaseInForce,
  LeaseOwner,
  SessionQuery,
  SessionStore,
} from "./core/session-store.ts";
export type { AgeLimits, PoolConnections, Stores, TrashStores } from "./core/stores.ts";
export type {
  Metered,
  Metric,
  Sample,
  SpanFields,
  SpanStart,
  TracedContents,
  TracedOperation,
  TracedSpan,
  Traces,
} from "./core/traces.ts";

// Parts of memory and knowledge: embedders, knowledge, secrets.

export type { Embedder } from "./core/embedder.ts";
export type {
  Contradiction,
  Ground,
  KnowledgeEntry,
  KnowledgeKind,
  KnowledgeOrigin,
  Likeness,
  NewKnowledge,
} from "./core/knowledge.ts";
export {
  type EmbedderProvider,
  type EmbedderSettings,
  openEmbedder,
} from "./embedders/open-embedder.ts";
export { BagOfWordsEmbedder, LocalEmbedder } from "./embedders/word-embedders.ts";
export {
  type Distilled,
  type DistillerOptions,
  type Evidence,
  KnowledgeDistiller,
} from "./knowledge/knowledge-distiller.ts";
export { redactPayments } from "./secrets/payment-numbers.ts";
export { type OnRedacted, redactSecrets } from "./secrets/redact-secrets.ts";

// Transcripts of other programs.

export { type ImportTranscriptsOptions, importTranscripts } from "./app/import-transcripts.ts";
export type { ImportProgress } from "./import/import-files.ts";
export type { ImportStores } from "./import/import-stores.ts";
export type { AgentName } from "./transcripts/imported.ts";
