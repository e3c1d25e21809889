import { renderTask, type TaskView } from "../../../core/task.ts";
import { printable } from "./printable.ts";

/** A task record, in the words that the model reads; nothing for an empty one. */
export function renderTaskView(task: TaskView): string {
  const { subTasks: sub_tasks, activeFiles: active_files, goal, scratchpad } = task;
  const text = renderTask({ goal, sub_tasks, scratchpad, active_files });
  return text === "" ? "" : `${printable(text)}\n`;
}
