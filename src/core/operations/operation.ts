import type { z } from "zod";

/**
 * What a service can do beyond running turns. A capability is something you
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
