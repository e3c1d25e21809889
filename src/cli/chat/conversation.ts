import type { Workspace } from "../../config/workspace.ts";
import type { EventEnvelope } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { Style } from "../render/style.ts";
import type { Output, Terminal } from "../terminal/terminal.ts";

/** One input of the user at the prompt. */
export type Typed =
  | { readonly type: "text"; readonly text: string }
  /** Ctrl-C while nothing is typed. */
  | { readonly type: "interrupt" }
  /** The signal of the question aborted. */
  | { readonly type: "aborted" }
  /** Ctrl-D, or the end of piped input. */
  | { readonly type: "end" };

/** Something that the user has to answer before anything else. */
export interface Question {
  readonly text: string;
  readonly signal?: AbortSignal;
}

/** The input and output of a chat: a terminal, or a pipe. */
export interface ChatScreen {
  /** Reads the next text. What was typed before a question is no answer to it. */
  read(question?: Question): Promise<Typed>;
  /** Shows the answer of a command. */
  say(text: string): Promise<void>;
  /** Shows an earlier answer of a model. */
  answer(text: string): Promise<void>;
  /** Shows a remark. */
  note(text: string): Promise<void>;
  /** Takes what others would write to standard error. */
  readonly stderr: Output;
  /** Shows what takes long, until it is called without a text. */
  working(text?: string): void;
  /** Shows a turn as it runs. */
  turn(options: TurnOptions): TurnDisplay;
  /** Shows the model's name and the fill level of the history. */
  status(status: ChatStatus): void;
  close(): void;
}

export interface TurnOptions {
  /** Whether the answer is shown as it arrives. */
  readonly stream: boolean;
  readonly verbose: boolean;
}

export interface TurnDisplay {
  onEvent(event: EventEnvelope): void;
  /** The turn has ended, or asks something. */
  end(): void;
  /** Shows the answer, unless it was shown as it arrived. */
  finish(text: string): Promise<void>;
}

export interface ChatStatus {
  readonly model: string;
  readonly sessionId?: string;
  /** Tokens of the history, and how many trigger a compaction or fill the window. */
  readonly usedTokens?: number;
  readonly tokensMax?: number;
  readonly compacts?: boolean;
}

/** The part of a chat that slash commands use and change. `Chat` is the one implementation. */
export interface Conversation {
  readonly service: SessionService;
  readonly workspace: Workspace;
  readonly terminal: Terminal;
  readonly screen: ChatScreen;
  readonly style: Style;
  /** The command line that calls rkat again, with its flags. */
  readonly rkat: string;
  /** The current session; undefined before the first prompt. */
  sessionId: string | undefined;
  /** The model of the next turns; undefined for the session's own. */
  readonly model: string | undefined;
  /** Changes the model of the next turns. @throws SessionError when its provider is unknown. */
  useModel(name: string): Promise<void>;
  /** @throws SessionError `INVALID_PARAMS` before the first prompt. */
  requireSession(): string;
  /** Continues an earlier session, and a tool call in it that waits for approval. */
  resume(sessionId: string): Promise<void>;
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
  /** The values that Tab offers for its argument. */
  complete?(chat: Conversation): Promise<readonly string[]>;
}

/** The completions that Tab offers for a line. */
export interface Completion {
  readonly options: readonly { readonly value: string; readonly does?: string }[];
  /** The end of the line, which an option replaces. */
  readonly replaced: string;
}
