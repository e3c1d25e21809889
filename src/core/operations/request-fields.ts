import { regexes, z } from "zod";
import { TOOL_POLICIES } from "../approval.ts";
import { AUTHORS } from "../event.ts";
import { PARENT_RELATIONS, type SourceView } from "../session-source.ts";
import type { TokenUsage } from "../usage.ts";
import type { Given } from "./operation.ts";

export const sessionId = z.string().min(1).max(200);

export const labels = z.record(z.string().min(1).max(100), z.string().max(500));

export const positive = z.int().positive();

const DAY = regexes.date.source.replace(/^\^|\$$/g, "");

const HOUR = "(?:[01]\\d|2[0-3])";

const CLOCK = `${HOUR}:[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,9})?)?(?:Z|[+-]${HOUR}:?[0-5]\\d)?`;

/** A pattern, so that the OpenAPI document says exactly what is accepted. */
export const isoTime = z
  .string()
  .regex(
    new RegExp(`^${DAY}(?:T${CLOCK})?$`),
    "expected an ISO 8601 time, such as 2025-01-20 or 2025-01-20T14:30:00Z",
  );

/** When and where something was asked: a time, and the name of a zone in brackets. */
export const askedAt = z
  .string()
  .regex(
    new RegExp(`^${DAY}T${CLOCK}(?:\\[[A-Za-z0-9_+/-]{1,64}\\])?$`),
    "expected a time with its zone, such as 2026-11-26T10:00:00+01:00[Europe/Berlin]",
  )
  // Of the schema that others make requests from: no pattern can say which names of zones are known.
  .meta({
    pattern: `^${DAY}T${CLOCK}$`,
    description:
      "A time, with the name of a zone in brackets if there is one: 2026-11-26T10:00:00+01:00[Europe/Berlin].",
  });

/** Filters of time, both included. A time without a zone is in UTC. A day in `until` includes all of that day. */
export const timeFilters = {
  since: isoTime.describe("From this day or time on (ISO 8601, in UTC without a zone).").optional(),
  until: isoTime
    .describe("Up to this time (ISO 8601, in UTC without a zone). A day includes all of that day.")
    .optional(),
};

/** Not a filter: what was changed or replaced since is as it was. */
export const asOf = isoTime
  .describe("As it was at this time (ISO 8601). A day is its end. What was forgotten is not there.")
  .optional();

/** A text that an entry had before it was edited. */
export const earlierText = z.object({
  id: z.string(),
  content: z.string(),
  time: z.string().optional(),
  until: z.string(),
});

/** A decision that both of two entries hold. */
export const keptBeside = z.object({
  id: z.string(),
  since: z.string(),
  until: z.string().optional(),
});

export const page = {
  limit: z.int().min(0).max(1000).optional(),
  offset: z.int().min(0).optional(),
};

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
  /** 0 keeps only the last user message. */
  recentTurnBudget: z.int().min(0).optional(),
  maxSummaryTokens: positive.optional(),
  minTurnsBetweenCompactions: z.int().min(0).optional(),
  /** Twice this many messages trigger a compaction, which keeps this many. Without it, only tokens count. */
  windowSize: positive.optional(),
});

/** By the name of a tool, or a pattern in which `*` stands for any text. */
export const toolPolicies = z.record(z.string().min(1).max(100), z.enum(TOOL_POLICIES));

export const sourceName = z.string().min(1).max(4096);

/** The conditions on where a session came from. */
export const sourceFilters = {
  agent: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("Only sessions of this agent, such as claude-code. rkat's own have the agent rkat."),
  project: sourceName.optional().describe("Only sessions of this project folder."),
  branch: sourceName.optional().describe("Only sessions of this git branch."),
};

export const sessionRequest = z.strictObject({ sessionId });

/** A request with exactly one of two fields. A schema of fields alone cannot say that, so it is also noted here. */
export const EITHER_OF = z.registry<{ readonly fields: readonly [string, string] }>();

/** A wrong request is told both fields by name, on a wire as they are named there. */
export function eitherOf<Shape extends z.ZodRawShape>(
  fields: readonly [keyof Shape & string, keyof Shape & string],
  request: z.ZodObject<Shape, z.core.$strict>,
): z.ZodObject<Shape, z.core.$strict> {
  const oneOfBoth = (context: z.core.ParsePayload<Readonly<Record<string, unknown>>>) => {
    const given = fields.filter((field) => context.value[field] !== undefined);
    if (given.length === 1) return;
    const message =
      given.length === 0 ? "is missing: give one of the two" : "give one of the two, not both";
    for (const field of fields) {
      context.issues.push({ code: "custom", path: [field], message, input: context.value });
    }
  };
  return request.check(oneOfBoth).register(EITHER_OF, { fields });
}

export type CompactionSettings = Given<z.infer<typeof compactionSettings>>;

export type SessionRequest = z.infer<typeof sessionRequest>;

/**
 * The schema of a result whose type has a comment for each field: it has exactly the fields of `T`, each of the
 * field's type. Such a type is written out, because the compiler leaves comments on the fields of a schema out of
 * the declarations that users read. A type that needs no comments is inferred: `Result<typeof schema>`.
 */
export function shape<T>() {
  return <Shape extends { readonly [Field in keyof Required<T>]: z.ZodType<Parsed<T[Field]>> }>(
    fields: Shape & { readonly [Field in Exclude<keyof Shape, keyof T>]: never },
  ) => z.object(fields as Shape);
}

/** `T` as zod types it: a field that may be missing may also be `undefined`. */
type Parsed<T> = T extends object ? { [Field in keyof T]: Parsed<T[Field]> | undefined } : T;

/** The type of a result, inferred from its schema. Nothing of a result can be changed. */
export type Result<Schema extends z.ZodType> = Frozen<z.output<Schema>>;

type Frozen<T> = T extends object ? { readonly [Field in keyof T]: Frozen<T[Field]> } : T;

/** The result of an operation that returns nothing. */
export const nothing = z.undefined();

export const count = z.int().min(0);

const tokens = count.nullable();

export const usage = shape<TokenUsage>()({
  inputTokens: count,
  outputTokens: count,
  cacheCreationTokens: tokens,
  cacheReadTokens: tokens,
});

/** Where the session of a result came from. */
export const sourceView = shape<SourceView>()({
  agent: z.string(),
  nativeId: z.string(),
  project: z.string().optional(),
  branch: z.string().optional(),
  title: z.string().optional(),
  model: z.string().optional(),
  startedAt: z.string().optional(),
  parent: z
    .object({ id: z.string(), relation: z.enum(PARENT_RELATIONS), event: count.optional() })
    .optional(),
  open: z.string().optional(),
});

/** The store that a result is from, where there are two. */
export const store = z.literal("user").optional();
