import type { z } from "zod";
import { SessionError } from "../errors.ts";
import { issuesOf } from "../issues.ts";
import { fieldsAt } from "../wire.ts";

/**
 * An ability of a service beyond running turns. A capability is something you
 * pass: stores, a memory store, a compactor.
 */
export const CAPABILITIES = ["session-store", "memory-store", "session-compaction"] as const;

export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITY_DESCRIPTIONS: Readonly<Record<Capability, string>> = {
  "session-store": "Sessions outlive the process: resume, read, list, archive, delete, search.",
  "memory-store": "What sessions said, and what was added by hand, can be searched.",
  "session-compaction": "Histories are compacted before they outgrow the context window.",
};

/**
 * One thing that a session service does. The service, every surface, the OpenAPI document and `docs/surfaces.md`
 * are loops over the table of these (`core/operations.ts`).
 */
export interface Operation {
  /** One sentence that the surfaces show. */
  readonly description: string;
  /** In camelCase. On the wire the names are snake_case (`core/wire.ts`). */
  readonly request: z.ZodObject;
  /** On the wire a result is always an object: see `resultKey`. */
  readonly result: z.ZodType;
  /** Wraps a result that is a list, or nothing: `{"sessions": […]}`, `{"archived": true}`. */
  readonly resultKey?: string;
  /** Fields beside the list that `resultKey` names. In the code they are fields of the list, which may be missing. */
  readonly beside?: z.ZodObject;
  /** JSON-RPC method. */
  readonly rpc: string;
  readonly http: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string };
  /** MCP tool. */
  readonly tool: string;
  /** The text by which a model chooses and uses the tool. Default: `description`. */
  readonly toolText?: string;
  /** Command of the CLI. */
  readonly command: string;
  readonly effect: "reads" | "adds" | "destroys";
  /** Its request may also be a stream of bytes: on REST a file as the body, with its name in the query. */
  readonly uploads?: true;
  /** It takes long, streams events while it runs, and can be interrupted. */
  readonly streams?: true;
  /** Without this capability it always fails. */
  readonly needs?: Capability;
  /** It fails in a service that does not learn, with the code for that. */
  readonly learns?: true;
}

/**
 * Returns the checked request, without fields that are `undefined`.
 *
 * @throws SessionError `INVALID_PARAMS`, which names the fields and what is wrong with them.
 */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): Given<z.output<Schema>> {
  const parsed = schema.safeParse(request, { reportInput: true });
  if (parsed.success) return withoutUndefined(parsed.data) as Given<z.output<Schema>>;
  const issues = issuesOf(parsed.error, (path) => fieldsAt(schema, path));
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
