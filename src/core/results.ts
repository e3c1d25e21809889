import { z } from "zod";
import { CAPABILITIES } from "./capabilities.ts";
import type { HistoryHit } from "./event-store.ts";
import type { MemoryHit } from "./memory-store.ts";
import { messageSchema } from "./message-schema.ts";
import { origin } from "./requests.ts";
import type {
  CompactionOutcome,
  SessionCreated,
  SessionSummary,
  SessionView,
  TurnResult,
} from "./session-service.ts";
import type { Usage } from "./usage.ts";

/**
 * What a session service answers, as schemas: what surfaces write and clients
 * read. Each describes the type of the same name in `session-service.ts`.
 */

const count = z.int().min(0);

const tokens = count.nullable();

const usage = shape<Usage>()({
  input_tokens: count,
  output_tokens: count,
  cache_creation_tokens: tokens,
  cache_read_tokens: tokens,
});

export const sessionCreated = shape<SessionCreated>()({ sessionId: z.string() });

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
  ]),
  turns: count,
  toolCalls: count,
  usage,
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

const summaryFields = {
  sessionId: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  model: z.string(),
  turns: count,
  messageCount: count,
  totalTokens: count,
  archived: z.boolean(),
  labels: z.record(z.string(), z.string()),
};

export const sessionSummary = shape<SessionSummary>()(summaryFields);

export const sessionView = shape<SessionView>()({
  ...summaryFields,
  isActive: z.boolean(),
  usage,
  lastAssistantText: z.string().nullable(),
  seq: count,
  compactions: count,
  historyTokens: count,
  history: z.array(
    z.object({
      id: count,
      turn: count,
      message: messageSchema,
      origin: origin.optional(),
    }),
  ),
});

export const memoryHit = shape<MemoryHit>()({
  content: z.string(),
  score: z.number().min(0).max(1),
  sessionId: z.string(),
  turn: count.nullable(),
  id: z.string(),
  kind: z.enum(["message", "fact", "correction", "rule"]),
  time: z.string().optional(),
  role: z.string().optional(),
  speaker: z.string().optional(),
  source: z.object({ from: count, to: count }).optional(),
});

export const historyHit = shape<HistoryHit>()({
  content: z.string(),
  sessionId: z.string(),
  turn: count,
  seq: count,
  role: z.enum(["user", "assistant", "tool"]),
  time: z.string(),
});

export const capability = z.enum(CAPABILITIES);

/** An object schema that must name exactly the fields of `T`. */
function shape<T>() {
  return <Shape extends Record<keyof T, z.ZodType>>(fields: Shape) => z.object(fields);
}
