import { callModel, DEFAULT_RETRY_POLICY } from "../agent/call-model.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import type { SessionSettings } from "../core/event.ts";
import type { LanguageModel } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { Capability } from "../core/operations/operation.ts";
import type { SessionService } from "../core/session-service.ts";
import { type Outages, warn } from "../core/warn.ts";
import type { ForgettingDeps } from "../forgetting/forget-memory.ts";
import { Trash } from "../forgetting/trash.ts";
import type { AskModel } from "../knowledge/distill-with-model.ts";
import { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { ApprovalIndex } from "../projections/approval-index.ts";
import { KnowledgeRecorder } from "../projections/knowledge-recorder.ts";
import { memoryLag } from "../projections/log-projection.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { ProjectionRunner } from "../projections/projection-runner.ts";
import { SessionFiles } from "../projections/session-files.ts";
import { ApprovalDesk } from "./approval-desk.ts";
import { Deletions } from "./deletions.ts";
import { LiveSessions } from "./live-sessions.ts";
import { MemoryWait } from "./memory-wait.ts";
import { redactingStores } from "./redacting-stores.ts";
import {
  learningOf,
  memoryOf,
  outagesOf,
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
