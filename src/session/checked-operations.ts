import { type ErrorCode, SessionError } from "../core/errors.ts";
import { streamOf } from "../core/operations/imports.ts";
import type { Capability, Operation } from "../core/operations/operation.ts";
import { parseRequest } from "../core/operations/parse-request.ts";
import type { TurnOptions } from "../core/operations/turns.ts";
import { type CheckedRequest, OPERATIONS, type OperationName } from "../core/operations.ts";
import { requireOptions, TURN_OPTIONS } from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import type { ServiceCore } from "./service-core.ts";
import { requireSearchableMemory } from "./service-options.ts";

/** Some operations of a service. Their requests have been checked, and the service has what they need. */
export type Part<Name extends OperationName> = {
  readonly [Each in Name]: (
    request: CheckedRequest<Each>,
    options: TurnOptions,
  ) => ReturnType<SessionService[Each]>;
};

/** The code of a request that needs a capability which the service does not have. */
const DISABLED: Readonly<Record<Capability, ErrorCode>> = {
  "session-store": "SESSION_PERSISTENCE_DISABLED",
  "memory-store": "SESSION_MEMORY_DISABLED",
  "session-compaction": "SESSION_COMPACTION_DISABLED",
};

/** `capabilities` takes no request. */
type CheckedName = Exclude<OperationName, "capabilities">;

/** The parts of a service as its methods: each checks, by its row of the table, what it is given. */
export function checkedOperations(
  core: ServiceCore,
  parts: Part<CheckedName>,
): Pick<SessionService, CheckedName> {
  const { capabilities: _, ...checked } = OPERATIONS;
  const methods = (Object.keys(checked) as CheckedName[]).map((name) => {
    const run = parts[name] as (request: unknown, options: TurnOptions) => Promise<unknown>;
    const method = async (request: unknown, options: TurnOptions = {}) => {
      requireOptions(`${name}()`, TURN_OPTIONS, options);
      return await run(checkedRequest(core, name, request), options);
    };
    return [name, method];
  });
  return Object.fromEntries(methods);
}

/**
 * The request of an operation, if it is a right one and the service can do what it asks for.
 *
 * @throws SessionError `INVALID_PARAMS`, or the code of a missing capability
 */
export function checkedRequest<Name extends OperationName>(
  core: ServiceCore,
  name: Name,
  request: unknown,
): CheckedRequest<Name> {
  const operation: Operation = OPERATIONS[name];
  const streamed = operation.uploads && streamOf(request);
  const checked: object = streamed || parseRequest(operation.request, request);
  if (operation.learns) requireLearning(core);
  else if (operation.needs) requireCapability(core, operation.needs);
  const { knowledge, memory, compaction } = checked as Readonly<Record<string, unknown>>;
  if (knowledge === true) requireLearning(core);
  if (memory === true) requireSearchableMemory(core.options);
  if (compaction !== undefined) requireCapability(core, "session-compaction");
  return checked as CheckedRequest<Name>;
}

function requireCapability({ capabilities }: ServiceCore, capability: Capability): void {
  if (!capabilities.includes(capability)) throw new SessionError(DISABLED[capability]);
}

function requireLearning({ project }: ServiceCore): void {
  if (!project) throw new SessionError("SESSION_KNOWLEDGE_DISABLED");
}
