/** The measured work by name. Each task runs in its own process. */
export const TASKS = {
  recall: async () => (await import("./recall/recall-task.ts")).recallTask,
  finding: async () => (await import("./finding/finding-task.ts")).findingTask,
  languages: async () => (await import("./finding/languages-task.ts")).languagesTask,
  coherence: async () => (await import("./coherence/coherence-task.ts")).coherenceTask,
  work: async () => (await import("./coherence/work-task.ts")).workTask,
  told: async () => (await import("./coherence/told-task.ts")).toldTask,
  fill: async () => (await import("./memory/fill-task.ts")).fillTask,
  search: async () => (await import("./memory/search-task.ts")).searchTask,
  add: async () => (await import("./memory/add-task.ts")).addTask,
  write: async () => (await import("./memory/background-tasks.ts")).writeTask,
  reindex: async () => (await import("./memory/background-tasks.ts")).reindexTask,
  footprint: async () => (await import("./memory/search-task.ts")).footprintTask,
  turns: async () => (await import("./turns/turns-task.ts")).turnsTask,
  import: async () => (await import("./import/import-task.ts")).importTask,
  hostile: async () => (await import("./hostile/hostile-task.ts")).hostileTask,
  surfaces: async () => (await import("./surfaces/surfaces-task.ts")).surfacesTask,
};

export type TaskName = keyof typeof TASKS;
type TaskOf<Name extends TaskName> = Awaited<ReturnType<(typeof TASKS)[Name]>>;
export type TaskInput<Name extends TaskName> = Parameters<TaskOf<Name>>[0];
export type TaskOutput<Name extends TaskName> = Awaited<ReturnType<TaskOf<Name>>>;

/** What a task's process sends to its parent. */
export type Answer =
  | { readonly type: "progress"; readonly text: string }
  | { readonly type: "result"; readonly result: unknown }
  | { readonly type: "failed"; readonly error: string };
