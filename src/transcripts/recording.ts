import type { Origin } from "../core/event.ts";
import type { Message } from "../core/message.ts";

/** A conversation as a file tells it: one message for each line that is one. */
export interface Recording {
  /** What the file is called, without its folder. */
  readonly name: string;
  readonly messages: readonly RecordedMessage[];
}

/**
 * A message of a recording. Recordings break rules that sessions keep: results
 * come without a call, or late, or never; ids are used twice or left out.
 */
export interface RecordedMessage {
  readonly message: Message;
  readonly origin?: Origin;
  /** The tool that a result says it comes from. */
  readonly toolName?: string;
}

/** A way to write conversations down, one JSON object a line. */
export interface TranscriptFormat {
  /** Whether a file that begins with this object is written so. */
  recognises(first: Readonly<Record<string, unknown>>): boolean;
  /** Starts reading: what it returns takes one line after the other, and throws for a bad one. */
  reader(): (line: unknown) => RecordedMessage | undefined;
}
