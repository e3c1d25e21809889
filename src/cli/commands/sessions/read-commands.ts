import type { Command } from "commander";
import { openProjectService } from "../../../app/open-project-service.ts";
import { useOpened } from "../../../app/opened.ts";
import type { SearchScope } from "../../../config/settings.ts";
import { isTransient } from "../../../core/event.ts";
import { given } from "../../../core/fields.ts";
import { sessionCost } from "../../../core/operations/cost.ts";
import { sessionSummary, sessionView } from "../../../core/operations/sessions.ts";
import { contextView } from "../../../core/operations/working-memory.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { SourceConditions } from "../../../core/session-source.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderContext } from "../../render/render-context.ts";
import { renderCost } from "../../render/render-cost.ts";
import { renderSession, renderSessionList } from "../../render/render-sessions.ts";
import { styleFor } from "../../render/style.ts";
import { jsonText, printJson, printText, roomIn } from "../../terminal/print.ts";
import { changingCommand, findSession, readingCommand, withSession } from "../find-session.ts";
import { addSourceFlags, countFlag, labelFlag, scopeFlag, sourceOf } from "../flags.ts";
import { toolsOf } from "../run-flags.ts";
import { withTitles } from "../session-titles.ts";
import { withService, workspaceOf } from "../with-service.ts";

const LIMIT_DEFAULT = 20;
const OFFSET_MAX = 1_000_000_000;

const IN_USER_STORE =
  "Those with (user) are in the user-wide store. To change one, add --scope user.\n";

interface ListFlags extends SourceConditions {
  readonly scope: SearchScope;
  readonly limit: number;
  readonly offset: number;
  readonly label?: Readonly<Record<string, string>>;
  readonly all?: true;
  readonly deleted?: true;
  readonly json?: true;
}

/** The commands that read a session, in the order of the help. */
export function readCommands(sessions: Command, context: CliContext): void {
  for (const register of [listCommand, showCommand, contextCommand, costCommand, eventsCommand]) {
    register(sessions, context);
  }
}

/** `rkat sessions list`. */
function listCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const list = addSourceFlags(sessions.command("list"))
    .description("the sessions of this project, last used first")
    .option("-n, --limit <n>", "limit of sessions", countFlag(1000, 1), LIMIT_DEFAULT)
    .option("--offset <n>", "leave out this many, to see older ones", countFlag(OFFSET_MAX), 0)
    .option("-l, --label <name=value>", "only with this label (repeatable)", labelFlag)
    .addOption(scopeFlag("list this project, the user-wide store ~/.rkat, or both").default("all"))
    .option("-a, --all", "include archived sessions")
    .option("--deleted", "only deleted sessions that you can restore")
    .option("--json", "for scripts")
    .action(({ limit, offset, label, all, deleted, scope, json, ...flags }: ListFlags) => {
      const show = async (service: SessionService) => {
        const filters = {
          ...given({ labels: label, includeArchived: all, deleted }),
          ...sourceOf(flags, terminal),
        };
        const found = await service.list({ limit, offset, ...filters });
        if (json) {
          const wire = found.map((session) => toWire(sessionSummary, session));
          return await printJson(terminal.stdout, wire);
        }
        if (found.length === 0) return await terminal.stderr.write("No matching sessions.\n");
        const style = styleFor(terminal.stdout, terminal.env);
        const { columns, isTerminal: wraps } = terminal.stdout;
        const titled = await withTitles(service, found);
        const table = renderSessionList(titled, Date.now(), style, columns, { wraps });
        await terminal.stdout.write(table);
        if (found.length === limit) {
          await terminal.stderr.write(`For older ones: --offset ${offset + limit}\n`);
        }
        if (found.some(({ store }) => store === "user")) {
          await printText(terminal.stderr, IN_USER_STORE);
        }
      };
      return withService(context, list, show, { scope });
    });
}

/** `rkat sessions show`. */
function showCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const show = readingCommand(sessions, "show", "a session and its history")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) => {
      const print = async (service: SessionService, sessionId: string) => {
        const view = await service.read({ sessionId });
        if (json) return await printJson(terminal.stdout, toWire(sessionView, view));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderSession(view, Date.now(), style));
      };
      return withSession(context, show, name, print, { reads: true });
    });
}

/** `rkat sessions context`. */
function contextCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const command = changingCommand(
    sessions,
    "context",
    "what takes how many tokens of the context window",
  )
    .option("--json", "for scripts")
    .action(async (name: string, { scope, json }: { scope: SearchScope; json?: true }) => {
      const workspace = await workspaceOf(context, command, scope);
      // With the tools of a chat, because their definitions take room.
      const tools = toolsOf({}, workspace.config);
      const opened = await openProjectService(workspace, "existing", tools);
      await useOpened(opened, async (service) => {
        const sessionId = await findSession(service, name, { includeArchived: true });
        const view = await service.context({ sessionId });
        if (json) return await printJson(terminal.stdout, toWire(contextView, view));
        const style = styleFor(terminal.stdout, terminal.env);
        await printText(terminal.stdout, renderContext(view, style, terminal.stdout.columns));
      });
    });
}

interface CostFlags {
  readonly limit: number;
  readonly json?: true;
}

/** `rkat sessions cost`. */
function costCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const command = readingCommand(sessions, "cost", "what a session cost, in tokens and money")
    .option(
      "-n, --limit <n>",
      "limit of turns listed, the newest",
      countFlag(1000, 1),
      LIMIT_DEFAULT,
    )
    .option("--json", "for scripts")
    .action((name: string, { limit, json }: CostFlags) => {
      const print = async (service: SessionService, sessionId: string) => {
        const cost = await service.sessionCost({ sessionId, limit });
        if (json) return await printJson(terminal.stdout, toWire(sessionCost, cost));
        const style = styleFor(terminal.stdout, terminal.env);
        await printText(terminal.stdout, renderCost(cost, style, roomIn(terminal.stdout)));
      };
      return withSession(context, command, name, print, { reads: true });
    });
}

/** `rkat sessions events`. */
function eventsCommand(sessions: Command, context: CliContext): void {
  const events = readingCommand(sessions, "events", "the log of a session, one JSON per line")
    .option("--after <seq>", "only events after this one", countFlag(Number.MAX_SAFE_INTEGER), 0)
    .option("-f, --follow", "wait for new events until Ctrl-C")
    .option("--json", "accepted for symmetry: the output is always JSON")
    .action((name: string, { after, follow }: { after: number; follow?: true }) =>
      withSession(
        context,
        events,
        name,
        (service, sessionId) =>
          printEvents(context, service, { sessionId, afterSeq: after }, follow === true),
        { reads: true },
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
      await terminal.stdout.write(`${jsonText(stored)}\n`);
      if (!follow && seq >= lastSeq) return;
    }
  });
}
