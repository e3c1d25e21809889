import type { Command } from "commander";
import { isTransient } from "../../../../core/event.ts";
import { compactionOutcome, sessionSummary, sessionView } from "../../../../core/results.ts";
import type { SessionService } from "../../../../core/session-service.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderSession, renderSessionList } from "../../render/render-sessions.ts";
import { styleFor } from "../../render/style.ts";
import { thousands } from "../../render/thousands.ts";
import { printEnd, printEvent } from "../../terminal/event-lines.ts";
import { printJson } from "../../terminal/print-json.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { countFlag, given, labelFlag } from "../flags.ts";
import { type OutputForm, outputOption } from "../turn-flags.ts";
import { withService } from "../with-service.ts";
import { sessionsContextCommand } from "./context-command.ts";
import { sessionsCreateCommand } from "./create-command.ts";
import { sessionsPinsCommand } from "./pins-command.ts";
import { sessionsTaskCommand } from "./task-command.ts";
import { sessionCommand, withSession } from "./with-session.ts";

const LIMIT_DEFAULT = 20;

interface ListFlags {
  readonly limit: number;
  readonly label?: Readonly<Record<string, string>>;
  readonly all?: true;
  readonly json?: true;
}

interface CompactFlags {
  readonly instructions?: string;
  readonly output: OutputForm;
  readonly json?: true;
}

/** `rkat sessions …`. */
export function sessionsCommand(program: Command, context: CliContext): void {
  const sessions = program
    .command("sessions")
    .description("list, read and put away sessions")
    .helpCommand(false);
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);

  sessionsCreateCommand(sessions, context);

  const list = sessions
    .command("list")
    .description("the sessions of this project, last used first")
    .option("-n, --limit <n>", "sessions at the most", countFlag(1000), LIMIT_DEFAULT)
    .option("-l, --label <name=value>", "only those with this label (repeatable)", labelFlag)
    .option("-a, --all", "archived ones too")
    .option("--json", "for scripts")
    .action(({ limit, label, all, json }: ListFlags) =>
      withService(context, list, async (service) => {
        const filters = given({ labels: label, includeArchived: all });
        const found = await service.list({ limit, ...filters });
        if (json)
          return await printJson(
            terminal.stdout,
            found.map((one) => toWire(sessionSummary, one)),
          );
        if (found.length === 0) return await terminal.stderr.write("There are no sessions.\n");
        await terminal.stdout.write(renderSessionList(found, Date.now(), style));
        if (found.length === limit) {
          await terminal.stderr.write(`The last ${limit}; --limit shows more.\n`);
        }
      }),
    );

  const show = sessionCommand(sessions, "show", "what is known of a session, and its history")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(context, show, name, async (service, sessionId) => {
        const view = await service.read({ sessionId });
        if (json) await printJson(terminal.stdout, toWire(sessionView, view));
        else await terminal.stdout.write(renderSession(view, Date.now(), style));
      }),
    );

  sessionsContextCommand(sessions, context);
  sessionsTaskCommand(sessions, context);
  sessionsPinsCommand(sessions, context);

  const archive = sessionCommand(sessions, "archive", "put a session away: still there to read")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(context, archive, name, async (service, sessionId) => {
        await service.archive({ sessionId });
        if (json) await printJson(terminal.stdout, { archived: true });
        else await terminal.stderr.write(`Archived ${sessionId}.\n`);
      }),
    );

  const remove = sessionCommand(sessions, "delete", "remove a session, its log and its memory")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(context, remove, name, async (service, sessionId) => {
        await service.delete({ sessionId });
        if (json) await printJson(terminal.stdout, { deleted: true });
        else await terminal.stderr.write(`Deleted ${sessionId}.\n`);
      }),
    );

  const compact = sessionCommand(sessions, "compact", "compact a session's history now")
    .option("--instructions <text>", "what the summary shall heed")
    .addOption(outputOption())
    .option("--json", "same as --output json")
    .action((name: string, { instructions, json, output }: CompactFlags) =>
      withSession(
        context,
        compact,
        name,
        async (service, sessionId) => {
          const progress = new ProgressLine(terminal.stderr);
          progress.show("compacting the history");
          const request = { sessionId, ...given({ instructions }) };
          const outcome = await terminal
            .interruptible((signal) =>
              service.compact(request, {
                signal,
                onEvent: (event) => {
                  if (output === "jsonl") printEvent(terminal.stdout, event);
                },
              }),
            )
            .finally(() => progress.clear());
          const wire = toWire(compactionOutcome, outcome);
          if (output === "jsonl") return await printEnd(terminal.stdout, "result", wire);
          if (json || output === "json") return await printJson(terminal.stdout, wire);
          await terminal.stdout.write(
            outcome.compacted
              ? `Compacted: ${outcome.messagesBefore} → ${outcome.messagesAfter} messages, ${thousands(outcome.tokensBefore)} → ${thousands(outcome.tokensAfter)} tokens.\n`
              : `Nothing was compacted: ${outcome.reason}\n`,
          );
        },
        { includeArchived: false },
      ),
    );

  const events = sessionCommand(sessions, "events", "the log of a session, one JSON a line")
    .option("--after <seq>", "only events after this one", countFlag(Number.MAX_SAFE_INTEGER), 0)
    .option("-f, --follow", "go on with new events until Ctrl-C")
    .option("--json", "it always is")
    .action((name: string, { after, follow }: { after: number; follow?: true }) =>
      withSession(context, events, name, (service, sessionId) =>
        printEvents(context, service, { sessionId, afterSeq: after }, follow === true),
      ),
    );
}

async function printEvents(
  { terminal }: CliContext,
  service: SessionService,
  request: { readonly sessionId: string; readonly afterSeq: number },
  follow: boolean,
): Promise<void> {
  const { seq: lastSeq } = await service.read({ sessionId: request.sessionId });
  if (!follow && lastSeq <= request.afterSeq) return;
  await terminal.interruptible(async (signal) => {
    for await (const { event_id, seq, timestamp_ms, payload } of service.subscribe(request, {
      signal,
    })) {
      if (isTransient(payload)) continue;
      const stored = { seq, schema_version: 1, event_id, timestamp_ms, event: payload };
      await terminal.stdout.write(`${JSON.stringify(stored)}\n`);
      if (!follow && seq >= lastSeq) return;
    }
  });
}
