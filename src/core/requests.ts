import { z } from "zod";
import { TOOL_POLICIES } from "./approval.ts";
import { SessionError } from "./errors.ts";
import { issuesOf } from "./issues.ts";
import { KNOWLEDGE_KINDS } from "./knowledge.ts";
import { MEMORY_KINDS } from "./memory-store.ts";
import { contentSchema, messageSchema } from "./message-schema.ts";
import { TASK_LIMITS } from "./task.ts";

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
  .refine((text) => !Number.isNaN(Date.parse(text)), "expected an ISO 8601 time");
const page = { limit: z.int().min(0).max(1000).optional(), offset: z.int().min(0).optional() };

export const origin = z.strictObject({
  speaker: z.string().max(200).optional(),
  time: isoTime.optional(),
  session: z.string().max(200).optional(),
});

/** The settings of the specification; what is not given keeps its default. */
export const compactionSettings = z.strictObject({
  autoCompactThreshold: positive.optional(),
  recentTurnBudget: positive.optional(),
  maxSummaryTokens: positive.optional(),
  minTurnsBetweenCompactions: positive.optional(),
  /** Messages that are kept when twice as many are there. Without it, only tokens count. */
  windowSize: positive.optional(),
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

/** By the name of a tool, or a pattern of names: `*` stands for any text. */
const toolPolicies = z.record(z.string().min(1).max(100), z.enum(TOOL_POLICIES));

export const createSession = z.strictObject({
  /** `provider/model`; the service's own model when it is not given. */
  model: z.string().min(1).optional(),
  systemPrompt: z.string().optional(),
  /** Output tokens of one model call. */
  maxTokens: positive.optional(),
  memory: z.boolean().optional(),
  compaction: compactionSettings.optional(),
  /** Stricter than the service's policies, never looser. */
  approvals: toolPolicies.optional(),
  /** Whether it learns from the project and the project from it. */
  knowledge: z.boolean().optional(),
  labels: labels.optional(),
  /** A history to begin with. */
  messages: z.array(messageSchema).max(100_000).optional(),
});

export const startTurn = z.strictObject({
  sessionId,
  prompt: contentSchema.refine((content) => content.length > 0, "must not be empty"),
  model: z.string().min(1).optional(),
  maxTokens: positive.optional(),
  budget: budget.optional(),
  compaction: compactionSettings.optional(),
  origin: origin.optional(),
  /** Messages that join the history before the prompt, such as a system message that holds from here on. */
  context: z.array(messageSchema).max(1000).optional(),
});

/** Without a prompt, a run goes on whose calls waited for approval. */
export const resumeTurn = startTurn.extend({ prompt: startTurn.shape.prompt.optional() });

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

const { goalCharacters, subTaskCharacters, noteNameCharacters, noteCharacters, fileCharacters } =
  TASK_LIMITS;
const goal = z.string().max(goalCharacters);
const subTasks = z
  .array(z.string().min(1).max(subTaskCharacters))
  .max(TASK_LIMITS.subTasks)
  .optional();
const subTaskNumbers = z.array(positive).max(TASK_LIMITS.subTasks).optional();
const files = z.array(z.string().min(1).max(fileCharacters)).max(TASK_LIMITS.files).optional();

/** The fields of `TaskChange`. */
export const taskChange = {
  /** Clears the record, and is the goal of the next; empty for none. */
  newTask: goal.optional(),
  goal: goal.optional(),
  add: subTasks,
  done: subTaskNumbers,
  reopen: subTaskNumbers,
  drop: subTaskNumbers,
  /** Notes by name; one without a text is removed. */
  notes: z
    .record(z.string().min(1).max(noteNameCharacters), z.string().max(noteCharacters))
    .optional(),
  openFiles: files,
  closeFiles: files,
};

/** Without a change it only tells what the record is. */
export const updateTask = z.strictObject({ sessionId, ...taskChange });

/** A message of the history, by its id or by its position: the first is 0. */
export const messageRequest = z
  .strictObject({
    sessionId,
    message: positive.optional(),
    position: z.int().min(0).optional(),
  })
  .refine(
    ({ message, position }) => (message === undefined) !== (position === undefined),
    "give either message (an id) or position",
  );

export const subscribe = z.strictObject({
  sessionId,
  /** Events after this place in the log come first; without it, only new ones come. */
  afterSeq: z.int().min(0).optional(),
});

const memoryId = z.string().min(1).max(400);
const memoryQuestion = z.string().max(100_000);

const memoryFilters = {
  sessionId: sessionId.optional(),
  role: z.string().optional(),
  kind: z.enum(MEMORY_KINDS).optional(),
  since: isoTime.optional(),
  until: isoTime.optional(),
};

export const searchMemory = z.strictObject({
  /** Several are asked together; each entry is one result, scored by the query that it fits best. */
  query: z.union([memoryQuestion, z.array(memoryQuestion).min(1).max(20)]),
  limit: z.int().min(0).max(1000).optional(),
  ...memoryFilters,
  minScore: z.number().min(0).max(1).optional(),
  /** So many entries before and after each result. */
  neighbours: z.int().min(0).max(20).optional(),
  explain: z.boolean().optional(),
  /** Results end where their texts, neighbours included, would be more than so many tokens. */
  maxTokens: positive.optional(),
});

export const listMemory = z.strictObject({
  limit: z.int().min(0).max(1000).optional(),
  /** The id of the last entry of the page before. */
  after: memoryId.optional(),
  ...memoryFilters,
});

export const memoryStats = z.strictObject({ sessionId: sessionId.optional() });

/** One of the two; `sessionId` stands for every entry of the session. */
export const forgetMemory = z
  .strictObject({
    /** Of entries, or of messages that are not in memory yet: `<session id>:<message id>`. */
    ids: z.array(memoryId).min(1).max(1000).optional(),
    sessionId: sessionId.optional(),
  })
  .refine(
    ({ ids, sessionId }) => (ids === undefined) !== (sessionId === undefined),
    "give either the ids of entries or a session",
  );

export const searchHistory = z.strictObject({
  query: z.string().min(1).max(10_000),
  limit: z.int().min(0).max(200).optional(),
  sessionId: sessionId.optional(),
  fromTurn: z.int().min(0).optional(),
  toTurn: z.int().min(0).optional(),
  since: isoTime.optional(),
  until: isoTime.optional(),
});

export const listApprovals = z.strictObject({ sessionId: sessionId.optional() });

export const answerApproval = z.strictObject({
  sessionId,
  approvalId: z.string().min(1).max(200),
  decision: z.enum(["allow", "deny"]),
  /** The model reads it; of a denial it is what the project learns. */
  reason: z.string().max(2000).optional(),
});

const knowledgeId = z.string().min(1).max(300);
const knowledgeText = z
  .string()
  .max(5000)
  .refine((text) => text.trim() !== "", "must not be empty");
const tags = z.array(z.string().min(1).max(100)).max(20);

export const listKnowledge = z.strictObject({
  kind: z.enum(KNOWLEDGE_KINDS).optional(),
  pinned: z.boolean().optional(),
  tag: z.string().max(100).optional(),
  /** Only entries whose text has all of these words. */
  query: z.string().max(1000).optional(),
  limit: z.int().min(0).max(1000).optional(),
  /** The id of the last entry of the page before. */
  after: knowledgeId.optional(),
});

export const knowledgeRequest = z.strictObject({ knowledgeId });

export const addKnowledge = z.strictObject({
  content: knowledgeText,
  /** `preference` when it is not given. */
  kind: z.enum(["preference", "rule", "fact"]).optional(),
  tags: tags.optional(),
  pinned: z.boolean().optional(),
});

export const editKnowledge = z.strictObject({
  knowledgeId,
  content: knowledgeText.optional(),
  tags: tags.optional(),
  pinned: z.boolean().optional(),
});

export const distillKnowledge = z.strictObject({});

export type CompactionSettings = Given<z.infer<typeof compactionSettings>>;
export type Budget = Given<z.infer<typeof budget>>;
export type CreateSession = z.input<typeof createSession>;
export type StartTurn = z.input<typeof startTurn>;
export type ResumeTurn = z.input<typeof resumeTurn>;
/** A turn that was asked for, checked. */
export type CheckedTurn = Given<z.output<typeof resumeTurn>>;
export type ListApprovals = z.infer<typeof listApprovals>;
export type AnswerApproval = z.infer<typeof answerApproval>;
export type ListKnowledge = z.infer<typeof listKnowledge>;
export type KnowledgeRequest = z.infer<typeof knowledgeRequest>;
export type AddKnowledge = z.infer<typeof addKnowledge>;
export type EditKnowledge = z.infer<typeof editKnowledge>;
export type DistillKnowledge = z.infer<typeof distillKnowledge>;
export type SessionRequest = z.infer<typeof sessionRequest>;
export type ListSessions = z.infer<typeof listSessions>;
export type CompactSession = z.infer<typeof compactSession>;
export type UpdateTask = z.infer<typeof updateTask>;
export type MessageRequest = z.infer<typeof messageRequest>;
export type Subscribe = z.infer<typeof subscribe>;
export type SearchMemory = z.infer<typeof searchMemory>;
export type ListMemory = z.infer<typeof listMemory>;
export type MemoryStatsRequest = z.infer<typeof memoryStats>;
export type ForgetMemory = z.infer<typeof forgetMemory>;
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
  throw new SessionError("INVALID_PARAMS", { issues: issuesOf(parsed.error) });
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
