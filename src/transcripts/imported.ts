import type { Origin } from "../core/event.ts";
import { isObject } from "../core/fields.ts";
import type { Message } from "../core/message.ts";
import { type FoundFile, isYoung } from "./found-file.ts";
import { parsedJson, timeOf } from "./json-fields.ts";

/** The programs whose conversations can be imported. */
export const AGENTS = [
  "claude-code",
  "codex",
  "gemini",
  "opencode",
  "pi",
  "cursor",
  "copilot",
  "copilot-chat",
  "cline",
  "roo",
  "kilo",
  "qwen",
  "openhands",
  "goose",
  "continue",
  "zed",
  "aider",
  "swe-agent",
  "atif",
  "specstory",
  "chatgpt",
  "claude-ai",
  "ai-sdk",
  "openai-agents",
  "chat",
  "rkat",
] as const;

export type AgentName = (typeof AGENTS)[number];

/** A conversation of another program. */
export interface ImportedSession {
  /** The same each time that it is read: `claude-code:<native id>`. */
  readonly id: string;
  readonly agent: AgentName;
  /** The id that its own program knows it by. */
  readonly nativeId: string;
  /** The session that it was made from, by its `id`. */
  readonly parent?: {
    readonly id: string;
    readonly relation: "fork" | "subagent" | "continuation";
  };
  readonly title?: string;
  /** The folder that its program worked in. It is only a name: nothing in it is read. */
  readonly project?: string;
  readonly branch?: string;
  readonly model?: string;
  /** ISO 8601. */
  readonly startedAt?: string;
  /** When something was last said, ISO 8601. Default: when the file was last changed. */
  readonly updatedAt?: string;
  /** Only the part after an earlier reading's `readOn` is read. */
  readonly isRest?: true;
  /** Its program's own transcript of the same, by the id of that session. It takes the place of this one, which may lack a lot. */
  readonly excerptOf?: string;
  /** The id of the same session in earlier versions, which took it for another agent's. */
  readonly formerId?: string;
  /** The events are read once, in order. The next session is asked for after they were read, or left. */
  readonly messages: AsyncIterable<ImportedMessage>;
}

/** A session as its program printed it. No id in it is one of the program's own transcript, which can be stored whole beside it. */
export function printedOf({ messages, ...session }: ImportedSession): ImportedSession {
  const printed = async function* (): AsyncGenerator<ImportedMessage> {
    for await (const { alias: _, ...message } of messages) {
      yield { ...message, sourceId: `printed:${message.sourceId}` };
    }
  };
  const { id } = session;
  return { ...session, id: printedId(id), excerptOf: id, messages: printed() };
}

/** The id of what was printed of a session. */
export function printedId(id: string): string {
  return `${id}:printed`;
}

/** A message, or a part of one, of another program. */
export interface ImportedMessage {
  /**
   * The same each time that it is read, and in each file that repeats it, so that importing it twice
   * adds nothing.
   */
  readonly sourceId: string;
  /** Another id of the same message, for copies that got new ids. Knowing one of the two is enough. */
  readonly alias?: string;
  /**
   * Neighbours of one role with the same group are parts of one message: the blocks of an answer,
   * the results of its calls. A part that was imported before is left out of it.
   */
  readonly group?: string;
  /** The first block is the rest of the last one of the part before. */
  readonly continues?: true;
  readonly message: Message;
  /** The author is `user` only for typed text, and `program` for injected text. */
  readonly origin: Origin;
  /** The program's window was cleared or compacted here. */
  readonly boundary?: "compaction" | "clear";
  /** Not for memory: summaries, thinking, injected texts. */
  readonly memory?: false;
  /** Its line in the file. */
  readonly line?: number;
}

/** The notes of a reader about a file. */
export interface ImportNotes {
  /** Counts something that cannot be read, with the reason as a clause: "it is not JSON". */
  skip(file: FoundFile, line: number | undefined, reason: string): void;
  /** Counts a type of record that the reader does not know. */
  unknown(type: string): void;
  /** Counts messages that are not on the branch that is the conversation. */
  otherBranch(messages: number): void;
  /** The last line is still being written. The next import reads it. */
  unfinished(file: FoundFile): void;
  /**
   * The place where the next import can begin when the file has grown, reported before the messages are read. That import gives
   * it back, if the bytes before `offset` are the same.
   */
  readOn(file: FoundFile, from: ReadOn): void;
}

/** A place in a file from which on it may change. All before it was read. */
export interface ReadOn {
  /** The start of its line, and the number of that line. */
  readonly offset: number;
  readonly line: number;
  /** The reader's state after the lines before, as JSON. */
  readonly state?: unknown;
  /** The file is to be read again also if it stays as it is: its end was left out, because it may still be written. */
  readonly again?: true;
}

/** A program that was killed leaves the end of a session as it was. After so long it is taken as it is. */
export const LIVE_MS = 3_600_000;

/**
 * Whether the end of a session, which began at this time, may still change in place. It is then left to the next import,
 * which reads the file also if that stays as it is: what was imported once stays as it was.
 */
export function isLive(file: FoundFile, since: unknown, notes: ImportNotes): boolean {
  if (!isYoung(file) || !(Date.now() - Date.parse(timeOf(since) ?? "") < LIVE_MS)) return false;
  notes.unfinished(file);
  notes.readOn(file, { offset: 0, line: 0, again: true });
  return true;
}

/** The beginning of a file, by which it is recognised. */
export interface FileHead {
  readonly path: string;
  /** The first line, or the whole file, if it is a JSON object. */
  readonly first: Readonly<Record<string, unknown>> | undefined;
  /** The same, or the first object of the list that the file begins with. */
  readonly listed: Readonly<Record<string, unknown>> | undefined;
  /** The first bytes of the file, up to 64 KB, unpacked when the file is compressed. */
  readonly head: Uint8Array;
}

/** The folders to search on this machine. */
export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's folder. */
  readonly home: string;
}

/**
 * How the transcripts of one agent are found and read.
 *
 * Contract:
 * - Reading twice gives the same messages with the same ids.
 * - A file that is cut anywhere gives the messages of its complete lines.
 * - No bytes make it throw, except that a file cannot be read at all.
 * - A file is read as a stream. A line or a record is held, never the file.
 * - What is not understood is counted, not dropped in silence.
 */
export interface ImportFormat {
  readonly agent: AgentName;
  /** The folders where this agent keeps its transcripts. They need not exist. */
  places(machine: Machine): readonly string[];
  /** Whether a file of such a folder may be a transcript, by its path below the folder, with `/`. */
  mayBe(path: string): boolean;
  recognises(found: FileHead): boolean;
  /** `from` is the `readOn` of an earlier reading of this file, if the file has only grown. */
  read(file: FoundFile, notes: ImportNotes, from?: ReadOn): AsyncIterable<ImportedSession>;
}

/** The messages of a session. The prompts of a subagent are a model's, not a person's. */
export function messagesFor(
  parent: ImportedSession["parent"],
  messages: AsyncIterable<ImportedMessage>,
): AsyncIterable<ImportedMessage> {
  return parent?.relation === "subagent" ? promptsOfModel(messages) : messages;
}

async function* promptsOfModel(
  messages: AsyncIterable<ImportedMessage>,
): AsyncGenerator<ImportedMessage> {
  for await (const message of messages) {
    const { origin } = message;
    const isPrompt = origin.author === "user";
    yield isPrompt ? { ...message, origin: { ...origin, author: "model" } } : message;
  }
}

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

/** Messages of one block. Most transcripts have a record for each block of an answer. */
export function answerText(text: string): Message {
  return {
    role: "block_assistant",
    blocks: [{ block_type: "text", data: { text } }],
    stop_reason: "end_turn",
  };
}

export function answerThinking(text: string): Message {
  return {
    role: "block_assistant",
    blocks: [{ block_type: "reasoning", data: { text } }],
    stop_reason: "end_turn",
  };
}

export function toolCall(id: string, name: string, args: unknown): Message {
  return {
    role: "block_assistant",
    blocks: [{ block_type: "tool_use", data: { id, name, args: toolArguments(args) } }],
    stop_reason: "tool_use",
  };
}

export function toolResult(tool_use_id: string, content: string, is_error = false): Message {
  return { role: "tool_results", results: [{ tool_use_id, content, is_error }] };
}

/** OpenAI's arguments are JSON in a text. The model may have made invalid JSON, which is kept as it is. */
export function toolArguments(args: unknown): unknown {
  if (typeof args !== "string") return args ?? {};
  if (args.trim() === "") return {};
  const value = parsedJson(args);
  return isObject(value) || Array.isArray(value) ? value : { arguments: args };
}

/**
 * Above which entry each entry of a tree hangs. A parent that is nowhere was on a line that was lost, and what stands before
 * it in the file is taken for it.
 */
export function parentsIn(
  entries: readonly { readonly id: string; readonly parent: string | undefined }[],
): ReadonlyMap<string, string | undefined> {
  const ids = new Set(entries.map(({ id }) => id));
  return new Map(
    entries.map(({ id, parent }, index) => {
      const isLost = parent !== undefined && !ids.has(parent);
      return [id, isLost ? (entries[index - 1]?.id ?? parent) : parent];
    }),
  );
}

/**
 * The branch of a tree that ends at `leaf`, from its root: the leaf, its parent, the parent of that, … turned round.
 * A parent that is not there ends it, and so does a circle.
 */
export function branchTo<Id>(leaf: Id, parentOf: (id: Id) => Id | undefined): readonly Id[] {
  const branch = new Set<Id>();
  for (let id: Id | undefined = leaf; id !== undefined && !branch.has(id); id = parentOf(id)) {
    branch.add(id);
  }
  return [...branch].reverse();
}
