import type { RetryPolicy } from "../agent/call-model.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import type { ApprovalStore } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import type { EventStore } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import type { ImportStore } from "../core/import-store.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import type { LanguageModel, ModelResolver } from "../core/language-model.ts";
import type { MemoryScope, MemoryStore } from "../core/memory-store.ts";
import type { ImportReport } from "../core/operations/imports.ts";
import type { NotCleaned } from "../core/operations/memory.ts";
import type { PriceTable } from "../core/prices.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { AgeLimits, Stores, TrashStores } from "../core/stores.ts";
import type { Tool } from "../core/tool.ts";
import type { Metered, Traces } from "../core/traces.ts";
import { Outages, warnedOutages } from "../core/warn.ts";
import type { KeepDays } from "../forgetting/retention.ts";
import type { KnowledgeSettings } from "../knowledge/project-knowledge.ts";
import { RECALL_TOKENS_DEFAULT } from "../recall/recall-room.ts";
import type { ApprovalOptions } from "./approval-desk.ts";

/** The stores of a service with the capability `session-store`, such as `sqliteStores({ path })`. */
export interface ServiceStores {
  readonly events: EventStore;
  readonly sessions: SessionStore;
  /** Where tool calls wait for approval. Without it, only this process sees them. */
  readonly approvals?: ApprovalStore;
  /** The memory, unless the option `memory` says otherwise. */
  readonly memory?: MemoryStore;
  /** The project's knowledge. Forgetting reaches it even with `knowledge: false`. */
  readonly knowledge?: KnowledgeStore;
  /** The forgotten texts, so that an import does not bring one back. */
  readonly forgotten?: ForgottenTexts;
  /** The imports. Without this store, nothing can be imported. */
  readonly imports?: ImportStore;
  /** Where deleted sessions wait. Without it, a deleted session cannot be restored. */
  readonly trash?: TrashStores;
  /** The same stores for one user. Without it, a service cannot keep users apart and refuses to name one. */
  forUser?(user: string): ServiceStores;
  /** The users who have something here. Without it, old sessions are only deleted of users who are served. */
  users?(): Promise<readonly string[]>;
  /** The users who have something older than that. Without it, a clean-up looks at each user. */
  usersWithOld?(limits: AgeLimits): Promise<readonly string[]>;
  /** Where deleted texts may still be. Without it, receipts say what holds for a file. */
  notCleaned?(): Promise<readonly NotCleaned[]>;
}

/** The parts of a session service. It refuses what needs a part that is missing. */
export interface ServiceOptions {
  /** The model that answers, or the name of one that `models` finds. */
  readonly model: LanguageModel | string;
  /** Finds models by the names that requests give. Without it, requests cannot name one. */
  readonly models?: ModelResolver;
  /** Capability `session-store`: sessions outlive the process. */
  readonly stores?: ServiceStores;
  /**
   * Capability `memory-store`: what was said can be searched. Default: the memory of
   * `stores`, if they have one. `false` switches it off.
   */
  readonly memory?: MemoryStore | false;
  /**
   * Which messages get into memory. Default `all`: what was said is found at once, from every session.
   * `discarded`: only what a compaction removed.
   */
  readonly memoryScope?: MemoryScope;
  /** Whether models and callers can search memory. It is filled in any case. Default true. */
  readonly searchableMemory?: boolean;
  /** Results of a `searchMemory` that names no limit. Default 10. */
  readonly memoryResults?: number;
  /**
   * Tokens that records of memory may take before a prompt that they are about. They come by themselves. Default 1500;
   * 0 for none.
   */
  readonly recallTokens?: number;
  /**
   * Whose records come back by themselves: those that left the window of the `session` itself, the default, or of all
   * sessions of the `project`. A record of another session stays in this one's log when that session is deleted.
   */
  readonly recallFrom?: RecallFrom;
  /** Capability `session-compaction`; `{}` for the defaults. */
  readonly compaction?: CompactionOptions;
  /**
   * What the project learns from its sessions and tells to new ones. Default: on when there is a
   * memory and `stores` have a knowledge store. `false` switches it off.
   */
  readonly knowledge?: KnowledgeOptions | false;
  /** Which tool calls need approval, and who is asked. Without it, each tool's own policy counts. */
  readonly approvals?: ApprovalOptions;
  readonly tools?: readonly Tool[];
  /**
   * Tools that may change while sessions run, such as those of MCP servers. It is asked before each model call, and
   * returns the same array until they change. A tool with a name of another is left out.
   */
  readonly moreTools?: () => readonly Tool[];
  /** `memory_search` (with a memory), `search_project_history`, `update_task` and `datetime`. Default true. */
  readonly builtinTools?: boolean;
  /** For sessions created without one. */
  readonly systemPrompt?: string;
  /** The end of the system prompt of each new session: where it is held, when, and what its MCP servers say. It does not change later. */
  readonly surroundings?: () => string;
  /** Output tokens of one model call, for sessions created without a limit. */
  readonly maxTokens?: number;
  /** The folder of the project that the stores belong to. Sessions are shown and found with it. */
  readonly project?: string;
  /** Where new sessions are held, if that is not `project` alone: a worktree of it, and the branch in it. Asked for each session. */
  readonly heldIn?: () => { readonly project?: string; readonly branch?: string };
  /** Folder to write sessions to as files, such as `.rkat/sessions`. Default: none. */
  readonly sessionFiles?: string;
  /**
   * What credentials are kept out of. `"memory"`, the default: memory, summaries and knowledge, but
   * the log has what was said. `"log"`: everything that is written. A session that is opened again
   * then lacks them.
   */
  readonly redact?: "memory" | "log";
  /** For how many days a deleted session can be restored, if `stores` have a trash. Default 7. */
  readonly keepDeletedDays?: number;
  /** The ages at which things are deleted: looked for once an hour, and when the service closes. Default: nothing. */
  readonly keepDays?: KeepDays;
  /**
   * What models cost, in US dollars for a million tokens, by `provider/model` or its start. They win over the list
   * prices that rkat knows.
   */
  readonly prices?: PriceTable;
  readonly retry?: Partial<RetryPolicy>;
  /** Time limit of a tool call, for tools without their own. Default 120 000. */
  readonly toolTimeoutMs?: number;
  /**
   * Called when background work fails, once per outage with the same message. The work is retried. Default: a process
   * warning.
   */
  readonly onBackgroundError?: (error: unknown) => void;
  /**
   * OpenTelemetry's spans and metrics, if the program registered something that takes them. `contents` adds what was said
   * (default: the variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`). `false`: none.
   */
  readonly traces?: false | { readonly contents?: boolean };
  /** Counts the work of the service, for `/metrics` of a server: `new Meters()`. */
  readonly meters?: Metered;
}

export interface CompactionOptions extends HistoryCompaction {
  /** The model that writes summaries. Default: the session's model. `"fallback"`: no model. */
  readonly summarizer?: LanguageModel | "fallback";
  /** Tokens that pins may take. Default: a quarter of the threshold; at most half of it. */
  readonly pinBudget?: number;
}

export interface KnowledgeOptions extends KnowledgeSettings {
  /** Where it is kept. Default: the knowledge store of `stores`. */
  readonly store?: KnowledgeStore;
  /** The model that `distillKnowledge` asks for rules. Without one, rules are the user's own words, grouped. */
  readonly model?: LanguageModel | string;
}

/** Whose records come back by themselves. */
export type RecallFrom = "session" | "project";

/** The memory that a service works with, if it has one. */
export function memoryOf({
  memory,
  stores,
}: Pick<ServiceOptions, "memory" | "stores">): MemoryStore | undefined {
  return memory === false ? undefined : (memory ?? stores?.memory);
}

/** Tokens that records of memory may take before a prompt of a session; 0 where nothing comes back by itself. */
export function recallTokensOf(
  options: Pick<ServiceOptions, "memory" | "stores" | "searchableMemory" | "recallTokens">,
  settings: { readonly memory?: boolean },
): number {
  const recalls = memoryOf(options) && options.searchableMemory !== false && settings.memory;
  return recalls ? (options.recallTokens ?? RECALL_TOKENS_DEFAULT) : 0;
}

/** Options that need a memory, given to a service that has none: a sentence for each. */
export function switchedOffOptions(options: ServiceOptions): readonly string[] {
  if (memoryOf(options)) return [];
  const why = options.memory === false ? "`memory` is false" : "there is no `memory`";
  const given = (
    ["memoryScope", "memoryResults", "recallTokens", "recallFrom", "searchableMemory"] as const
  ).filter((name) => options[name] !== undefined && options[name] !== false);
  return given.map((name) => `\`${name}\` has no effect, because ${why}.`);
}

/**
 * The memory that models and callers may search.
 *
 * @throws SessionError `SESSION_MEMORY_DISABLED`
 */
export function requireSearchableMemory(
  options: Pick<ServiceOptions, "memory" | "stores" | "searchableMemory">,
): MemoryStore {
  const memory = memoryOf(options);
  if (!memory) throw new SessionError("SESSION_MEMORY_DISABLED");
  if (options.searchableMemory !== false) return memory;
  throw new SessionError("SESSION_MEMORY_DISABLED", {
    detail: "Memory is kept, but not searched.",
    hint: "Leave `searchableMemory` out; for a command, set enabled = true under [search].",
  });
}

/** The warnings of work in the background. All services that warn share them: one store may be open several times. */
export function outagesOf({
  onBackgroundError,
}: Pick<ServiceOptions, "onBackgroundError">): Outages {
  return onBackgroundError ? new Outages((error) => onBackgroundError(error)) : warnedOutages;
}

/** How a service learns, and where it keeps what it has learned; `undefined` when it does not learn. */
export function learningOf(
  options: Pick<ServiceOptions, "memory" | "stores" | "knowledge">,
): (KnowledgeOptions & { readonly store: KnowledgeStore }) | undefined {
  const { knowledge, stores } = options;
  if (knowledge === false || (knowledge === undefined && !memoryOf(options))) return undefined;
  const store = knowledge?.store ?? stores?.knowledge;
  if (store) return { ...knowledge, store };
  if (knowledge === undefined) return undefined;
  throw new SessionError("INVALID_PARAMS", {
    message: "`knowledge` needs a store.",
    hint: "Pass `stores`, or `knowledge: { store: new EphemeralKnowledgeStore() }`.",
  });
}

/** The stores of a service, with all that it needs. */
export interface SessionStores extends ServiceStores {
  readonly approvals: ApprovalStore;
  forUser?(user: string): SessionStores;
}

/** Imports a stream into stores. The wiring passes it, because sessions know no formats of transcripts. */
export type Importer = (work: {
  readonly stores: Pick<Stores, "events" | "sessions"> & {
    readonly imports: ImportStore;
    readonly forgotten?: ForgottenTexts;
  };
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly name?: string;
  /** The `provider/model` of imported sessions that go on here. */
  readonly model: string;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}) => Promise<ImportReport>;

/** The options of a service, once its stores are known. */
export interface SessionOptions extends ServiceOptions {
  readonly stores: SessionStores;
  /** Made of the option `traces`. The wiring passes it: sessions do not know OpenTelemetry. */
  readonly tracer?: Traces;
  /** Whether the stores outlive the process, which is the capability `session-store`. */
  readonly persistent: boolean;
  readonly importer?: Importer;
}

/**
 * The options of the service of one user: the user's own stores replace those of `options`. Sessions
 * of users are not written as files.
 *
 * @throws SessionError `SESSION_USERS_DISABLED` when a store cannot be replaced
 */
export function optionsForUser(options: SessionOptions, user: string): SessionOptions {
  const { stores, memory, knowledge, sessionFiles: _, ...rest } = options;
  const own = stores.forUser?.(user);
  if (!own) throw new SessionError("SESSION_USERS_DISABLED");
  const { store, ...learning } = knowledge || {};
  requireReplaced("memory", memory || stores.memory, stores, own);
  requireReplaced("knowledge", store ?? stores.knowledge, stores, own);
  return {
    ...rest,
    stores: {
      events: own.events,
      sessions: own.sessions,
      approvals: own.approvals,
      ...(stores.memory ? given({ memory: own.memory }) : {}),
      ...(stores.knowledge ? given({ knowledge: own.knowledge }) : {}),
      ...given({ trash: own.trash, forgotten: own.forgotten, imports: own.imports }),
      ...given({ notCleaned: own.notCleaned }),
    },
    ...(memory === false ? { memory } : {}),
    ...(knowledge === undefined ? {} : { knowledge: knowledge && learning }),
  };
}

/** @throws SessionError `SESSION_USERS_DISABLED` when users would share the store. */
function requireReplaced(
  name: "memory" | "knowledge",
  store: object | undefined,
  stores: ServiceStores,
  own: ServiceStores,
): void {
  if (store === undefined || (store === stores[name] && own[name] !== undefined)) return;
  const detail = `Its ${name} is not one of \`stores\`.`;
  throw new SessionError("SESSION_USERS_DISABLED", { detail });
}
