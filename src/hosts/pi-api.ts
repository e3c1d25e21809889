/** The fields of pi's messages that are read here. */
export interface PiMessage {
  readonly role: string;
  readonly [field: string]: unknown;
}

export type PiEvent =
  | "before_agent_start"
  | "context"
  | "context_with_system"
  | "before_provider_request"
  | "session_before_compact"
  | "session_compact"
  | "session_compact_failed"
  | "agent_settled"
  | "session_shutdown";

/** The part of pi's extension API that is used here. */
export interface PiApi {
  on(event: PiEvent, handler: (event: never, context: never) => unknown): unknown;
  registerTool(tool: never): void;
  /** Stores something in the session that no model is sent. */
  appendEntry(customType: string, data: unknown): void;
}

export interface PiModel {
  readonly provider: string;
  readonly id: string;
  /** US dollars for a million tokens; 0 when pi knows no price. */
  readonly cost: {
    readonly input: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
  readonly contextWindow: number;
}

export interface PiAnswer {
  readonly content: unknown;
  readonly stopReason: string;
  readonly errorMessage?: string;
  readonly usage: PiUsage;
}

/** Token counts and costs, by name. */
export interface PiUsage {
  readonly [name: string]: number | PiUsage | undefined;
}

export interface PiContext {
  readonly cwd: string;
  readonly model: PiModel | undefined;
  readonly modelRegistry: {
    complete(model: PiModel, context: object, options: object): Promise<PiAnswer>;
  };
  /** pi's count of what the next request has so far; without tokens right after a compaction. */
  getContextUsage?(): { readonly tokens: number | null } | undefined;
  readonly ui: { notify(text: string, kind: "warning"): void };
  readonly sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    /** The entries of the conversation, oldest first. */
    getBranch(): readonly PiEntry[];
  };
}

export interface PiEntry {
  readonly type: string;
  readonly id: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly message?: PiMessage;
  readonly content?: unknown;
  readonly firstKeptEntryId?: string;
  readonly customType?: string;
  readonly data?: unknown;
}
