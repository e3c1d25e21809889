import { z } from "zod";
import type { PendingApproval } from "./approval.ts";
import { CLEANED_PLACES, NOT_CLEANED_PLACES } from "./event.ts";
import type { HistoryHit } from "./event-store.ts";
import { KNOWLEDGE_KINDS, KNOWLEDGE_ORIGINS, type KnowledgeEntry } from "./knowledge.ts";
import {
  MEMORY_KINDS,
  type MemoryEntry,
  type MemoryHit,
  type MemoryStats,
  type ShownEntry,
} from "./memory-store.ts";
import { messageSchema } from "./message-schema.ts";
import { origin } from "./requests.ts";
import {
  type Allowed,
  type ApprovalAnswered,
  CAPABILITIES,
  CONTEXT_PARTS,
  type CompactionOutcome,
  type ContextView,
  type Distillation,
  type ImportReport,
  type MemoryAdded,
  type MemoryForgotten,
  type MessagesAppended,
  type Pins,
  type SessionCreated,
  type SessionSummary,
  type SessionView,
  type TurnResult,
} from "./session-service.ts";
import type { SourceView } from "./session-source.ts";
import { PARENT_RELATIONS } from "./session-source.ts";
import type { TaskView } from "./task.ts";
import type { TokenUsage } from "./usage.ts";

/**
 * The results of a session service as schemas, for the surfaces. Each is checked against the type
 * of the same name by `shape`: a field that is missing, unknown or of another type does not compile.
 */

const count = z.int().min(0);

const tokens = count.nullable();

const usage = shape<TokenUsage>()({
  inputTokens: count,
  outputTokens: count,
  cacheCreationTokens: tokens,
  cacheReadTokens: tokens,
});

export const sessionCreated = shape<SessionCreated>()({ sessionId: z.string() });

const countsByName = z.record(z.string(), count);

export const importReport = shape<ImportReport>()({
  sessions: count,
  messages: count,
  added: count,
  alreadyThere: count,
  skipped: z.array(z.object({ file: z.string(), line: z.int().optional(), reason: z.string() })),
  unknownTypes: countsByName,
  redacted: countsByName,
  otherBranches: count,
  leftOut: count,
  stillWritten: z.array(z.string()),
});

export const turnResult = shape<TurnResult>()({
  sessionId: z.string(),
  text: z.string(),
  stopReason: z.enum([
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "content_filter",
    "turn_limit",
    "budget_exhausted",
    "approval_required",
  ]),
  turns: count,
  modelCalls: count,
  toolCalls: count,
  usage,
});

export const memoryAdded = shape<MemoryAdded>()({ id: z.string(), added: z.boolean() });

export const messagesAppended = shape<MessagesAppended>()({
  sessionId: z.string(),
  added: count,
  messages: z.array(count),
  turns: count,
  historyTokens: count,
});

/** With `compacted` false there is a reason, with true there are the figures. */
export const compactionOutcome = z.object({
  compacted: z.boolean(),
  reason: z.string().optional(),
  messagesBefore: count.optional(),
  messagesAfter: count.optional(),
  tokensBefore: count.optional(),
  tokensAfter: count.optional(),
  discardedMessages: count.optional(),
  summaryTokens: count.optional(),
}) as unknown as z.ZodType<CompactionOutcome>;

const sourceView = shape<SourceView>()({
  agent: z.string(),
  nativeId: z.string(),
  project: z.string().optional(),
  branch: z.string().optional(),
  title: z.string().optional(),
  model: z.string().optional(),
  startedAt: z.string().optional(),
  parent: z.object({ id: z.string(), relation: z.enum(PARENT_RELATIONS) }).optional(),
  open: z.string().optional(),
});

const summaryFields = {
  sessionId: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  model: z.string(),
  turns: count,
  messageCount: count,
  totalTokens: count,
  archived: z.boolean(),
  deletedAt: z.iso.datetime().optional(),
  labels: z.record(z.string(), z.string()),
  user: z.string().optional(),
  source: sourceView,
  store: z.literal("user").optional(),
};

export const sessionSummary = shape<SessionSummary>()(summaryFields);

const taskFields = {
  goal: z.string(),
  subTasks: z.array(z.object({ id: count, text: z.string(), done: z.boolean() })),
  scratchpad: z.record(z.string(), z.string()),
  activeFiles: z.array(z.string()),
};

export const taskView = shape<TaskView>()(taskFields);

export const allowed = shape<Allowed>()({
  allowed: z.array(z.object({ tool: z.string(), command: z.string().optional() })),
});

export const pins = shape<Pins>()({
  pins: z.array(
    z.object({
      message: count,
      position: count,
      role: z.enum(["user", "assistant", "tool"]),
      text: z.string(),
    }),
  ),
  tokens: count,
  tokensMax: count,
});

export const contextView = shape<ContextView>()({
  sessionId: z.string(),
  model: z.string(),
  contextWindow: count.nullable(),
  threshold: count.nullable(),
  parts: z.array(z.object({ name: z.enum(CONTEXT_PARTS), tokens: count, messages: count })),
  usedTokens: count,
  freeTokens: count.nullable(),
  lastInputTokens: count,
  compaction: z
    .object({
      due: z.boolean(),
      tokensLeft: count,
      messagesLeft: count.nullable(),
      callsLeft: count,
    })
    .nullable(),
});

export const sessionView = shape<SessionView>()({
  ...summaryFields,
  isActive: z.boolean(),
  usage,
  lastAssistantText: z.string().nullable(),
  seq: count,
  compactions: count,
  recordedCompactions: count,
  historyTokens: count,
  task: z.object(taskFields),
  instructions: z.array(z.object({ id: count, message: count, text: z.string() })),
  history: z.array(
    z.object({
      id: count,
      turn: count,
      message: messageSchema,
      origin: origin.optional(),
      pinned: z.literal(true).optional(),
    }),
  ),
});

const memoryEntryFields = {
  content: z.string(),
  sessionId: z.string(),
  turn: count.nullable(),
  id: z.string(),
  kind: z.enum(MEMORY_KINDS),
  time: z.string().optional(),
  role: z.string().optional(),
  speaker: z.string().optional(),
  source: z.object({ from: count, to: count }).optional(),
};

const neighbour = shape<MemoryEntry>()(memoryEntryFields);

const store = z.literal("user").optional();

export const memoryEntry = shape<ShownEntry>()({ ...memoryEntryFields, store });

export const memoryHit = shape<MemoryHit>()({
  ...memoryEntryFields,
  score: z.number().min(0).max(1),
  from: sourceView.optional(),
  store,
  neighbours: z.object({ before: z.array(neighbour), after: z.array(neighbour) }).optional(),
  explanation: z
    .object({
      parts: z.array(
        z.object({
          name: z.string(),
          of: z.string().optional(),
          adds: z.number().optional(),
          times: z.number().optional(),
        }),
      ),
    })
    .optional(),
});

export const memoryStats = shape<MemoryStats>()({
  entries: count,
  sessions: count,
  textBytes: count,
  index: z.string(),
  diskBytes: count.optional(),
  vectors: z.object({ embedder: z.string(), embedded: count, pending: count }).optional(),
});

export const memoryForgotten = shape<MemoryForgotten>()({
  forgotten: count,
  remaining: z.array(z.string()),
  cleaned: z.array(z.object({ place: z.enum(CLEANED_PLACES), count })),
  notCleaned: z.array(z.object({ place: z.enum(NOT_CLEANED_PLACES), why: z.string() })),
});

export const historyHit = shape<HistoryHit>()({
  content: z.string(),
  sessionId: z.string(),
  turn: count,
  seq: count,
  role: z.enum(["user", "assistant", "tool"]),
  speaker: z.string().optional(),
  time: z.string(),
  from: sourceView.optional(),
  store,
});

export const pendingApproval = shape<PendingApproval>()({
  approvalId: z.string(),
  sessionId: z.string(),
  toolUseId: z.string(),
  tool: z.string(),
  args: z.unknown(),
  goal: z.string(),
  requestedAt: z.string(),
});

export const approvalAnswered = shape<ApprovalAnswered>()({
  sessionId: z.string(),
  continues: z.boolean(),
  waiting: count,
});

export const knowledgeEntry = shape<KnowledgeEntry>()({
  id: z.string(),
  kind: z.enum(KNOWLEDGE_KINDS),
  content: z.string(),
  tags: z.array(z.string()),
  origin: z.enum(KNOWLEDGE_ORIGINS),
  sessionId: z.string().optional(),
  source: z.object({ from: count, to: count }).optional(),
  time: z.string(),
  lastTime: z.string(),
  count,
  pinned: z.boolean(),
  edited: z.boolean(),
  usedAt: z.string().optional(),
  tool: z.string().optional(),
  args: z.string().optional(),
  reason: z.string().optional(),
  goal: z.string().optional(),
  sources: z.array(z.string()).optional(),
  restsOn: z
    .array(
      z.object({
        id: z.string(),
        origin: z.enum(KNOWLEDGE_ORIGINS),
        sessionId: z.string().optional(),
        seq: count.optional(),
        time: z.string(),
        said: z.string(),
      }),
    )
    .optional(),
});

const heldText = z.object({ id: z.string(), content: z.string() });

export const distillation = shape<Distillation>()({
  rules: z.array(knowledgeEntry),
  contradictions: z.array(z.object({ kept: heldText, dropped: heldText })),
  addendum: z.string(),
  madeBy: z.enum(["grouping", "model"]),
});

export const capability = z.enum(CAPABILITIES);

/** An object schema with exactly the fields of `T`, each with a schema of the field's type. */
function shape<T>() {
  return <Shape extends { readonly [Field in keyof Required<T>]: z.ZodType<Parsed<T[Field]>> }>(
    fields: Shape & { readonly [Field in Exclude<keyof Shape, keyof T>]: never },
  ) => z.object(fields as Shape);
}

/** `T` as zod types it: a field that may be missing may also be `undefined`. */
type Parsed<T> = T extends object ? { [Field in keyof T]: Parsed<T[Field]> | undefined } : T;
