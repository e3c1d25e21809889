/** Work that is measured, by its name; each runs in a process of its own. */
export const TASKS = {
  recall: async () => (await import("./recall/recall-task.ts")).recallTask,
  fill: async () => (await import("./memory/fill-task.ts")).fillTask,
  search: async () => (await import("./memory/search-task.ts")).searchTask,
  add: async () => (await import("./memory/add-task.ts")).addTask,
  write: async () => (await import("./memory/write-task.ts")).writeTask,
  reindex: async () => (await import("./memory/reindex-task.ts")).reindexTask,
  footprint: async () => (await import("./memory/footprint-task.ts")).footprintTask,
  turns: async () => (await import("./turns/turns-task.ts")).turnsTask,
  surfaces: async () => (await import("./surfaces/surfaces-task.ts")).surfacesTask,
};

export type TaskName = keyof typeof TASKS;
type TaskOf<Name extends TaskName> = Awaited<ReturnType<(typeof TASKS)[Name]>>;
export type TaskInput<Name extends TaskName> = Parameters<TaskOf<Name>>[0];
export type TaskOutput<Name extends TaskName> = Awaited<ReturnType<TaskOf<Name>>>;

/** What the process of a task tells the one that started it. */
export type Answer =
  | { readonly type: "progress"; readonly text: string }
  | { readonly type: "result"; readonly result: unknown }
  | { readonly type: "failed"; readonly error: string };
