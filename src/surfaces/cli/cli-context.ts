import type { Workspace } from "../../config/workspace.ts";
import type { Approve } from "../../core/approval.ts";
import type { MemoryStore } from "../../core/memory-store.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { Replay } from "../../replay/replay.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** What commands are given to work with. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly version: string;
  readonly engine: Engine;
  /** Set by a command that did its work and found something wrong. */
  exitCode: number;
}

/** What lies behind the commands. Each opens only when a command asks for it. */
export interface Engine {
  /** Without `asking`, calls that need somebody's word wait for it as the settings say. */
  openService(
    workspace: Workspace,
    access: StoreAccess,
    asking?: Asking,
  ): Promise<Opened<SessionService>>;
  /**
   * The memory, with what the log says and memory has yet to hear.
   *
   * @throws SessionError `SESSION_MEMORY_DISABLED` when the settings switch it off.
   */
  openMemory(workspace: Workspace, access: StoreAccess): Promise<Opened<MemoryStore>>;
  /**
   * A service in which a recording answers, on the project's stores. `summarizer`
   * names the model that writes summaries; without it, no model does.
   */
  openReplay(
    workspace: Workspace,
    recorded: Pick<Replay, "model" | "tools">,
    options: { readonly summarizer?: string },
  ): Promise<Opened<{ readonly service: SessionService; readonly memory?: MemoryStore }>>;
  /** The SQLite library's version, and what is wrong with it. */
  examineSqlite(): Promise<{ readonly version: string; readonly problem?: string }>;
  /** What is wrong with the file of a store; nothing when the list is empty. */
  examineStore(file: string): Promise<readonly string[]>;
  providers(workspace: Workspace): Promise<readonly ProviderState[]>;
  /** The embedder that the settings name, or why it cannot be used; nothing when they name none. */
  examineEmbedder(
    workspace: Workspace,
  ): Promise<{ readonly id: string } | { readonly problem: string } | undefined>;
}

/**
 * Whether a store is made where there is none; who only reads finds it empty,
 * and leaves no trace. `serve` makes one too, and asks it on a thread of its
 * own, so that who waits for one answer does not hold up the others.
 */
export type StoreAccess = "existing" | "create" | "serve";

/** Whom a turn asks before a tool runs that needs somebody's word. */
export interface Asking {
  readonly approve?: Approve;
  /** How long a turn waits for an answer, whoever gives it; the settings' time when it is not given. */
  readonly timeoutMs?: number;
}

interface Opened<Thing> {
  readonly it: Thing;
  close(): Promise<void>;
}

/** A provider of models, and whether it could be used here and now. */
export interface ProviderState {
  readonly name: string;
  readonly package: string;
  readonly installed: boolean;
  /** The variable that holds its key; left out where none is needed. */
  readonly keyVariable?: string;
  readonly hasKey: boolean;
}
