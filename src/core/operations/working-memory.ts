import { z } from "zod";
import { TASK_LIMITS, type TaskView } from "../task.ts";
import type { Operation } from "./operation.ts";
import {
  count,
  eitherOf,
  positive,
  type Result,
  type SessionRequest,
  sessionId,
  sessionRequest,
  shape,
} from "./request-fields.ts";

const { goalCharacters, subTaskCharacters, noteNameCharacters, noteCharacters, fileCharacters } =
  TASK_LIMITS;

const goal = z.string().max(goalCharacters);

const subTasks = z
  .array(z.string().min(1).max(subTaskCharacters))
  .max(TASK_LIMITS.subTasks)
  .optional();

const subTaskNumbers = z.array(positive).max(TASK_LIMITS.subTasks).optional();

const files = z.array(z.string().min(1).max(fileCharacters)).max(TASK_LIMITS.files).optional();

/** The fields of `TaskChange`. */
export const taskChange = {
  /** Clears the record and sets the goal of a new task; empty for no goal. */
  newTask: goal.optional(),
  goal: goal.optional(),
  add: subTasks,
  done: subTaskNumbers,
  reopen: subTaskNumbers,
  drop: subTaskNumbers,
  /** Notes by name. An empty text removes the note. */
  notes: z
    .record(z.string().min(1).max(noteNameCharacters), z.string().max(noteCharacters))
    .optional(),
  openFiles: files,
  closeFiles: files,
};

/** Without a change it returns the record. */
export const updateTask = z.strictObject({ sessionId, ...taskChange });

/** A message of the history, by its id or by its position from 0. */
export const messageRequest = eitherOf(
  ["message", "position"],
  z.strictObject({
    sessionId,
    message: positive.optional(),
    position: z.int().min(0).optional(),
  }),
);

export type UpdateTask = z.infer<typeof updateTask>;

export type MessageRequest = z.infer<typeof messageRequest>;

/** The pinned messages of a session, and how many tokens they may take. */
export interface Pins {
  /** In the order of the history. */
  readonly pins: readonly PinnedMessage[];
  /** Estimated tokens of pinned messages with their tool calls and results. */
  readonly tokens: number;
  readonly tokensMax: number;
  /** Messages that had left the window and are shown again, if there are any. Pinned ones are unpinned like others. */
  readonly broughtBack?: readonly ShownAgain[];
}

export interface ShownAgain {
  readonly message: number;
  /** Without it, the next compaction takes it away. */
  readonly pinned: boolean;
}

export interface PinnedMessage {
  /** Its message id. */
  readonly message: number;
  /** Its place in the history now, from 0. */
  readonly position: number;
  readonly role: "user" | "assistant" | "tool";
  /** The start of its text. */
  readonly text: string;
}

/** The parts of a session's context window. All numbers except `lastInputTokens` are estimates. */
export interface ContextView {
  readonly sessionId: string;
  readonly model: string;
  /** The model's context window in tokens; null when unknown. */
  readonly contextWindow: number | null;
  /** Tokens that trigger a compaction; null without compaction. */
  readonly threshold: number | null;
  /** In the order of the request. */
  readonly parts: readonly ContextPart[];
  /** The sum of the parts. */
  readonly usedTokens: number;
  /** Free tokens in the window, or up to the threshold when the window is unknown; null without both. */
  readonly freeTokens: number | null;
  /** Input tokens of the last model call, as the provider counted; 0 before the first and after a compaction. */
  readonly lastInputTokens: number;
  /** When the next compaction comes; null without compaction. */
  readonly compaction: NextCompaction | null;
  /** The records that came back from memory by themselves and are still sent, in the order of the request. */
  readonly recalled: readonly RecalledBefore[];
}

/** Records that the model is sent before a prompt. */
export interface RecalledBefore {
  /** Id of the prompt. */
  readonly message: number;
  /** The `memory_recalled` that has them; in a fork, the `history_inherited` that it began with. */
  readonly event: number;
  /** The score that the best of them had to reach; null in the log of an earlier version, and where a fork began with them. */
  readonly bar: number | null;
  readonly records: readonly RecalledText[];
}

export interface RecalledText {
  /** Id of the entry in memory. */
  readonly id: string;
  /** The session that said it; null for this one. */
  readonly session: string | null;
  readonly saidBy: string;
  readonly time: string | null;
  /** How sure memory was of it, or of the record that it stands beside; null where a fork began with it. */
  readonly score: number | null;
  readonly text: string;
}

export interface NextCompaction {
  /** Whether it comes before the next model call. */
  readonly due: boolean;
  /** Tokens until then; 0 when the threshold is reached. */
  readonly tokensLeft: number;
  /** Messages until then; null when only tokens count. */
  readonly messagesLeft: number | null;
  /** Model calls that must come first, however full the window is. */
  readonly callsLeft: number;
}

export const taskFields = {
  goal: z.string(),
  subTasks: z.array(z.object({ id: count, text: z.string(), done: z.boolean() })),
  scratchpad: z.record(z.string(), z.string()),
  activeFiles: z.array(z.string()),
};

export const taskView = shape<TaskView>()(taskFields);

export const pins = shape<Pins>()({
  pins: z.array(
    z.object({
      message: count,
      position: count,
      role: z.enum(["user", "assistant", "tool"]),
      text: z.string(),
    }),
  ),
  tokens: count,
  tokensMax: count,
  broughtBack: z.array(z.object({ message: count, pinned: z.boolean() })).optional(),
});

const contextPartName = z.enum([
  "tool_definitions",
  "system_prompt",
  "knowledge",
  "summary",
  "pins",
  "turns",
  "task_record",
  "recalled",
  "brought_back",
]);

export type ContextPartName = z.infer<typeof contextPartName>;

const contextPart = z.object({ name: contextPartName, tokens: count, messages: count });

export type ContextPart = Result<typeof contextPart>;

export const contextView = shape<ContextView>()({
  sessionId: z.string(),
  model: z.string(),
  contextWindow: count.nullable(),
  threshold: count.nullable(),
  parts: z.array(contextPart),
  usedTokens: count,
  freeTokens: count.nullable(),
  lastInputTokens: count,
  compaction: z
    .object({
      due: z.boolean(),
      tokensLeft: count,
      messagesLeft: count.nullable(),
      callsLeft: count,
    })
    .nullable(),
  recalled: z.array(
    z.object({
      message: count,
      event: count,
      bar: z.number().nullable(),
      records: z.array(
        z.object({
          id: z.string(),
          session: z.string().nullable(),
          saidBy: z.string(),
          time: z.string().nullable(),
          score: z.number().nullable(),
          text: z.string(),
        }),
      ),
    }),
  ),
});

/** A session's task record and pins, and what fills its context window. */
export interface WorkingMemoryOperations {
  /** Changes the session's task record. No compaction touches it. */
  updateTask(request: UpdateTask): Promise<TaskView>;
  /**
   * Keeps a message in the history through every compaction, with its tool calls and results.
   * `PIN_BUDGET_EXCEEDED` when the pins would take too many tokens.
   */
  pin(request: MessageRequest): Promise<Pins>;
  unpin(request: MessageRequest): Promise<Pins>;
  pins(request: SessionRequest): Promise<Pins>;
  /** The parts of the context window, and when the next compaction comes. */
  context(request: SessionRequest): Promise<ContextView>;
}

export const WORKING_MEMORY_OPERATIONS = {
  updateTask: {
    description:
      "Change a session's task record: goal, sub-tasks, notes, active files. No compaction changes it.",
    request: updateTask,
    result: taskView,
    rpc: "session/task",
    http: { method: "POST", path: "/sessions/{session_id}/task" },
    tool: "session_task",
    toolText:
      "Change and return a session's task record: goal, sub-tasks, notes, active files. The session's model sees it, and no compaction changes it. With only a session_id it changes nothing.",
    command: "sessions task",
    effect: "adds",
  },
  pin: {
    description:
      "Pin a message, with the tool calls and results that belong to it. No compaction removes it.",
    request: messageRequest,
    result: pins,
    rpc: "session/pin",
    http: { method: "POST", path: "/sessions/{session_id}/pins" },
    tool: "session_pin",
    toolText:
      "Pin a message of a session's history, so that no compaction removes it. Name it by its position, counted from 0 as in session_read, or by its id. Fails with PIN_BUDGET_EXCEEDED when the pins would take too many tokens.",
    command: "sessions pin",
    effect: "adds",
  },
  unpin: {
    description: "Unpin a message. The next compaction may remove it.",
    request: messageRequest,
    result: pins,
    rpc: "session/unpin",
    http: { method: "POST", path: "/sessions/{session_id}/unpin" },
    tool: "session_unpin",
    toolText: "Unpin a message of a session's history. The next compaction may remove it.",
    command: "sessions unpin",
    effect: "adds",
  },
  pins: {
    description: "List a session's pinned messages and their tokens.",
    request: sessionRequest,
    result: pins,
    rpc: "session/pins",
    http: { method: "GET", path: "/sessions/{session_id}/pins" },
    tool: "session_pins",
    toolText: "List the pinned messages of a session, with their tokens and the limit.",
    command: "sessions pins",
    effect: "reads",
  },
  context: {
    description: "Show what fills a session's context window, and when the next compaction comes.",
    request: sessionRequest,
    result: contextView,
    rpc: "session/context",
    http: { method: "GET", path: "/sessions/{session_id}/context" },
    tool: "session_context",
    toolText:
      "Show what fills a session's context window (tool definitions, system prompt, summary, pins, turns, task record), and when the next compaction comes.",
    command: "sessions context",
    effect: "reads",
  },
} as const satisfies Record<keyof WorkingMemoryOperations, Operation>;
