import type { Command } from "commander";
import { SessionError } from "../../../core/errors.ts";
import type { RecalledRecord } from "../../../core/event.ts";
import { given } from "../../../core/fields.ts";
import {
  broughtBackOutcome,
  type RecallRefusals,
  recallRefusals,
} from "../../../core/operations/bring-back.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderBroughtBack, renderRecords, renderRefusals } from "../../render/render-history.ts";
import { printJson } from "../../terminal/print.ts";
import { changingCommand, withSession } from "../find-session.ts";
import { countFlag } from "../flags.ts";
import { COUNTS_TOOLS } from "../run-flags.ts";
import { messageId } from "./history-commands.ts";

interface BringBackFlags {
  readonly turn?: number;
  readonly pin?: true;
  readonly json?: true;
}

/** The commands that bring something back, or keep it away, in the order of the help. */
export function bringBackCommands(sessions: Command, context: CliContext): void {
  for (const register of [bringBackCommand, notThisCommand, allowRecallCommand]) {
    register(sessions, context);
  }
}

/** `rkat sessions bring-back`. */
function bringBackCommand(sessions: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const command = changingCommand(
    sessions,
    "bring-back",
    "show the model a message again that left its window, or tool output that was shortened",
  )
    .argument("[message]", "its id as @id")
    .option("--turn <n>", "all of this turn, from 0", countFlag(Number.MAX_SAFE_INTEGER))
    .option("--pin", "through every compaction, not only until the next one")
    .option("--json", "for scripts")
    .action((name: string, id: string | undefined, { json, turn, pin }: BringBackFlags) =>
      withSession(
        context,
        command,
        name,
        async (service, sessionId) => {
          const message = id === undefined ? undefined : messageId(id);
          const which = { ...given({ message, turn, pin }) };
          if ((message === undefined) === (turn === undefined)) throw eitherOne();
          const outcome = await service.bringBack({ sessionId, ...which });
          if (json) return await printJson(stdout, toWire(broughtBackOutcome, outcome));
          await stdout.write(`${renderBroughtBack(outcome)}\n`);
        },
        { includeArchived: false, ...COUNTS_TOOLS },
      ),
    );
}

function eitherOne(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "Give the id of a message, such as @17, or --turn, and not both.",
  });
}

/** Events of a page in which records are looked for, and how many pages. */
const [PAGE, PAGES] = [500, 10];

/** The records that came back last, if they did in the last events of the log. */
export async function lastRecalled(
  service: Pick<SessionService, "readLog">,
  sessionId: string,
): Promise<readonly RecalledRecord[]> {
  let place = {};
  for (let page = 0; page < PAGES; page += 1) {
    const { events, before } = await service.readLog({ sessionId, limit: PAGE, ...place });
    for (const { payload } of events.toReversed()) {
      if (payload.type === "memory_recalled") return payload.records;
    }
    const [first] = events;
    if (!before || !first) break;
    place = { beforeSeq: first.seq };
  }
  return [];
}

/** `rkat sessions not-this`. */
function notThisCommand(sessions: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const command = changingCommand(
    sessions,
    "not-this",
    "never recall these records of memory by themselves in this session again",
  ).argument("[ids...]", "their ids in memory; without one, lists what came back last");
  changesRefusals(command, context, async (service, asked, { json }) => {
    if (asked.ids.length > 0 || json) return await service.refuseRecall(asked);
    const records = await lastRecalled(service, asked.sessionId);
    await stdout.write(renderRecords(records));
    return undefined;
  });
}

/** `rkat sessions allow-recall`. */
function allowRecallCommand(sessions: Command, context: CliContext): void {
  const command = changingCommand(
    sessions,
    "allow-recall",
    "let records of memory that were refused come back by themselves again",
  ).argument("<ids...>", "their ids in memory");
  changesRefusals(command, context, (service, asked) => service.allowRecall(asked));
}

interface JsonFlag {
  readonly json?: true;
}

/** Lets a command print the refusals that it changes; nothing for `undefined`. */
function changesRefusals(
  command: Command,
  context: CliContext,
  change: (
    service: SessionService,
    asked: { readonly sessionId: string; readonly ids: string[] },
    flags: JsonFlag,
  ) => Promise<RecallRefusals | undefined>,
): void {
  const { stdout } = context.terminal;
  command.option("--json", "for scripts").action((name: string, ids: string[], flags: JsonFlag) =>
    withSession(
      context,
      command,
      name,
      async (service, sessionId) => {
        const refusals = await change(service, { sessionId, ids }, flags);
        if (!refusals) return;
        if (flags.json) return await printJson(stdout, toWire(recallRefusals, refusals));
        await stdout.write(`${renderRefusals(refusals)}\n`);
      },
      { includeArchived: false },
    ),
  );
}
