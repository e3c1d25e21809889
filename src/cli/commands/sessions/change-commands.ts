import type { Command } from "commander";
import { projectSessions } from "../../../app/project-sessions.ts";
import type { SearchScope } from "../../../config/settings.ts";
import type { Workspace } from "../../../config/workspace.ts";
import { given } from "../../../core/fields.ts";
import type { KnowledgeEntry } from "../../../core/knowledge.ts";
import { compactionOutcome } from "../../../core/operations/turns.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import { shellWord } from "../../../text/quoting.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural } from "../../render/amounts.ts";
import { renderCompaction } from "../../render/render-context.ts";
import { shortId } from "../../render/render-sessions.ts";
import { confirm } from "../../terminal/ask.ts";
import { printEnd, printEvent, printJson } from "../../terminal/print.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import {
  changedIn,
  changingCommand,
  findArchived,
  findDeleted,
  findSession,
  withSession,
} from "../find-session.ts";
import { SESSION_ARGUMENT, storeFlag } from "../flags.ts";
import { type OutputForm, outputOption } from "../run-flags.ts";
import { withService, workspaceOf } from "../with-service.ts";

/** The commands that change a session as a whole, in the order of the help. */
export function changeCommands(sessions: Command, context: CliContext): void {
  for (const register of [
    archiveCommand,
    unarchiveCommand,
    deleteCommand,
    restoreCommand,
    compactCommand,
    projectCommand,
  ]) {
    register(sessions, context);
  }
}

/** `rkat sessions archive`. */
function archiveCommand(sessions: Command, context: CliContext): void {
  const { stdout, stderr } = context.terminal;
  const archive = changingCommand(sessions, "archive", "close a session; it can still be read")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(context, archive, name, async (service, sessionId) => {
        await service.archive({ sessionId });
        if (json) await printJson(stdout, { archived: true });
        else await stderr.write(`Archived ${sessionId}.\n`);
      }),
    );
}

/** `rkat sessions unarchive`. */
function unarchiveCommand(sessions: Command, context: CliContext): void {
  const { stdout, stderr } = context.terminal;
  const unarchive = changingCommand(sessions, "unarchive", "bring an archived session back")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(
        context,
        unarchive,
        name,
        async (service, sessionId) => {
          await service.unarchive({ sessionId });
          if (json) await printJson(stdout, { unarchived: true });
          else await stderr.write(`Unarchived ${sessionId}.\n`);
        },
        { find: findArchived },
      ),
    );
}

interface DeleteFlags {
  readonly scope: SearchScope;
  readonly now?: true;
  readonly yes?: true;
  readonly json?: true;
}

/** `rkat sessions delete`. */
function deleteCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const { stdout, stderr } = terminal;
  const remove = changingCommand(sessions, "delete", "delete a session, its log and its memory")
    .option("--now", "for good; otherwise you can restore it for some days")
    .option("-y, --yes", "do not ask; without a terminal nothing is asked")
    .option("--json", "for scripts")
    .action((name: string, { json, now, yes, scope }: DeleteFlags) => {
      const work = async (service: SessionService, { config }: Workspace) => {
        const keepDays = now ? 0 : config.get("sessions.keep_deleted_days");
        const found = await findSession(service, name, { includeArchived: true });
        const sessionId = now && found === name ? await findDeleted(service, name) : found;
        // With knowledge off there is nothing to count, and no failure here may stop the deletion.
        const taught = json ? 0 : await countTaught(service, sessionId).catch(() => 0);
        if (!yes && !json && terminal.stdin.isTerminal) {
          const question = await deletion(service, sessionId, keepDays, taught);
          if (!(await confirm(question, terminal))) {
            await stderr.write("Nothing was deleted.\n");
            return;
          }
        }
        await service.delete({ sessionId, ...given({ now }) });
        if (json) return await printJson(stdout, { deleted: true });
        const there = scope === "user" ? " --scope user" : "";
        const what =
          keepDays === 0
            ? `Deleted ${sessionId} for good.\n`
            : `Deleted ${sessionId}.\nTo undo this within ${plural(keepDays, "day")}: ${context.rkat} sessions restore ${shellWord(sessionId)}${there}\n`;
        const stays = `What it taught the project stays: ${statements(taught)}. See \`${context.rkat} knowledge list\`; \`${context.rkat} knowledge forget\` deletes them.\n`;
        await stderr.write(what + (taught === 0 ? "" : stays));
      };
      return withService(context, remove, work, changedIn(scope));
    });
}

async function deletion(
  service: SessionService,
  sessionId: string,
  keepDays: number,
  taught: number,
): Promise<string> {
  const [deleted] = await service.list({ idPrefix: sessionId, deleted: true });
  const { turns } = deleted ?? (await service.read({ sessionId }));
  const forHowLong =
    keepDays === 0 ? "for good" : `(you can restore it for ${plural(keepDays, "day")})`;
  const stays = taught === 0 ? "" : `; what it taught stays: ${statements(taught)}`;
  return `delete session ${shortId(sessionId)} (${plural(turns, "turn")}), its log and its memory ${forHowLong}${stays}`;
}

function statements(count: number): string {
  return plural(count, "preference, correction or rule", "preferences, corrections and rules");
}

const PAGE = 1000;

/** Counts what the user said to the session to last, and the rules that were made of it. */
async function countTaught(service: SessionService, sessionId: string): Promise<number> {
  const lasting: KnowledgeEntry[] = [];
  for (const kind of ["preference", "correction", "rule"] as const) {
    for (let after: string | undefined; ; ) {
      const page = await service.listKnowledge({ kind, limit: PAGE, ...given({ after }) });
      lasting.push(...page);
      if (page.length < PAGE) break;
      after = page.at(-1)?.id;
    }
  }
  const said = new Set(
    lasting.filter((entry) => entry.sessionId === sessionId).map(({ id }) => id),
  );
  const rests = ({ sources = [] }: KnowledgeEntry) => sources.some((id) => said.has(id));
  return said.size + lasting.filter((entry) => !said.has(entry.id) && rests(entry)).length;
}

/** `rkat sessions restore`. */
function restoreCommand(sessions: Command, context: CliContext): void {
  const { stdout, stderr } = context.terminal;
  const restore = sessions
    .command("restore")
    .description("bring a deleted session back, with its memory")
    .argument("<session>", `${SESSION_ARGUMENT}; \`last\` is the one deleted last`)
    .addOption(storeFlag())
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(
        context,
        restore,
        name,
        async (service, sessionId) => {
          await service.restore({ sessionId });
          if (json) await printJson(stdout, { restored: true });
          else await stderr.write(`Restored ${sessionId}.\n`);
        },
        { find: findDeleted },
      ),
    );
}

interface CompactFlags {
  readonly instructions?: string;
  readonly output: OutputForm;
  readonly json?: true;
}

/** `rkat sessions compact`. */
function compactCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const compact = changingCommand(sessions, "compact", "compact a session's history now")
    .option("--instructions <text>", "instructions for the summary")
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
          await terminal.stdout.write(`${renderCompaction(outcome)}\n`);
        },
        { includeArchived: false },
      ),
    );
}

/** `rkat sessions project`. */
function projectCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const project = sessions
    .command("project")
    .description("write the files of all sessions again, from their logs")
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const workspace = await workspaceOf(context, project);
      const written = await projectSessions(workspace);
      if (json) return await printJson(terminal.stdout, written);
      const { folder, sessions: count } = written;
      await terminal.stderr.write(`Wrote the files of ${plural(count, "session")} to ${folder}.\n`);
    });
}
