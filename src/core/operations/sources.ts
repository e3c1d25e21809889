import { z } from "zod";
import { KNOWLEDGE_KINDS, type KnowledgeKind } from "../knowledge.ts";
import type { Operation } from "./operation.ts";
import { count, eitherOf, page, positive, sessionId, shape } from "./request-fields.ts";

export const readSources = eitherOf(
  ["id", "sessionId"],
  z.strictObject({
    /** The id of an entry of memory, a record that came back, a fact, a correction, a preference or a rule. */
    id: z.string().min(1).max(400).optional(),
    /** The session of a summary. */
    sessionId: sessionId.optional(),
    /** `seq` of the compaction that wrote it. Default: the last one. */
    event: positive.optional(),
    ...page,
  }),
);

export type ReadSources = z.infer<typeof readSources>;

export const SOURCED = ["message", ...KNOWLEDGE_KINDS, "added", "summary"] as const;

/** The sources of a text: the messages and statements that it rests on. */
export interface SourcesView {
  /** `added`: it was added by hand, and rests on no message. */
  readonly kind: (typeof SOURCED)[number];
  readonly content: string;
  /** For a rule: the statements that it was made from. */
  readonly madeFrom: readonly MadeFrom[];
  readonly messageCount: number;
  /** The messages of the page, in the order of their logs. */
  readonly messages: readonly SourceMessage[];
}

export interface MadeFrom {
  readonly id: string;
  readonly kind: KnowledgeKind;
  readonly content: string;
}

/** A message as it was said. */
export interface SourceMessage {
  /** Where it was said: of a fork's copy, the session that it is a copy from, if that is still there. */
  readonly sessionId: string;
  readonly id: number;
  /** ISO 8601. */
  readonly time: string;
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The start of its text. */
  readonly text: string;
}

export const sourcesView = shape<SourcesView>()({
  kind: z.enum(SOURCED),
  content: z.string(),
  madeFrom: z.array(
    z.object({ id: z.string(), kind: z.enum(KNOWLEDGE_KINDS), content: z.string() }),
  ),
  messageCount: count,
  messages: z.array(
    z.object({
      sessionId: z.string(),
      id: count,
      time: z.string(),
      role: z.enum(["system", "user", "assistant", "tool"]),
      text: z.string(),
    }),
  ),
});

/** From what was made to the messages that it rests on. The other way is `readMessage`. */
export interface SourceOperations {
  /**
   * The messages that something rests on: an entry of memory, a record that came back, a fact, a correction, a preference, a rule,
   * or a summary, over the summaries before it, to what was said itself. `KNOWLEDGE_NOT_FOUND` when nothing has the id.
   */
  readSources(request: ReadSources): Promise<SourcesView>;
}

export const SOURCE_OPERATIONS = {
  readSources: {
    description: "Show the messages that an entry of memory, a rule or a summary rests on.",
    request: readSources,
    result: sourcesView,
    rpc: "memory/sources",
    http: { method: "POST", path: "/sources" },
    tool: "memory_sources",
    toolText:
      "Show the exact messages that something rests on: an entry of memory, a record, a fact, a correction, a preference or a rule by its `id`, or the summary of a compaction by `session_id` and `event`, over the summaries before it.",
    command: "memory sources",
    effect: "reads",
    needs: "memory-store",
  },
} as const satisfies Record<keyof SourceOperations, Operation>;
