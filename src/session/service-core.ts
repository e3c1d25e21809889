import { callModel, DEFAULT_RETRY_POLICY } from "../agent/call-model.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { type ErrorCode, SessionError } from "../core/errors.ts";
import type { SessionSettings } from "../core/event.ts";
import type { LanguageModel } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import { streamOf } from "../core/operations/imports.ts";
import type { Capability, Operation } from "../core/operations/operation.ts";
import { parseRequest } from "../core/operations/operation.ts";
import type { TurnOptions } from "../core/operations/turns.ts";
import { type CheckedRequest, OPERATIONS, type OperationName } from "../core/operations.ts";
import { requireOptions, TURN_OPTIONS } from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import { type Outages, warn } from "../core/warn.ts";
import type { ForgettingDeps } from "../forgetting/forget-memory.ts";
import { Trash } from "../forgetting/trash.ts";
import type { AskModel } from "../knowledge/knowledge-distiller.ts";
import { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { ApprovalIndex } from "../projections/approval-index.ts";
import { KnowledgeRecorder } from "../projections/knowledge-recorder.ts";
import { memoryLag } from "../projections/log-projection.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { ProjectionRunner } from "../projections/projection-runner.ts";
import { SessionFiles } from "../projections/session-files.ts";
import { redactingStores } from "../secrets/redact-message.ts";
import { ApprovalDesk } from "./approval-desk.ts";
import { Deletions } from "./deletions.ts";
import { LiveSessions } from "./live-sessions.ts";
import { MemoryWait } from "./memory-search.ts";
import {
  learningOf,
  memoryOf,
  outagesOf,
  requireSearchableMemory,
  type SessionOptions,
  switchedOffOptions,
} from "./service-options.ts";
import { KeptProjectionLease, newOwner, withFilesLease } from "./session-lease.ts";
import { SessionWork } from "./session-work.ts";
import { TurnSettings } from "./turn-settings.ts";

const ANSWER_TOKENS_MAX = 4096;
const ANSWER_TIMEOUT_MS = 120_000;

/** The user that a service acts for. */
export interface ServedUser {
  readonly name: string;
  /** The project's knowledge. Its users are told what was added to it by hand. */
  readonly project: ProjectKnowledge | undefined;
  /** The warnings about failures of all users' services. */
  readonly outages: Outages;
}

/** The stores, options and state that the parts of a service share. */
export interface ServiceCore {
  /** With stores that redact, if they have to. */
  readonly options: SessionOptions;
  readonly user: string | undefined;
  readonly capabilities: readonly Capability[];
  /** Whether models and callers can search memory. */
  readonly searchesMemory: boolean;
  readonly settings: TurnSettings;
  readonly outages: Outages;
  /** The project's knowledge; undefined in a service that does not learn. */
  readonly project: ProjectKnowledge | undefined;
  readonly live: LiveSessions;
  readonly desk: ApprovalDesk;
  readonly work: SessionWork;
  readonly projections: ProjectionRunner;
  readonly trash: Trash | undefined;
  readonly deletions: Deletions;
  readonly forgetting: ForgettingDeps;
  /** Resolves when all projections have what the log has for them. */
  projected(): Promise<void>;
  /** The same for what need not have everything, and answers soon. */
  readonly wait: MemoryWait;
  /** The service made of the parts. A turn that runs keeps it, so `forUser` finds it until the turn has ended. */
  service?: SessionService;
}

/** The tools of a session. */
export type ToolsOf = (settings: SessionSettings) => ToolSet;

export function serviceCore(given: SessionOptions, user?: ServedUser): ServiceCore {
  const options =
    given.redact === "log" ? { ...given, stores: redactingStores(given.stores) } : given;
  const { stores } = options;
  const { events, sessions, approvals } = stores;
  const outages = user?.outages ?? outagesOf(options);
  const memory = memoryOf(options);
  // One that is switched off still has what was said before, and loses what is deleted.
  const filled = memory ?? stores.memory;
  for (const text of switchedOffOptions(options)) warn(text);
  const settings = new TurnSettings(options);

  // The project's knowledge. A service that does not learn can still forget it.
  const learning = learningOf(options);
  const ask = askerOf(learning?.model, settings);
  const shared = user?.project;
  const project =
    learning && new ProjectKnowledge(learning.store, learning, { memory, ask, shared });
  const knowledge =
    project ?? (stores.knowledge && new ProjectKnowledge(stores.knowledge, {}, { memory }));

  const live = new LiveSessions(stores);
  const { files, projections, deletions } = followers(options, {
    live,
    memory,
    filled,
    project,
    knowledge,
    outages,
    alone: (id, end) => work.alone(id, end),
  });
  const projected = () => projections.flush();
  const lag = () => memoryLag(events, options.memoryScope ?? "all");
  const desk = new ApprovalDesk(approvals, options.approvals ?? {}, outages);
  const work = new SessionWork(stores, { live, desk, projections });
  const trash = stores.trash && new Trash(stores.trash, options.keepDeletedDays);
  return {
    options,
    user: user?.name,
    capabilities: capabilitiesOf(options, memory),
    searchesMemory: memory !== undefined && options.searchableMemory !== false,
    settings,
    outages,
    project,
    live,
    desk,
    work,
    projections,
    trash,
    deletions,
    forgetting: {
      trash,
      forgotten: stores.forgotten,
      memory: filled,
      knowledge,
      events,
      sessions,
      files,
      withSession: (id, redact) => work.runAfterTurn(id, ({ state, held }) => redact(state, held)),
      projected,
      ...(stores.notCleaned ? { notCleaned: stores.notCleaned } : {}),
    },
    projected,
    wait: new MemoryWait({ projected, lag, holdsBack: stores.events.holdsBack, outages }),
  };
}

function capabilitiesOf(
  { persistent, compaction }: SessionOptions,
  memory: MemoryStore | undefined,
): readonly Capability[] {
  return [
    ...(persistent ? (["session-store"] as const) : []),
    ...(memory ? (["memory-store"] as const) : []),
    ...(compaction ? (["session-compaction"] as const) : []),
  ];
}

/** The projections that follow the log. */
function followers(
  { stores, memoryScope: scope, sessionFiles }: SessionOptions,
  {
    live,
    memory,
    filled,
    project,
    knowledge,
    outages,
    alone,
  }: Pick<ServiceCore, "live" | "project" | "outages"> & {
    readonly memory: MemoryStore | undefined;
    readonly filled: MemoryStore | undefined;
    readonly knowledge: ProjectKnowledge | undefined;
    readonly alone: SessionWork["alone"];
  },
) {
  const { events, sessions, approvals } = stores;
  const owner = newOwner();
  const messageAt = (sessionId: string, seq: number) =>
    live.historyOf(sessionId).findLast(({ id }) => id === seq);
  const files = sessionFiles
    ? new SessionFiles(events, sessionFiles, (work) => withFilesLease(sessions, owner, work))
    : undefined;
  const drop = (id: string) => live.forget(id);
  const made = { events, sessions, approvals, memory: filled, knowledge, files };
  const deletions = new Deletions({ ...made, alone, drop });
  const projections = new ProjectionRunner(
    events,
    [
      ...(memory ? [new MemoryIndex(events, memory, { scope, messageAt })] : []),
      ...(project ? [new KnowledgeRecorder(events, project)] : []),
      new ApprovalIndex(events, approvals),
      ...(files ? [files] : []),
      deletions,
    ],
    outages,
    { lease: new KeptProjectionLease(sessions, owner) },
  );
  return { files, projections, deletions };
}

/** A way to ask a model for rules. `undefined` when no model is configured for that. */
function askerOf(
  model: LanguageModel | string | undefined,
  settings: Pick<TurnSettings, "model">,
): AskModel | undefined {
  if (model === undefined) return undefined;
  return async (content) => {
    const found = typeof model === "string" ? await settings.model(model) : model;
    const reply = await callModel(
      found,
      {
        messages: [{ role: "user", content }],
        tools: [],
        maxTokens: ANSWER_TOKENS_MAX,
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      },
      { retry: DEFAULT_RETRY_POLICY },
    );
    const texts = reply.blocks.flatMap((block) =>
      block.block_type === "text" ? [block.data.text] : [],
    );
    return texts.join("\n");
  };
}

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
      if (OPERATIONS[name].effect !== "reads") core.work.requireOpen();
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
