import type { Workspace } from "../../../config/workspace.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { Style } from "../render/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { LineEditor } from "./line-editor.ts";

/** What a slash command may use and change. `Chat` is the one implementation. */
export interface Conversation {
  readonly service: SessionService;
  readonly workspace: Workspace;
  readonly terminal: Terminal;
  readonly style: Style;
  readonly editor: Pick<LineEditor, "read">;
  /** The current session; undefined before the first prompt. */
  sessionId: string | undefined;
  /** The model of the next turns; undefined for the session's own. */
  model: string | undefined;
  /** @throws SessionError `INVALID_PARAMS` before the first prompt. */
  requireSession(): string;
  /** Continues an earlier session, and a tool call in it that waits for approval. */
  resume(sessionId: string): Promise<void>;
  /** Prints to standard output. */
  say(text: string): Promise<void>;
  /** Prints a remark to standard error. */
  note(text: string): Promise<void>;
  /** Ends the chat. */
  leave(): void;
}

/** A command that is typed with a slash before it. */
export interface SlashCommand {
  readonly name: string;
  /** Its argument, as the help shows it. */
  readonly takes?: string;
  readonly does: string;
  run(chat: Conversation, argument: string): Promise<void>;
  /** What Tab offers for its argument. */
  complete?(chat: Conversation): Promise<readonly string[]>;
}
