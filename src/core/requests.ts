import { z } from "zod";
import { SessionError } from "./errors.ts";
import { contentSchema, messageSchema } from "./message-schema.ts";

/**
 * What may be asked of a session service, checked where the service receives
 * it, so that a bad request fails the same way through every door. The types
 * below are read off these schemas.
 */

const sessionId = z.string().min(1).max(200);
const labels = z.record(z.string().min(1).max(100), z.string().max(500));
const positive = z.int().positive();
const isoTime = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), "not an ISO 8601 time");
const page = { limit: z.int().min(0).max(1000).optional(), offset: z.int().min(0).optional() };

export const origin = z.strictObject({
  speaker: z.string().max(200).optional(),
  time: isoTime.optional(),
  session: z.string().max(200).optional(),
});

/** The four settings of the specification; what is not given keeps its default. */
export const compactionSettings = z.strictObject({
  autoCompactThreshold: positive.optional(),
  recentTurnBudget: positive.optional(),
  maxSummaryTokens: positive.optional(),
  minTurnsBetweenCompactions: positive.optional(),
});

/** Limits of one run. What is used up ends the run; the session goes on. */
const budget = z.strictObject({
  /** Input and output tokens of all model calls of the run. */
  maxTotalTokens: positive.optional(),
  maxDurationMs: positive.optional(),
  maxToolCalls: positive.optional(),
  /** Model calls of the run. */
  maxModelCalls: positive.optional(),
});

export const createSession = z.strictObject({
  /** `provider/model`; the service's own model when it is not given. */
  model: z.string().min(1).optional(),
  systemPrompt: z.string().optional(),
  /** Output tokens of one model call. */
  maxTokens: positive.optional(),
  memory: z.boolean().optional(),
  compaction: compactionSettings.optional(),
  labels: labels.optional(),
  /** A history to begin with. */
  messages: z.array(messageSchema).max(100_000).optional(),
});

export const startTurn = z.strictObject({
  sessionId,
  prompt: contentSchema.refine((content) => content.length > 0, "the prompt is empty"),
  model: z.string().min(1).optional(),
  maxTokens: positive.optional(),
  budget: budget.optional(),
  compaction: compactionSettings.optional(),
  origin: origin.optional(),
  /** Messages that join the history before the prompt, such as a system message that holds from here on. */
  context: z.array(messageSchema).max(1000).optional(),
});

export const sessionRequest = z.strictObject({ sessionId });

export const listSessions = z.strictObject({
  ...page,
  labels: labels.optional(),
  includeArchived: z.boolean().optional(),
  idPrefix: z.string().max(200).optional(),
});

export const compactSession = z.strictObject({
  sessionId,
  /** Said to the summariser in addition to the compaction prompt. */
  instructions: z.string().max(10_000).optional(),
});

export const subscribe = z.strictObject({
  sessionId,
  /** Events after this place in the log come first; without it, only new ones come. */
  afterSeq: z.int().min(0).optional(),
});

export const searchMemory = z.strictObject({
  query: z.string().max(100_000),
  limit: z.int().min(0).max(1000).optional(),
  sessionId: sessionId.optional(),
  role: z.string().optional(),
  kind: z.enum(["message", "fact", "correction", "rule"]).optional(),
  since: isoTime.optional(),
  until: isoTime.optional(),
  minScore: z.number().min(0).max(1).optional(),
});

export const searchHistory = z.strictObject({
  query: z.string().min(1).max(10_000),
  limit: z.int().min(0).max(200).optional(),
  sessionId: sessionId.optional(),
  fromTurn: z.int().min(0).optional(),
  toTurn: z.int().min(0).optional(),
  since: isoTime.optional(),
  until: isoTime.optional(),
});

export type CompactionSettings = Given<z.infer<typeof compactionSettings>>;
export type Budget = Given<z.infer<typeof budget>>;
export type CreateSession = z.input<typeof createSession>;
export type StartTurn = z.input<typeof startTurn>;
export type SessionRequest = z.infer<typeof sessionRequest>;
export type ListSessions = z.infer<typeof listSessions>;
export type CompactSession = z.infer<typeof compactSession>;
export type Subscribe = z.infer<typeof subscribe>;
export type SearchMemory = z.infer<typeof searchMemory>;
export type SearchHistory = z.infer<typeof searchHistory>;

/**
 * The request, checked. What a caller gave as `undefined` is left out, which
 * is the same as not giving it.
 *
 * @throws SessionError `INVALID_PARAMS`, which names the fields and what is wrong with them.
 */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): Given<z.output<Schema>> {
  const parsed = schema.safeParse(request);
  if (parsed.success) return withoutUndefined(parsed.data) as Given<z.output<Schema>>;
  throw new SessionError("INVALID_PARAMS", { detail: z.prettifyError(parsed.error) });
}

/** The same fields, but none that is there and `undefined`. */
export type Given<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]: Given<Exclude<T[Key], undefined>> }
    : T;

function withoutUndefined(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, withoutUndefined(item)]),
  );
}
