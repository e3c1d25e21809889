/** Where each token of a session's context window goes. All but the usage are estimates. */
export interface ContextView {
  readonly sessionId: string;
  readonly model: string;
  /** Tokens that the model takes; null when that is not known. */
  readonly contextWindow: number | null;
  /** Tokens at which the history is compacted; null where it is not. */
  readonly threshold: number | null;
  /** In the order in which the model is sent them. */
  readonly parts: readonly ContextPart[];
  /** What the parts sum up to. */
  readonly usedTokens: number;
  /** What is left of the window, or of the threshold where no window is known; null where neither is. */
  readonly freeTokens: number | null;
  /** Input tokens of the last model call as its provider counted them; 0 before the first and after a compaction. */
  readonly lastInputTokens: number;
  /** When the next compaction comes; null where there are none. */
  readonly compaction: NextCompaction | null;
}

export interface ContextPart {
  readonly name: ContextPartName;
  readonly tokens: number;
  readonly messages: number;
}

export const CONTEXT_PARTS = [
  "tool_definitions",
  "system_prompt",
  "knowledge",
  "summary",
  "pins",
  "turns",
  "task_record",
] as const;

export type ContextPartName = (typeof CONTEXT_PARTS)[number];

export interface NextCompaction {
  /** Whether the next model call is preceded by one. */
  readonly due: boolean;
  /** Tokens until then; 0 when that many are there. */
  readonly tokensLeft: number;
  /** Messages until then; null where only tokens count. */
  readonly messagesLeft: number | null;
  /** Model calls that have to pass before, however full the window is. */
  readonly callsLeft: number;
}
