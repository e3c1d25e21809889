import { z } from "zod";
import { APPROVAL_OPERATIONS } from "./operations/approvals.ts";
import { BRING_BACK_OPERATIONS } from "./operations/bring-back.ts";
import { COST_OPERATIONS } from "./operations/cost.ts";
import { FORK_OPERATIONS } from "./operations/forks.ts";
import { HISTORY_OPERATIONS } from "./operations/history.ts";
import { IMPORT_OPERATIONS, type ImportStream } from "./operations/imports.ts";
import { KNOWLEDGE_OPERATIONS } from "./operations/knowledge.ts";
import { MEMORY_OPERATIONS } from "./operations/memory.ts";
import type { Given } from "./operations/operation.ts";
import { CAPABILITIES, type Operation } from "./operations/operation.ts";
import { SESSION_OPERATIONS } from "./operations/sessions.ts";
import { SOURCE_OPERATIONS } from "./operations/sources.ts";
import { TURN_OPERATIONS } from "./operations/turns.ts";
import { WORKING_MEMORY_OPERATIONS } from "./operations/working-memory.ts";
import type { SessionService } from "./session-service.ts";

/**
 * Version of the operations, their fields and the error codes on the wire.
 * A breaking change raises the first number that is not 0.
 */
export const CONTRACT_VERSION = "0.1.0";

const { createSession, ...ofSessions } = SESSION_OPERATIONS;
const { interrupt, compact, ...turns } = TURN_OPERATIONS;

/** The operations of a session service, in the order in which the surfaces show them. */
export const OPERATIONS = {
  createSession,
  ...turns,
  ...IMPORT_OPERATIONS,
  interrupt,
  compact,
  ...HISTORY_OPERATIONS,
  ...FORK_OPERATIONS,
  ...BRING_BACK_OPERATIONS,
  ...WORKING_MEMORY_OPERATIONS,
  ...COST_OPERATIONS,
  ...ofSessions,
  ...MEMORY_OPERATIONS,
  ...SOURCE_OPERATIONS,
  ...APPROVAL_OPERATIONS,
  ...KNOWLEDGE_OPERATIONS,
  capabilities: {
    description: "List the capabilities of this service.",
    request: z.strictObject({}),
    result: z.array(z.enum(CAPABILITIES)),
    resultKey: "capabilities",
    rpc: "capabilities/get",
    http: { method: "GET", path: "/capabilities" },
    tool: "capabilities",
    toolText:
      "List the capabilities of this service: session-store, memory-store, session-compaction. Tools that need another one are not listed.",
    command: "capabilities",
    effect: "reads",
  },
} as const satisfies Record<
  Exclude<keyof SessionService, "subscribe" | "forUser" | "close">,
  Operation
>;

export type OperationName = keyof typeof OPERATIONS;

/** A request that was checked. A transcript may also come as a stream. */
export type CheckedRequest<Name extends OperationName> =
  | Given<z.output<(typeof OPERATIONS)[Name]["request"]>>
  | ((typeof OPERATIONS)[Name] extends { readonly uploads: true } ? ImportStream : never);
