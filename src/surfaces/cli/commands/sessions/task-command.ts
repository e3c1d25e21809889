import type { Command } from "commander";
import type { UpdateTask } from "../../../../core/requests.ts";
import { taskView } from "../../../../core/results.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderTaskView } from "../../render/render-task.ts";
import { printJson } from "../../terminal/print-json.ts";
import { countFlag, labelFlag } from "../flags.ts";
import { sessionCommand, withSession } from "./with-session.ts";

interface TaskFlags extends Omit<UpdateTask, "sessionId" | "notes" | "openFiles" | "closeFiles"> {
  readonly note?: Record<string, string>;
  readonly openFile?: string[];
  readonly closeFile?: string[];
  readonly json?: true;
}

/** `rkat sessions task`: shows the task record, and changes it. */
export function sessionsTaskCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const task = sessionCommand(
    sessions,
    "task",
    "show the task record, which no compaction touches, or change it",
  )
    .option("--new-task <goal>", "begin a new task: clears the record")
    .option("--goal <text>", "say the goal in other words")
    .option("--add <text>", "add a sub-task (repeatable)", each(String))
    .option("--done <n>", "this sub-task is done (repeatable)", each(subTask))
    .option("--reopen <n>", "it is open again (repeatable)", each(subTask))
    .option("--drop <n>", "it is no longer wanted (repeatable)", each(subTask))
    .option("--note <name=text>", "keep a note; without a text, remove it (repeatable)", labelFlag)
    .option("--open-file <path>", "the task is about this file (repeatable)", each(String))
    .option("--close-file <path>", "it no longer is (repeatable)", each(String))
    .option("--json", "for scripts")
    .action((name: string, { json, note, openFile, closeFile, ...flags }: TaskFlags) =>
      withSession(
        context,
        task,
        name,
        async (service, sessionId) => {
          const record = await service.updateTask({
            sessionId,
            ...flags,
            notes: note,
            openFiles: openFile,
            closeFiles: closeFile,
          });
          if (json) return await printJson(terminal.stdout, toWire(taskView, record));
          const text = renderTaskView(record);
          if (text === "") await terminal.stderr.write("The task record is empty.\n");
          else await terminal.stdout.write(text);
        },
        { includeArchived: false },
      ),
    );
}

const subTask = countFlag(Number.MAX_SAFE_INTEGER);

/** Collects a flag that is given several times. */
function each<Value>(read: (text: string) => Value) {
  return (text: string, before: readonly Value[] = []): Value[] => [...before, read(text)];
}
