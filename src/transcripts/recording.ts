import type { Origin } from "../core/event.ts";
import type { Message } from "../core/message.ts";

/** A recorded conversation. */
export interface Recording {
  /** The name of the file, without its folder. */
  readonly name: string;
  readonly messages: readonly RecordedMessage[];
}

/**
 * A message of a recording. Recordings break rules that sessions keep: a result may
 * have no call, come late or never, and ids may be missing or used twice.
 */
export interface RecordedMessage {
  readonly message: Message;
  readonly origin?: Origin;
  /** The tool that a result names. */
  readonly toolName?: string;
  /** The program's window was cleared or compacted here. A compaction's message is its summary. */
  readonly boundary?: "compaction" | "clear";
}

/** A file format of conversations, one JSON object a line. */
export interface TranscriptFormat {
  /** Whether a file that starts with this object has this format. */
  recognises(first: Readonly<Record<string, unknown>>): boolean;
  /** Returns a function that takes the lines in order. It throws for a bad line. */
  reader(): (line: unknown) => RecordedMessage | undefined;
}
