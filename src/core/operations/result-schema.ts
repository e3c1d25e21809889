import { z } from "zod";
import { PARENT_RELATIONS, type SourceView } from "../session-source.ts";
import type { TokenUsage } from "../usage.ts";

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

/** Which store a result of two stores is from. */
export const store = z.literal("user").optional();
