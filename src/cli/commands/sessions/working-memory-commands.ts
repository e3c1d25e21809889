import type { Command } from "commander";
import type { SearchScope } from "../../../config/settings.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Pins, UpdateTask } from "../../../core/operations/working-memory.ts";
import { pins as pinsResult, taskView } from "../../../core/operations/working-memory.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderPins } from "../../render/render-context.ts";
import { renderTaskView } from "../../render/render-sessions.ts";
import { styleFor } from "../../render/style.ts";
import { printJson, roomIn } from "../../terminal/print.ts";
import { changingCommand, readingCommand, withSession } from "../find-session.ts";
import { countFlag, labelFlag, listFlag } from "../flags.ts";

interface TaskFlags extends Omit<UpdateTask, "sessionId" | "notes" | "openFiles" | "closeFiles"> {
  readonly scope: SearchScope;
  readonly note?: Record<string, string>;
  readonly openFile?: string[];
  readonly closeFile?: string[];
  readonly json?: true;
}

/** The commands that change what stays through compactions, in the order of the help. */
export function workingMemoryCommands(sessions: Command, context: CliContext): void {
  for (const register of [taskCommand, pinsCommands]) {
    register(sessions, context);
  }
}

/** `rkat sessions task`: shows or changes the task record. */
function taskCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const task = changingCommand(
    sessions,
    "task",
    "show or change the task record, which compactions keep",
  )
    .option("--new-task <goal>", "start a new task; clears the record")
    .option("--goal <text>", "change the goal")
    .option("--add <text>", "add a sub-task (repeatable)", listFlag)
    .option("--done <n>", "mark a sub-task as done (repeatable)", subTasks)
    .option("--reopen <n>", "mark it as open again (repeatable)", subTasks)
    .option("--drop <n>", "drop a sub-task (repeatable)", subTasks)
    .option("--note <name=text>", "set a note; without text, remove it (repeatable)", labelFlag)
    .option("--open-file <path>", "add an active file (repeatable)", listFlag)
    .option("--close-file <path>", "remove an active file (repeatable)", listFlag)
    .option("--json", "for scripts")
    .action((name: string, { json, note, openFile, closeFile, scope: _, ...flags }: TaskFlags) =>
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

function subTasks(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, subTask(text)];
}

const MESSAGE = "its position in `sessions show`, from 0, or its id as @id";

/** `rkat sessions pin`, `unpin` and `pins`. */
function pinsCommands(sessions: Command, context: CliContext): void {
  const pins = readingCommand(
    sessions,
    "pins",
    "the pinned messages, and how many tokens they take",
  )
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(
        context,
        pins,
        name,
        async (service, sessionId) => show(context, await service.pins({ sessionId }), json),
        { reads: true },
      ),
    );
  for (const { does, description } of CHANGES) {
    const command = changingCommand(sessions, does, description)
      .argument("<message>", MESSAGE)
      .option("--json", "for scripts")
      .action((name: string, message: string, { json }: { json?: true }) =>
        withSession(
          context,
          command,
          name,
          async (service, sessionId) =>
            show(context, await service[does]({ sessionId, ...namedMessage(message) }), json),
          { includeArchived: false },
        ),
      );
  }
}

const CHANGES = [
  { does: "pin", description: "keep a message through every compaction" },
  { does: "unpin", description: "let the next compaction discard it" },
] as const;

/** Reads how a message is named: `3` is a position, `@17` an id. */
export function namedMessage(
  name: string,
): { readonly message: number } | { readonly position: number } {
  const [, at, digits] = /^(@?)(\d{1,15})$/.exec(name) ?? [];
  if (digits === undefined) {
    throw new SessionError("INVALID_PARAMS", {
      message: `"${name}" is neither a position such as 3 nor an id such as @17.`,
    });
  }
  return at === "@" ? { message: Number(digits) } : { position: Number(digits) };
}

async function show({ terminal }: CliContext, pins: Pins, json: true | undefined): Promise<void> {
  if (json) return await printJson(terminal.stdout, toWire(pinsResult, pins));
  const { stdout, env } = terminal;
  await stdout.write(renderPins(pins, styleFor(stdout, env), roomIn(stdout)));
}
