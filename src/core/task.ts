import { SessionError } from "./errors.ts";
import { utf8Bytes } from "./tokens.ts";

/**
 * What a session keeps about its task. Compaction never changes it. Like messages it is data, with
 * the same shape in the log and in the code.
 */
export interface TaskRecord {
  readonly goal: string;
  readonly sub_tasks: readonly SubTask[];
  /** Notes by name. */
  readonly scratchpad: Readonly<Record<string, string>>;
  /** The most recently used comes last. */
  readonly active_files: readonly string[];
}

export interface SubTask {
  /** Its number in the record; the first is 1. */
  readonly id: number;
  readonly text: string;
  readonly done: boolean;
}

export const NO_TASK: TaskRecord = { goal: "", sub_tasks: [], scratchpad: {}, active_files: [] };

/** The task record in the results of a service. */
export interface TaskView {
  readonly goal: string;
  readonly subTasks: readonly SubTask[];
  readonly scratchpad: Readonly<Record<string, string>>;
  readonly activeFiles: readonly string[];
}

/** A change to a task record. */
export interface TaskChange {
  /** Clears the record and sets the goal of a new task. */
  readonly newTask?: string;
  readonly goal?: string;
  /** Sub-tasks to add. */
  readonly add?: readonly string[];
  /** Numbers of sub-tasks to mark as done, to reopen, or to drop. */
  readonly done?: readonly number[];
  readonly reopen?: readonly number[];
  readonly drop?: readonly number[];
  /** Notes by name. An empty text removes the note. */
  readonly notes?: Readonly<Record<string, string>>;
  readonly openFiles?: readonly string[];
  readonly closeFiles?: readonly string[];
}

/** Limits of a record. Without them it would become a second history. */
export const TASK_LIMITS = {
  goalCharacters: 2000,
  subTasks: 50,
  subTaskCharacters: 500,
  notes: 50,
  noteNameCharacters: 100,
  noteCharacters: 4000,
  files: 20,
  fileCharacters: 500,
  /** UTF-8 bytes of all file names. */
  filesBytes: 2048,
  /** UTF-8 bytes of the whole record as the model sees it. */
  bytes: 8192,
} as const;

/**
 * The record after a change. Fields that the change does not name stay.
 *
 * @throws SessionError `NOT_POSSIBLE` for an unknown sub-task, or when the record would exceed `bytesMax`.
 */
export function changedTask(
  before: TaskRecord,
  change: TaskChange,
  bytesMax: number = TASK_LIMITS.bytes,
): TaskRecord {
  const task = change.newTask === undefined ? before : { ...NO_TASK, goal: change.newTask };
  const after: TaskRecord = {
    goal: change.goal ?? task.goal,
    sub_tasks: changedSubTasks(task.sub_tasks, change),
    scratchpad: changedNotes(task.scratchpad, change.notes ?? {}),
    active_files: withoutFiles(
      withFiles(task.active_files, change.openFiles ?? []),
      change.closeFiles ?? [],
    ),
  };
  requireRoom(after, before, bytesMax);
  return after;
}

/** The fields in which `after` differs, with their new values. */
export function taskDifference(before: TaskRecord, after: TaskRecord): Partial<TaskRecord> {
  const names = Object.keys(NO_TASK) as (keyof TaskRecord)[];
  const isSame = (name: keyof TaskRecord) =>
    JSON.stringify(before[name]) === JSON.stringify(after[name]);
  return Object.fromEntries(names.flatMap((name) => (isSame(name) ? [] : [[name, after[name]]])));
}

export function taskView(task: TaskRecord): TaskView {
  const { goal, sub_tasks: subTasks, scratchpad, active_files: activeFiles } = task;
  return { goal, subTasks, scratchpad, activeFiles };
}

/** Files in the order of their last use, each once. The longest unused are dropped first. */
export function withFiles(
  files: readonly string[],
  used: readonly string[],
): TaskRecord["active_files"] {
  const all = [...withoutFiles(files, used), ...new Set(used)].slice(-TASK_LIMITS.files);
  let bytes = 0;
  const first = all.findLastIndex((file) => {
    bytes += utf8Bytes(file);
    return bytes > TASK_LIMITS.filesBytes;
  });
  return all.slice(first + 1);
}

/**
 * The record as the model sees it; empty for an empty record.
 *
 *     Goal: Ship the release.
 *     Sub-tasks:
 *     1. [done] Write the notes
 *     2. [open] Tag it
 *     Notes:
 *     - branch: release/2
 *     Active files: CHANGELOG.md, package.json
 */
export function renderTask(task: TaskRecord): string {
  const { goal, sub_tasks, scratchpad, active_files } = task;
  const subTasks = sub_tasks.map(
    ({ id, text, done }) => `${id}. [${done ? "done" : "open"}] ${text}`,
  );
  const notes = Object.entries(scratchpad).map(([name, text]) => `- ${name}: ${text}`);
  return [
    ...(goal === "" ? [] : [`Goal: ${goal}`]),
    ...(subTasks.length === 0 ? [] : ["Sub-tasks:", ...subTasks]),
    ...(notes.length === 0 ? [] : ["Notes:", ...notes]),
    ...(active_files.length === 0 ? [] : [`Active files: ${active_files.join(", ")}`]),
  ].join("\n");
}

function changedSubTasks(
  before: readonly SubTask[],
  { add = [], done = [], reopen = [], drop = [] }: TaskChange,
): readonly SubTask[] {
  const last = before.reduce((most, { id }) => Math.max(most, id), 0);
  const all = [
    ...before,
    ...add.map((text, index) => ({ id: last + 1 + index, text, done: false })),
  ];
  for (const id of [...done, ...reopen, ...drop]) {
    if (all.some((subTask) => subTask.id === id)) continue;
    const known = all.map((subTask) => subTask.id).join(", ") || "none";
    refuse(`The task has no sub-task ${id}; it has ${known}.`);
  }
  const left = all.filter(({ id }) => !drop.includes(id));
  if (left.length > TASK_LIMITS.subTasks) {
    refuse(`A task has at most ${TASK_LIMITS.subTasks} sub-tasks. Drop some that are done.`);
  }
  return left.map((subTask) => ({
    ...subTask,
    done: (subTask.done || done.includes(subTask.id)) && !reopen.includes(subTask.id),
  }));
}

function changedNotes(
  before: TaskRecord["scratchpad"],
  notes: Readonly<Record<string, string>>,
): TaskRecord["scratchpad"] {
  const after = Object.entries({ ...before, ...notes }).filter(([, text]) => text !== "");
  if (after.length > TASK_LIMITS.notes) {
    refuse(`A task has at most ${TASK_LIMITS.notes} notes. Remove some.`);
  }
  return Object.fromEntries(after);
}

function withoutFiles(files: readonly string[], gone: readonly string[]): readonly string[] {
  return files.filter((file) => !gone.includes(file));
}

/** A record that is too large already may still get smaller. */
function requireRoom(after: TaskRecord, before: TaskRecord, bytesMax: number): void {
  const bytes = utf8Bytes(renderTask(after));
  if (bytes <= bytesMax || bytes < utf8Bytes(renderTask(before))) return;
  refuse(
    `The task record would take ${bytes} bytes; the limit is ${bytesMax}. Drop sub-tasks or notes, or shorten them.`,
  );
}

function refuse(message: string): never {
  throw new SessionError("NOT_POSSIBLE", { message });
}
