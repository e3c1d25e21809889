import type { MemoryStore } from "../../core/memory-store.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { Replay } from "../../replay/replay.ts";
import type { Terminal } from "./terminal.ts";
import type { Workspace } from "./workspace.ts";

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
  openService(workspace: Workspace, access: StoreAccess): Promise<Opened<SessionService>>;
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
}

/**
 * Whether a store is made where there is none; who only reads finds it empty,
 * and leaves no trace. `serve` makes one too, and asks it on a thread of its
 * own, so that who waits for one answer does not hold up the others.
 */
export type StoreAccess = "existing" | "create" | "serve";

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
