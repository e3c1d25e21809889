import type { CarriedSession } from "../../coding-agents/carry-over.ts";
import type { PROJECT_TOOLS, SearchScope } from "../../config/settings.ts";
import type { Workspace } from "../../config/workspace.ts";
import type { Approve } from "../../core/approval.ts";
import type { SessionError } from "../../core/errors.ts";
import type { KnowledgeEntry } from "../../core/knowledge.ts";
import type { MemoryStore } from "../../core/memory-store.ts";
import type { Message } from "../../core/message.ts";
import type { ImportReport, MemoryOperations, SessionService } from "../../core/session-service.ts";
import type { FoundTranscripts } from "../../import/find-transcripts.ts";
import type { ImportOptions } from "../../import/import-files.ts";
import type { AddedTo } from "../../import/import-report.ts";
import type { MoveOptions, MoveReport } from "../../moving/move-stores.ts";
import type { Replay } from "../../replay/replay.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** What every command is given. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly version: string;
  readonly engine: Engine;
  /** A command that did its work but found a problem sets this. */
  exitCode: number;
  /** What the command failed with. */
  failure?: SessionError;
  /** The program's own file, for a command line that has to work everywhere. */
  readonly program: string;
  /** How to call rkat again: `rkat`, with the `--dir` and `--user` of this command line. */
  rkat: string;
}

/** A check and its outcome. Only `wrong` makes `rkat doctor` fail. */
export interface Finding {
  readonly name: string;
  readonly state: "good" | "note" | "wrong";
  readonly detail: string;
}

/** What commands can open. Everything is loaded lazily, when a command asks for it. */
export interface Engine {
  /** Opens the service of a project. Without `asking`, the settings say how long calls wait for approval. */
  openService(workspace: Workspace, access: StoreAccess, asking?: Asking): Promise<OpenedService>;
  /** Opens the memory of a project without loading the agent. */
  openMemory(workspace: Workspace, access: StoreAccess): Promise<Opened<MemoryOperations>>;
  /** Like `openService`, and what it searches and lists is of the scope. */
  openServiceOf(
    scope: SearchScope,
    workspace: Workspace,
    access: StoreAccess,
  ): Promise<Opened<SessionService>>;
  /** Like `openMemory`, and what it searches is of the scope. */
  openMemoryOf(scope: SearchScope, workspace: Workspace): Promise<Opened<MemoryOperations>>;
  /**
   * The rules of a project as they are stored, without loading the agent, and the sessions that were held in `folder`.
   * Undefined when the log has something that could change the rules: then the service makes them.
   */
  readRules(workspace: Workspace, folder: string): Promise<StoredRules | undefined>;
  /**
   * The task record of a session, and the beginning and the end of its history, without loading the
   * agent. Undefined when there is no such session.
   */
  readLatest(workspace: Workspace, sessionId: string): Promise<CarriedSession | undefined>;
  /** Adds notes to a session's task record without loading the agent. False when only the service can do it. */
  noteTask(
    workspace: Workspace,
    sessionId: string,
    notes: Readonly<Record<string, string>>,
  ): Promise<boolean>;
  /** The messages with a marker in the place of each text that was forgotten in this store. */
  withoutForgotten(
    workspace: Workspace,
    sessionId: string,
    messages: readonly Message[],
  ): Promise<readonly Message[]>;
  /**
   * Opens a service over the project's stores in which a recording gives the
   * answers. `summarizer` names the model that writes summaries. A trial stores nothing.
   */
  openReplay(
    workspace: Workspace,
    recorded: Pick<Replay, "model" | "tools">,
    options: { readonly summarizer?: string; readonly isTrial?: boolean },
  ): Promise<Opened<{ readonly service: SessionService; readonly memory?: MemoryStore }>>;
  /**
   * Opens the import of other agents' conversations. A trial stores nothing. Each session goes to the
   * store of its own project, or to the user-wide one; if the workspace was chosen, to that store.
   */
  openImport(
    workspace: Workspace,
    options: { readonly isTrial: boolean; readonly isChosen: boolean },
  ): Promise<Opened<Importer>>;
  /**
   * Writes the files of all sessions again from their logs. Returns the folder and the number of sessions.
   *
   * @throws SessionError `SESSION_PERSISTENCE_DISABLED`
   */
  projectSessions(
    workspace: Workspace,
  ): Promise<{ readonly folder: string; readonly sessions: number }>;
  /**
   * Copies everything of a store, by default the project's, into another one. A store is an address of
   * PostgreSQL or a SQLite file.
   */
  move(
    workspace: Workspace,
    options: MoveOptions & { readonly to: string; readonly from?: string },
  ): Promise<MoveReport>;
  /** The version of SQLite, and what is wrong with it. */
  examineSqlite(): Promise<{ readonly version: string; readonly problem?: string }>;
  /** The problems of a store's file; empty when it is sound. */
  examineStore(file: string): Promise<readonly string[]>;
  /** What is good and wrong about a database, at this address. */
  examineServer(workspace: Workspace, address: string): Promise<readonly Finding[]>;
  providers(workspace: Workspace): Promise<readonly ProviderState[]>;
  /** @throws SessionError `INVALID_PARAMS` or `MODEL_UNAVAILABLE` when the name of a model names no known provider. */
  requireKnownProvider(workspace: Workspace, model: string): Promise<void>;
  /** Whether the memory store of the settings has what it needs; undefined when memory is off. */
  examineMemory(
    workspace: Workspace,
  ): Promise<{ readonly store: string } | { readonly problem: string } | undefined>;
  /** Tries the embedder of the settings; undefined when they name none. */
  examineEmbedder(
    workspace: Workspace,
  ): Promise<{ readonly id: string } | { readonly problem: string } | undefined>;
}

export interface StoredRules {
  readonly rules: readonly KnowledgeEntry[];
  readonly sessions: readonly string[];
}

/** Imports conversations of other agents. */
export interface Importer {
  /** A sentence that says where sessions go. */
  readonly destination: string;
  find(source: Pick<ImportOptions, "agent" | "path">): readonly FoundTranscripts[];
  run(
    options: Omit<
      ImportOptions,
      "formats" | "machine" | "model" | "sinceMs" | "onStored" | "places"
    > & {
      readonly since?: string;
    },
  ): Promise<{
    readonly report: ImportReport;
    /** What each store got. */
    readonly added: readonly (AddedTo & { readonly place: string })[];
  }>;
}

/**
 * How a command uses the store of a project:
 *
 *     existing   reads; a missing store is empty, and is not created
 *     create     creates a missing store
 *     serve      creates it too, and queries it on a worker thread, so that one
 *                slow query does not block the other clients
 */
export type StoreAccess = "existing" | "create" | "serve";

/** Who approves the tool calls of a turn, and what its model can do in the project's folder. */
export interface Asking {
  readonly approve?: Approve;
  /** How long a turn waits for an answer. Default: as the settings say. */
  readonly timeoutMs?: number;
  /** The tools for the project's folder. Default: none, so that a server gives none to its clients. */
  readonly tools?: (typeof PROJECT_TOOLS)[number];
  /** Tools whose calls need no approval. */
  readonly allow?: readonly string[];
}

export interface OpenedService extends Opened<SessionService> {
  /** Which tools for the project's folder there are, for the user; undefined where none were asked for. */
  readonly toolsNote: string | undefined;
}

export interface Opened<Value> {
  readonly value: Value;
  close(): Promise<void>;
}

/** A provider of models, and what it lacks to be used. */
interface ProviderState {
  readonly name: string;
  readonly package: string;
  readonly installed: boolean;
  /** The variable that holds its key. Left out where no key is needed. */
  readonly keyVariable?: string;
  readonly hasKey: boolean;
}
