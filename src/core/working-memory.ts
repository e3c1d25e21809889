import { afterResults } from "./brought-back.ts";
import type { GivenInstructions, StoredEvent } from "./event.ts";
import { given } from "./fields.ts";
import type { HistoryEntry } from "./history-entry.ts";
import { jsonText } from "./json-values.ts";
import type { DeniedCall, HeldInstruction, ShownTask } from "./kept-state.ts";
import { isForgotten, type Message, type ToolUse } from "./message.ts";
import { NO_TASK, renderTask, TASK_LIMITS, type TaskRecord, withFiles } from "./task.ts";
import { headWithin, messageWeight, utf8Bytes } from "./tokens.ts";

/** Messages that are remembered as having instructions for which there was no room. */
const LEFT_OUT_MAX = 100;

const ARGS_BYTES_MAX = 200;

/** UTF-8 bytes of all denials together. The oldest are dropped first. */
const DENIED_BYTES_MAX = 4096;

/**
 * What a session keeps besides its messages: the task record, standing instructions, denials and
 * pins. Like the history it is a fold of the log.
 *
 * The model sees the task record as one of the messages. A compaction, or a change by the user, puts
 * it at the end of the history. It stays at that place while the history grows, so each request
 * begins like the one before, and the provider's cache works. The model's own changes are in the
 * results of its calls:
 *
 *     S  C  U A T A T  [record]  A T  A(update_task) T  A …
 *                      └ as of the compaction       └ the record now
 */
export class WorkingMemory {
  task: TaskRecord = NO_TASK;
  shown: ShownTask | undefined;
  /** The newest comes last. */
  denied: readonly DeniedCall[] = [];
  /** The newest comes last. The event of a message says which ones it replaces. */
  instructions: readonly HeldInstruction[] = [];
  /** Ids of messages with instructions for which there was no room. */
  leftOut: readonly number[] = [];
  readonly #pins = new Set<number>();

  /** Ids of pinned messages, ascending. */
  get pins(): readonly number[] {
    return [...this.#pins].sort((a, b) => a - b);
  }

  isPinned(message: number): boolean {
    return this.#pins.has(message);
  }

  /** Takes the next event. `call` is the tool call of the event, `last` the id of the last message. */
  note(
    { seq, event }: Pick<StoredEvent, "seq" | "event">,
    call: ToolUse | undefined,
    last: number,
  ): void {
    switch (event.type) {
      case "run_started":
      case "message_added":
        this.#instruct(seq, event);
        return;
      case "task_updated":
        this.task = { ...this.task, ...event.changed };
        if (event.new_task) this.denied = [];
        if (event.by === "user") this.#show(last);
        return;
      case "tool_execution_completed":
        if (call && !event.is_error) this.#use(filesOfCall(call));
        return;
      case "tool_approval_resolved":
        if (event.decision === "deny" && event.by === "user") {
          this.#deny(event.name, call, event.reason);
        }
        return;
      case "compaction_completed":
      case "tool_output_pruned":
        this.#show(last);
        return;
      case "message_pinned":
        this.#pins.add(event.message);
        return;
      case "message_unpinned":
        this.#pins.delete(event.message);
        return;
      case "history_inherited":
        this.restore(event);
        return;
    }
  }

  #instruct(
    message: number,
    { instructions = [], instructions_left_out = [] }: GivenInstructions,
  ): void {
    const replaced = new Set(instructions.flatMap(({ replaces = [] }) => replaces));
    const noRoom = new Set(instructions_left_out);
    const all = [
      ...this.instructions,
      ...instructions.map(({ id, text, by }) => ({ id, message, text, ...given({ by }) })),
    ];
    const held = all.filter(({ id }) => !replaced.has(id));
    this.instructions = held.filter(({ id }) => !noRoom.has(id));
    const dropped = held
      .filter(({ id }) => noRoom.has(id))
      .map((instruction) => instruction.message);
    this.leftOut = [...new Set([...this.leftOut, ...dropped])].slice(-LEFT_OUT_MAX);
  }

  #use(files: readonly string[]): void {
    if (files.length === 0) return;
    this.task = { ...this.task, active_files: withFiles(this.task.active_files, files) };
  }

  #deny(tool: string, call: ToolUse | undefined, reason = ""): void {
    if (isForgotten(reason)) return;
    const args = headWithin(jsonText(call?.args), ARGS_BYTES_MAX);
    const all = [...this.denied, { tool, args, reason }];
    let bytes = 0;
    const first = all.findLastIndex((denied) => {
      bytes += utf8Bytes(renderDenied(denied));
      return bytes > DENIED_BYTES_MAX;
    });
    this.denied = all.slice(first + 1);
  }

  #show(after: number): void {
    const text = this.#text;
    this.shown = text === "" ? undefined : { after, text };
  }

  /** The record as the model would see it now; empty when there is nothing to show. */
  get #text(): string {
    const standing = this.instructions.map(({ text, by }) => `- ${by ? `${by}: ` : ""}${text}`);
    const denied = this.denied.map(renderDenied);
    return [
      ...(standing.length === 0 ? [] : [STANDING_HEADING, ...standing]),
      renderTask(this.task),
      ...(denied.length === 0 ? [] : ["Denied by the user:", ...denied]),
    ]
      .filter(Boolean)
      .join("\n");
  }

  /** Estimated tokens of the record in each model call, as it is shown now. */
  get shownTokens(): number {
    return tokensOf(this.shown?.text ?? "");
  }

  /** The same after the next compaction. */
  get taskTokens(): number {
    return tokensOf(this.#text);
  }

  snapshot() {
    const { task, denied, instructions, leftOut: instructions_left_out, pins } = this;
    const shown_task = this.shown ?? null;
    return { task, denied, instructions, instructions_left_out, pins, shown_task };
  }

  restore(snapshot: Partial<ReturnType<WorkingMemory["snapshot"]>>): void {
    this.task = snapshot.task ?? NO_TASK;
    this.shown = snapshot.shown_task ?? undefined;
    this.denied = snapshot.denied ?? [];
    this.instructions = snapshot.instructions ?? [];
    this.leftOut = snapshot.instructions_left_out ?? [];
    for (const pin of snapshot.pins ?? []) this.#pins.add(pin);
  }
}

const STANDING_HEADING =
  "Standing instructions of the user, in the user's own words. They hold until the user says otherwise:";

function renderDenied({ tool, args, reason }: DeniedCall): string {
  return `- ${tool} ${args}${reason === "" ? "" : `: ${reason}`}`;
}

function tokensOf(text: string): number {
  return text === "" ? 0 : Math.ceil((messageWeight(taskMessage(text)) + 1) / 4);
}

const TASK_PREFIX =
  "[Task record] What this session keeps of its task, word for word. It is a record and no request; results of update_task that come after it are newer.\n\n";

/** The message that shows the record to the model. It is not a part of the history. */
function taskMessage(text: string): Message {
  return { role: "user", content: TASK_PREFIX + text };
}

/** The messages of a history, with the task record in its place. */
export function withShownTask(
  history: readonly HistoryEntry[],
  messages: readonly Message[],
  shown: ShownTask | undefined,
): readonly Message[] {
  if (!shown) return messages;
  const before = history.findLastIndex(({ id }) => id <= shown.after);
  return messages.toSpliced(afterResults(messages, before), 0, taskMessage(shown.text));
}

/** Names of tool arguments that hold file names. */
const FILE_ARGUMENTS: ReadonlySet<string> = new Set([
  "path",
  "paths",
  "file",
  "files",
  "filename",
  "file_name",
  "filepath",
  "file_path",
  "filePath",
  "fileName",
]);

/** The files that a tool call names in arguments such as `path` or `file`. */
export function filesOfCall({ args }: Pick<ToolUse, "args">): readonly string[] {
  if (typeof args !== "object" || args === null) return [];
  return Object.entries(args).flatMap(([name, value]) =>
    FILE_ARGUMENTS.has(name) ? [value].flat().filter(isFileName) : [],
  );
}

/** One short line with a letter or a digit. `.` is not a file name, and neither is source code. */
function isFileName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.length <= TASK_LIMITS.fileCharacters &&
    /[\p{L}\p{N}]/u.test(value) &&
    !/\p{Cc}/u.test(value)
  );
}
