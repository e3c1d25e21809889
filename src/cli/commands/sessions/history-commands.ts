import type { Command } from "commander";
import type { SearchScope } from "../../../config/settings.ts";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import { forkedSession } from "../../../core/operations/forks.ts";
import {
  compactionView,
  logPage,
  messageTrace,
  undoOutcome,
} from "../../../core/operations/history.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import { shellWord } from "../../../text/quoting.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderDiff, renderFork, renderTrace, renderUndo } from "../../render/render-history.ts";
import { styleFor } from "../../render/style.ts";
import { printJson, roomIn } from "../../terminal/print.ts";
import { changingCommand, readingCommand, withSession } from "../find-session.ts";
import { countFlag } from "../flags.ts";
import { COUNTS_TOOLS } from "../run-flags.ts";

const number = countFlag(Number.MAX_SAFE_INTEGER);

function numbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, number(text)];
}

interface UndoFlags {
  readonly event?: number;
  readonly redo?: true;
  readonly leaveOut?: number[];
  readonly scope: SearchScope;
  readonly json?: true;
}

/** The commands that go back in a session, or look back, in the order of the help. */
export function historyCommands(sessions: Command, context: CliContext): void {
  for (const register of [undoCommand, diffCommand, whyCommand, logCommand, forkCommand]) {
    register(sessions, context);
  }
}

/** `rkat sessions undo`. */
function undoCommand(sessions: Command, context: CliContext): void {
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
    .action((name: string, { json, event, redo, leaveOut, scope }: UndoFlags) =>
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
          const flags = [
            ...(scope === "user" ? ["--scope user"] : []),
            ...(event === undefined ? [] : [`--event ${event}`]),
            ...(redo ? ["--redo"] : []),
            ...outcome.leaveOut.map((id) => `--leave-out ${id}`),
          ];
          await stdout.write(
            `${context.rkat} sessions undo ${shellWord(name)} ${flags.join(" ")}\n`,
          );
        },
        { includeArchived: false, ...COUNTS_TOOLS },
      ),
    );
}

interface DiffFlags {
  readonly event?: number;
  readonly limit?: number;
  readonly json?: true;
}

/** `rkat sessions diff`. */
function diffCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const diff = readingCommand(
    sessions,
    "diff",
    "what the last compaction did to each message: kept, shortened, in the summary, or gone",
  )
    .option("--event <seq>", "of this compaction", number)
    .option("-n, --limit <n>", "limit of messages", countFlag(1000, 1))
    .option("--json", "for scripts")
    .action((name: string, { json, event, limit }: DiffFlags) => {
      const print = async (service: SessionService, sessionId: string) => {
        const view = await service.readCompaction({ sessionId, ...given({ event, limit }) });
        if (json) return await printJson(terminal.stdout, toWire(compactionView, view));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderDiff(view, style, roomIn(terminal.stdout)));
      };
      return withSession(context, diff, name, print, { reads: true });
    });
}

/** `rkat sessions why`. */
function whyCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const why = readingCommand(
    sessions,
    "why",
    "a message by its id, what compactions did to it, and when it came back",
  )
    .argument("<message>", "its id as @id, also of a message that left the history")
    .option("--json", "for scripts")
    .action((name: string, message: string, { json }: { json?: true }) => {
      const print = async (service: SessionService, sessionId: string) => {
        const trace = await service.readMessage({ sessionId, message: messageId(message) });
        if (json) return await printJson(terminal.stdout, toWire(messageTrace, trace));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderTrace(trace, style));
      };
      return withSession(context, why, name, print, { reads: true });
    });
}

/** Reads the id of a message: `@17` or `17`. */
export function messageId(name: string): number {
  const [, digits] = /^@?(\d{1,15})$/.exec(name) ?? [];
  if (digits !== undefined) return Number(digits);
  throw new SessionError("INVALID_PARAMS", {
    message: `"${name}" is no id of a message, such as @17.`,
  });
}

interface LogFlags {
  readonly before?: number;
  readonly after?: number;
  readonly limit?: number;
  readonly json?: true;
}

/** `rkat sessions log`. */
function logCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const log = readingCommand(
    sessions,
    "log",
    "a page of a session's log; its last events, oldest first",
  )
    .option(
      "--before <seq>",
      "the last events before this one",
      countFlag(Number.MAX_SAFE_INTEGER, 1),
    )
    .option("--after <seq>", "the first events after this one", number)
    .option("-n, --limit <n>", "limit of events", countFlag(1000, 1))
    .option("--json", "as one value, with what is before and after the page")
    .action((name: string, { before: beforeSeq, after: afterSeq, limit, json }: LogFlags) => {
      const print = async (service: SessionService, sessionId: string) => {
        const request = { sessionId, ...given({ beforeSeq, afterSeq, limit }) };
        const page = await service.readLog(request);
        if (json) return await printJson(terminal.stdout, toWire(logPage, page));
        for (const event of page.events) await printJson(terminal.stdout, event);
      };
      return withSession(context, log, name, print, { reads: true });
    });
}

interface ForkFlags {
  readonly at?: number;
  readonly json?: true;
}

/** `rkat sessions fork`. */
function forkCommand(sessions: Command, context: CliContext): void {
  const { stdout, stderr } = context.terminal;
  const fork = changingCommand(
    sessions,
    "fork",
    "create a session that goes on from a message of this one; prints its id",
  )
    .option(
      "--at <id>",
      "the last message that it knows of, or any event (default: the last)",
      messageId,
    )
    .option("--json", "for scripts")
    .action((name: string, { at, json }: ForkFlags) =>
      withSession(context, fork, name, async (service, sessionId) => {
        const forked = await service.forkSession({ sessionId, ...given({ event: at }) });
        if (json) return await printJson(stdout, toWire(forkedSession, forked));
        await stdout.write(`${forked.sessionId}\n`);
        await stderr.write(`${renderFork(forked)}\n`);
      }),
    );
}
