import type { Command } from "commander";
import { given } from "../../../core/fields.ts";
import { undoOutcome } from "../../../core/operations/history.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderUndo } from "../../render/render-history.ts";
import { printJson } from "../../terminal/print.ts";
import { changingCommand, withSession } from "../find-session.ts";
import { countFlag } from "../flags.ts";

const number = countFlag(Number.MAX_SAFE_INTEGER);

function numbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, number(text)];
}

interface UndoFlags {
  readonly event?: number;
  readonly redo?: true;
  readonly leaveOut?: number[];
  readonly json?: true;
}

/** `rkat sessions undo`. */
export function undoCommand(sessions: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const undo = changingCommand(
    sessions,
    "undo",
    "undo the last compaction: what it took out of the history is there again",
  )
    .option("--event <seq>", "undo this compaction and all later ones", number)
    .option("--redo", "undo the last undo instead")
    .option("--leave-out <id>", "a message that stays out (repeatable)", numbers)
    .option("--json", "for scripts")
    .action((name: string, { json, event, redo, leaveOut }: UndoFlags) =>
      withSession(
        context,
        undo,
        name,
        async (service, sessionId) => {
          const request = { sessionId, ...given({ event, redo, leaveOut }) };
          const outcome = await service.undoCompaction(request);
          if (json) return await printJson(stdout, toWire(undoOutcome, outcome));
          await stdout.write(`${renderUndo(outcome)}\n`);
          if (outcome.undone || outcome.leaveOut.length === 0) return;
          const flags = outcome.leaveOut.map((id) => ` --leave-out ${id}`).join("");
          await stdout.write(`${context.rkat} sessions undo ${name}${flags}\n`);
        },
        { includeArchived: false },
      ),
    );
}
