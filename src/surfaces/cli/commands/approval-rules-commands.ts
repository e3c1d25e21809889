import type { Command } from "commander";
import { projectApprovals } from "../../../config/project-approvals.ts";
import type { AllowedCalls } from "../../../core/approval.ts";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { shortId } from "../render/render-sessions.ts";
import { renderAllowed } from "../terminal/approval-prompt.ts";
import { printJson } from "../terminal/print.ts";
import { findSession } from "./find-session.ts";
import { SESSION_ARGUMENT } from "./flags.ts";
import { withService, workspaceOf } from "./with-service.ts";

interface RuleFlags {
  readonly session?: string;
  readonly json?: true;
}

/** `rkat approvals rules` and `rkat approvals revoke`: what was allowed with "always". */
export function approvalRulesCommands(approvals: Command, context: CliContext): void {
  const { terminal } = context;

  const rules = approvals
    .command("rules")
    .description('what you allowed with "always", in this project and in a session')
    .option("--session <session>", `${SESSION_ARGUMENT} (default: last)`)
    .option("--json", "for scripts")
    .action(({ session: name, json }: RuleFlags) =>
      withService(context, rules, async (service, workspace) => {
        const project = projectApprovals(workspace, terminal.env).list();
        const sessionId = await sessionNamed(service, name);
        const session =
          sessionId === undefined ? [] : (await service.allowedCalls({ sessionId })).allowed;
        if (json) return await printJson(terminal.stdout, { project, session });
        if (project.length + session.length === 0) {
          return await terminal.stderr.write("Nothing is allowed for good.\n");
        }
        await terminal.stdout.write(
          section("in this project", project) +
            section(`in session ${shortId(sessionId ?? "")}`, session),
        );
      }),
    );

  const revoke = approvals
    .command("revoke")
    .description('take back an "always": its calls need approval again')
    .argument("<tool>", "the tool, as `rkat approvals rules` shows it")
    .argument("[command...]", "only this command (default: every call of the tool)")
    .option("--session <session>", `in a session: ${SESSION_ARGUMENT} (default: in this project)`)
    .option("--json", "for scripts")
    .action(async (tool: string, words: string[], { session: name, json }: RuleFlags) => {
      const calls = { tool, ...given({ command: words.length > 0 ? words.join(" ") : undefined }) };
      if (name === undefined) {
        const own = projectApprovals(await workspaceOf(context, revoke), terminal.env);
        if (own.revoke(calls).length === 0) throw nothingToRevoke("this project");
        if (json) return await printJson(terminal.stdout, { allowed: own.list() });
        return await terminal.stderr.write("Revoked.\n");
      }
      await withService(context, revoke, async (service) => {
        const sessionId = await findSession(service, name, { includeArchived: true });
        const before = await service.allowedCalls({ sessionId });
        const left = await service.revokeAllowed({ sessionId, ...calls });
        if (!json && left.allowed.length === before.allowed.length) {
          throw nothingToRevoke(`session ${shortId(sessionId)}`);
        }
        if (json) return await printJson(terminal.stdout, left);
        await terminal.stderr.write(
          `Revoked. ${left.allowed.length} left in session ${shortId(sessionId)}.\n`,
        );
      });
    });
}

async function sessionNamed(
  service: SessionService,
  name: string | undefined,
): Promise<string | undefined> {
  if (name !== undefined) return await findSession(service, name, { includeArchived: true });
  const [last] = await service.list({ limit: 1 }).catch(() => []);
  return last?.sessionId;
}

function section(title: string, allowed: readonly AllowedCalls[]): string {
  if (allowed.length === 0) return "";
  return `${title}\n${allowed.map((calls) => `  ${renderAllowed(calls)}\n`).join("")}`;
}

function nothingToRevoke(where: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `Nothing to revoke: no rule of ${where} allows these calls.`,
    hint: "`rkat approvals rules` lists what is allowed. For a rule of a session, add --session.",
  });
}
