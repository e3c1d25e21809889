import { z } from "zod";
import { TOOL_POLICIES } from "./approval.ts";
import { SessionError } from "./errors.ts";
import { AUTHORS } from "./event.ts";
import { isObject } from "./fields.ts";
import { issuesOf } from "./issues.ts";
import { KNOWLEDGE_KINDS } from "./knowledge.ts";
import { MEMORY_KINDS } from "./memory-store.ts";
import { messageSchema, promptSchema } from "./message-schema.ts";
import { PARENT_RELATIONS } from "./session-source.ts";
import { TASK_LIMITS } from "./task.ts";
import { USER_CHARACTERS_MAX, USER_NAME, USER_NAME_PROBLEM } from "./user-name.ts";
import { issuesOfBatch } from "./whole-calls.ts";

/**
 * The requests of a session service. The service checks them, so a bad request fails in the same way
 * through every surface. The types at the end are inferred from the schemas.
 */

const sessionId = z.string().min(1).max(200);
/** The same text is the same user. */
const user = z.string().min(1).max(USER_CHARACTERS_MAX).regex(USER_NAME, USER_NAME_PROBLEM);
const labels = z.record(z.string().min(1).max(100), z.string().max(500));
const positive = z.int().positive();
const DAY = z.regexes.date.source.replace(/^\^|\$$/g, "");
const HOUR = "(?:[01]\\d|2[0-3])";
const CLOCK = `${HOUR}:[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,9})?)?(?:Z|[+-]${HOUR}:?[0-5]\\d)?`;
/** A pattern, so that the OpenAPI document says exactly what is accepted. */
const isoTime = z
  .string()
  .regex(
    new RegExp(`^${DAY}(?:T${CLOCK})?$`),
    "expected an ISO 8601 time, such as 2025-01-20 or 2025-01-20T14:30:00Z",
  );
/** Filters of time, both included. A time without a zone is in UTC. A day in `until` includes all of that day. */
const timeFilters = {
  since: isoTime.describe("From this day or time on (ISO 8601, in UTC without a zone).").optional(),
  until: isoTime
    .describe("Up to this time (ISO 8601, in UTC without a zone). A day includes all of that day.")
    .optional(),
};
const page = { limit: z.int().min(0).max(1000).optional(), offset: z.int().min(0).optional() };

export const origin = z.strictObject({
  /** `user`: a person typed the prompt, so the project learns from it, and its instructions stay. */
  author: z.enum(AUTHORS).optional(),
  speaker: z.string().max(200).optional(),
  time: isoTime.optional(),
  session: z.string().max(200).optional(),
});

/** The settings of the specification. A missing one keeps its default. */
export const compactionSettings = z.strictObject({
  autoCompactThreshold: positive.optional(),
  recentTurnBudget: positive.optional(),
  maxSummaryTokens: positive.optional(),
  minTurnsBetweenCompactions: positive.optional(),
  /** Twice this many messages trigger a compaction, which keeps this many. Without it, only tokens count. */
  windowSize: positive.optional(),
});

/** Limits of one run. Reaching one ends the run, not the session. */
const budget = z.strictObject({
  /** Input and output tokens of all model calls of the run. */
  maxTotalTokens: positive.optional(),
  maxDurationMs: positive.optional(),
  maxToolCalls: positive.optional(),
  /** Model calls of the run. */
  maxModelCalls: positive.optional(),
});

/** By the name of a tool, or a pattern in which `*` stands for any text. */
const toolPolicies = z.record(z.string().min(1).max(100), z.enum(TOOL_POLICIES));

const sourceName = z.string().min(1).max(4096);

/** Where a session came from that another agent held. */
const source = z.strictObject({
  agent: z.string().min(1).max(100),
  nativeId: z.string().min(1).max(400),
  project: sourceName.optional(),
  branch: sourceName.optional(),
  title: z.string().max(1000).optional(),
  model: z.string().max(200).optional(),
  startedAt: isoTime.optional(),
  parent: z.strictObject({ id: sessionId, relation: z.enum(PARENT_RELATIONS) }).optional(),
});

/** Conditions on where a session came from. */
const sourceFilters = {
  agent: source.shape.agent
    .optional()
    .describe("Only sessions of this agent, such as claude-code. rkat's own have the agent rkat."),
  project: source.shape.project.describe("Only sessions of this project folder."),
  branch: source.shape.branch.describe("Only sessions of this git branch."),
};

export const createSession = z.strictObject({
  /** `provider/model`. Default: the service's model. */
  model: z.string().min(1).optional(),
  systemPrompt: z.string().optional(),
  /** Output tokens of one model call. */
  maxTokens: positive.optional(),
  memory: z.boolean().optional(),
  compaction: compactionSettings.optional(),
  /** They can only be stricter than the service's policies. */
  approvals: toolPolicies.optional(),
  /** Whether the project learns from the session, and the session from the project. */
  knowledge: z.boolean().optional(),
  labels: labels.optional(),
  /** Where it came from, for a session that another agent held. */
  source: source.optional(),
  /**
   * A history to begin with. It may have the summary of the session that it comes from. Its user messages are a
   * program's: append them with an `origin` to say who wrote them.
   */
  messages: z.array(messageSchema).max(100_000).optional(),
});

export const startTurn = z.strictObject({
  sessionId,
  prompt: promptSchema,
  model: z.string().min(1).optional(),
  maxTokens: positive.optional(),
  budget: budget.optional(),
  compaction: compactionSettings.optional(),
  /** Without it, the prompt counts as the user's word. Over JSON-RPC and REST the author must be given for that. */
  origin: origin.optional(),
  /** Messages to add to the history before the prompt, such as a system message. */
  context: z.array(messageSchema).max(1000).optional(),
});

/** Without a prompt it continues a run whose calls waited for approval. */
export const resumeTurn = startTurn.extend({ prompt: startTurn.shape.prompt.optional() });

export const appendMessages = z.strictObject({
  sessionId,
  messages: z
    .array(messageSchema)
    .min(1)
    .max(10_000)
    .describe(
      "Stored whole or not at all. Every tool call must come with its result, and none may be a summary.",
    )
    .superRefine((messages, { issues, value }) => {
      for (const issue of issuesOfBatch(messages)) {
        issues.push({ code: "custom", input: value, ...issue, path: [...issue.path] });
      }
    }),
  /** A name for this batch. A retry with the same key adds nothing. A session remembers its last 256 keys. */
  key: z.string().min(1).max(200).optional(),
  /** Who wrote the user messages. Without it they are a program's, and teach nothing. */
  origin: origin.optional(),
});

export const sessionRequest = z.strictObject({ sessionId });

export const deleteSession = z.strictObject({
  sessionId,
  /** Deletes it for good. Otherwise it can be restored for some days, if the stores have a trash. */
  now: z.boolean().optional(),
});

export const userRequest = z.strictObject({ user });

export const listSessions = z.strictObject({
  ...page,
  labels: labels.optional(),
  ...sourceFilters,
  includeArchived: z.boolean().optional(),
  /** Only deleted sessions that can be restored, the last deleted first. */
  deleted: z.boolean().optional(),
  idPrefix: z.string().max(200).optional(),
});

export const compactSession = z.strictObject({
  sessionId,
  /** Added to the compaction prompt. */
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
  /** Clears the record and sets the goal of a new task; empty for no goal. */
  newTask: goal.optional(),
  goal: goal.optional(),
  add: subTasks,
  done: subTaskNumbers,
  reopen: subTaskNumbers,
  drop: subTaskNumbers,
  /** Notes by name. An empty text removes the note. */
  notes: z
    .record(z.string().min(1).max(noteNameCharacters), z.string().max(noteCharacters))
    .optional(),
  openFiles: files,
  closeFiles: files,
};

/** Without a change it returns the record. */
export const updateTask = z.strictObject({ sessionId, ...taskChange });

/** A request with exactly one of two fields. A schema of fields alone cannot say that, so it is also noted here. */
export const EITHER_OF = z.registry<{ readonly fields: readonly [string, string] }>();

function eitherOf<Shape extends z.ZodRawShape>(
  fields: readonly [keyof Shape & string, keyof Shape & string],
  request: z.ZodObject<Shape, z.core.$strict>,
  message: string,
): z.ZodObject<Shape, z.core.$strict> {
  const count = (given: Readonly<Record<string, unknown>>) =>
    fields.filter((field) => given[field] !== undefined).length;
  return request.refine((given) => count(given) === 1, message).register(EITHER_OF, { fields });
}

/** What fits in one message of every surface. A longer transcript is sent as `bytes`. */
export const UPLOAD_CHARACTERS_MAX = 15_000_000;

/** The name of a file: some formats are known by it. */
const fileName = z.string().min(1).max(500).optional();

export const importTranscripts = eitherOf(
  ["text", "base64"],
  z.strictObject({
    name: fileName,
    text: z.string().min(1).max(UPLOAD_CHARACTERS_MAX).optional(),
    /** The bytes of a file that is no text, such as a ZIP archive. */
    base64: z
      .string()
      .max(UPLOAD_CHARACTERS_MAX)
      .regex(/^[A-Za-z0-9+/]+={0,2}$/, "must be Base64")
      .optional(),
  }),
  "give either text or base64",
);

/** The same with a stream instead. No surface's message carries one. */
export const streamedImport = z.strictObject({ name: fileName });

/** The request, if it has a stream. */
export function streamOf(request: unknown): ImportStream | undefined {
  if (!isObject(request) || !("bytes" in request)) return undefined;
  const { bytes, ...rest } = request;
  if (!isObject(bytes) || typeof Reflect.get(bytes, Symbol.asyncIterator) !== "function") {
    const message = "must be an async iterable of bytes";
    throw new SessionError("INVALID_PARAMS", { issues: [{ path: ["bytes"], message }] });
  }
  return {
    ...parseRequest(streamedImport, rest),
    bytes: bytes as unknown as ImportStream["bytes"],
  };
}

/** A message of the history, by its id or by its position from 0. */
export const messageRequest = eitherOf(
  ["message", "position"],
  z.strictObject({
    sessionId,
    message: positive.optional(),
    position: z.int().min(0).optional(),
  }),
  "give either message (an id) or position",
);

export const subscribe = z.strictObject({
  sessionId,
  /** Begins with the events after this `seq`. Without it, only new events come. */
  afterSeq: z.int().min(0).optional(),
});

const memoryId = z.string().min(1).max(400);
const memoryQuestion = z.string().max(100_000);

export const addMemory = z.strictObject({
  content: z.string().max(20_000).regex(/\S/, "must not be empty"),
  /** Who says it. Default: the user; over JSON-RPC and REST a program. It never makes a rule. */
  origin: origin.optional(),
});

const memoryFilters = {
  sessionId: sessionId.optional(),
  role: z.string().optional(),
  kind: z.enum(MEMORY_KINDS).optional(),
  ...sourceFilters,
  ...timeFilters,
};

export const searchMemory = z.strictObject({
  /** Several queries are one search. Each entry is one result, with its best score. */
  query: z.union([memoryQuestion, z.array(memoryQuestion).min(1).max(20)]),
  limit: z.int().min(0).max(1000).optional(),
  ...memoryFilters,
  minScore: z.number().min(0).max(1).optional(),
  /** Number of entries to show before and after each result. */
  neighbours: z.int().min(0).max(20).optional(),
  explain: z.boolean().optional(),
  /** Token limit of all result texts together, neighbours included. */
  maxTokens: positive.optional(),
});

export const listMemory = z.strictObject({
  limit: z.int().min(0).max(1000).optional(),
  /** The id of the last entry of the page before. */
  after: memoryId.optional(),
  /** Only the entry with this id, or those with these ids, in the order of the ids. */
  id: z.union([memoryId, z.array(memoryId).min(1).max(1000)]).optional(),
  ...memoryFilters,
});

export const memoryStats = z.strictObject({ sessionId: sessionId.optional(), ...sourceFilters });

/** Either `ids` or `sessionId`, which means everything that was said in it. */
export const forgetMemory = eitherOf(
  ["ids", "sessionId"],
  z.strictObject({
    /** Ids of entries, or of messages that are not in memory yet: `<session id>:<message id>`. */
    ids: z.array(memoryId).min(1).max(1000).optional(),
    sessionId: sessionId.optional(),
  }),
  "give either the ids of entries or a session",
);

export const searchHistory = z.strictObject({
  query: z.string().min(1).max(10_000),
  limit: z.int().min(0).max(200).optional(),
  sessionId: sessionId.optional(),
  fromTurn: z.int().min(0).optional(),
  toTurn: z.int().min(0).optional(),
  ...sourceFilters,
  ...timeFilters,
});

export const listApprovals = z.strictObject({ sessionId: sessionId.optional() });

export const answerApproval = z.strictObject({
  sessionId,
  approvalId: z.string().min(1).max(200),
  decision: z.enum(["allow", "deny"]),
  /** The model reads it. The project learns the reason of a denial, if a user gave it. */
  reason: z.string().max(2000).optional(),
  /** Who answers. Default: the user. */
  origin: origin.optional(),
});

export const revokeAllowed = z.strictObject({
  sessionId,
  tool: z.string().min(1).max(200),
  /** Only the calls with this command. Default: every call of the tool. */
  command: z.string().min(1).max(10_000).optional(),
});

const knowledgeId = z.string().min(1).max(300);
const knowledgeText = z.string().max(5000).regex(/\S/, "must not be empty");
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
  /** Default `preference`. */
  kind: z.enum(["preference", "rule", "fact"]).optional(),
  tags: tags.optional(),
  pinned: z.boolean().optional(),
  /** Who says it. Default: the user. What others add is found by searches and makes no rule. */
  origin: origin.optional(),
});

export const editKnowledge = z.strictObject({
  knowledgeId,
  content: knowledgeText.optional(),
  tags: tags.optional(),
  pinned: z.boolean().optional(),
  /** Who changes it. Default: the user. Others cannot change what the user said. */
  origin: origin.optional(),
});

export const distillKnowledge = z.strictObject({});

export type CompactionSettings = Given<z.infer<typeof compactionSettings>>;
export type Budget = Given<z.infer<typeof budget>>;
export type CreateSession = z.input<typeof createSession>;
export type StartTurn = z.input<typeof startTurn>;
export type ResumeTurn = z.input<typeof resumeTurn>;
/** A checked request for a turn. */
export type CheckedTurn = Given<z.output<typeof resumeTurn>>;
export type AppendMessages = z.input<typeof appendMessages>;
export type ImportTranscripts = z.infer<typeof importTranscripts>;
/** A transcript of any size, as a stream. */
export interface ImportStream {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly name?: string;
}
export type ListApprovals = z.infer<typeof listApprovals>;
export type AnswerApproval = z.infer<typeof answerApproval>;
export type RevokeAllowed = z.infer<typeof revokeAllowed>;
export type ListKnowledge = z.infer<typeof listKnowledge>;
export type KnowledgeRequest = z.infer<typeof knowledgeRequest>;
export type AddMemory = z.infer<typeof addMemory>;
export type AddKnowledge = z.infer<typeof addKnowledge>;
export type EditKnowledge = z.infer<typeof editKnowledge>;
export type DistillKnowledge = z.infer<typeof distillKnowledge>;
export type SessionRequest = z.infer<typeof sessionRequest>;
export type DeleteSession = z.infer<typeof deleteSession>;
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
 * Returns the checked request, without fields that are `undefined`.
 *
 * @throws SessionError `INVALID_PARAMS`, which names the fields and what is wrong with them.
 */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): Given<z.output<Schema>> {
  const parsed = schema.safeParse(request);
  if (parsed.success) return withoutUndefined(parsed.data) as Given<z.output<Schema>>;
  const issues = issuesOf(parsed.error);
  const namesUser = issues.some(({ message }) => message.includes('key: "user"'));
  throw new SessionError("INVALID_PARAMS", { issues, ...(namesUser ? { hint: FOR_USER } : {}) });
}

const FOR_USER =
  "The user is not a part of the request: use `forUser`, a user's token, the header X-Rkat-User, or --user.";

/** The same type without `undefined` values. */
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
