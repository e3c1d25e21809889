import type { Command } from "commander";
import { projectApprovals } from "../../config/project-approvals.ts";
import type { AllowedCalls, PendingApproval } from "../../core/approval.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { approvalAnswered, pendingApproval } from "../../core/operations/approvals.ts";
import type { SessionService } from "../../core/session-service.ts";
import { toWire } from "../../core/wire.ts";
import { shellWord } from "../../text/quoting.ts";
import type { CliContext } from "../cli-context.ts";
import { timeAgo } from "../render/amounts.ts";
import { oneLine } from "../render/printable.ts";
import { renderAllowed, renderCall } from "../render/render-call.ts";
import { shortId } from "../render/render-sessions.ts";
import { type Style, styleFor } from "../render/style.ts";
import { printJson, printPlaces } from "../terminal/print.ts";
import { learnedNote, RULES_SEARCHED } from "../terminal/turn-view.ts";
import { findExisting, findSession } from "./find-session.ts";
import { SESSION_ARGUMENT } from "./flags.ts";
import { withService, workspaceOf } from "./with-service.ts";

interface AnswerFlags {
  readonly session?: string;
  readonly reason?: string;
  readonly json?: true;
}

/** `rkat approvals …`: tool calls that wait for approval. None of it needs a model. */
export function approvalsCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const approvals = program
    .command("approvals")
    .helpCommand(false)
    .showHelpAfterError("Commands: list, allow, deny, rules, revoke. See `rkat approvals --help`.");

  const list = approvals
    .command("list", { isDefault: true })
    .description("the waiting calls, oldest first")
    .option("--session <session>", `only this session: ${SESSION_ARGUMENT}`)
    .option("--json", "for scripts")
    .action(({ session, json }: Omit<AnswerFlags, "reason">) =>
      withService(context, list, async (service) => {
        const sessionId = session === undefined ? undefined : await findExisting(service, session);
        const found = await service.listApprovals(given({ sessionId }));
        if (json) {
          const wire = found.map((one) => toWire(pendingApproval, one));
          return await printJson(terminal.stdout, wire);
        }
        if (found.length === 0) return await terminal.stderr.write("No call waits for approval.\n");
        const style = styleFor(terminal.stdout, terminal.env);
        await printPlaces(terminal.stdout, found.map((one) => render(one, style)).join("\n"));
      }),
    );

  for (const decision of ["allow", "deny"] as const) {
    const answer = approvals
      .command(decision)
      .description(
        decision === "allow" ? "let a call run" : "deny a call; the project learns from the reason",
      )
      .argument("[approval]", "its id, or the beginning or end of the id (default: the only one)")
      .option("--reason <text>", "why; the model is told")
      .option("--session <session>", `the session of the call: ${SESSION_ARGUMENT}`)
      .option("--json", "for scripts")
      .action((name: string | undefined, { session, reason, json }: AnswerFlags) =>
        withService(context, answer, async (service) => {
          const { approvalId, sessionId } = await find(service, name, session);
          const before = await rulesOf(service);
          const answered = await service.answerApproval({
            sessionId,
            approvalId,
            decision,
            ...given({ reason }),
          });
          if (json) return await printJson(terminal.stdout, toWire(approvalAnswered, answered));
          const word = decision === "allow" ? "Allowed" : "Denied";
          const next = answered.continues
            ? "The turn continues."
            : `Continue with \`${context.rkat} resume ${shellWord(sessionId)}\`.`;
          await terminal.stderr.write(`${word}. ${next}\n`);
          if (answered.continues) return;
          const known = new Set(before.map(({ id }) => id));
          const learned = (await rulesOf(service)).filter(({ id }) => !known.has(id));
          for (const rule of learned)
            await terminal.stderr.write(`${learnedNote(rule, context.rkat)}\n`);
        }),
      );
  }

  approvalRulesCommands(approvals, context);
}

/** A rule that a denial makes. Where nothing is learned, there are none. */
function rulesOf(service: SessionService) {
  return service.listKnowledge({ kind: "rule", limit: RULES_SEARCHED }).catch(() => []);
}

type Found = Pick<PendingApproval, "approvalId" | "sessionId">;

/** @throws SessionError `APPROVAL_NOT_FOUND` when none fits, `INVALID_PARAMS` when several do. */
async function find(
  service: SessionService,
  name: string | undefined,
  session: string | undefined,
): Promise<Found> {
  // Every id begins with an empty text, so an unset variable of a script would answer the only call that waits.
  if (name === "") {
    throw new SessionError("INVALID_PARAMS", {
      message: "The id of the call is empty.",
      hint: "Give its id, or the beginning or end of the id. `rkat approvals list` shows them.",
    });
  }
  const sessionId =
    session === undefined
      ? undefined
      : await findSession(service, session, { includeArchived: true });
  // The service checks a full name itself.
  if (name !== undefined && sessionId !== undefined) return { approvalId: name, sessionId };
  const waiting = await service.listApprovals(given({ sessionId }));
  const fits = waiting.filter(
    ({ approvalId }) =>
      name === undefined || approvalId.startsWith(name) || approvalId.endsWith(name),
  );
  const [found] = fits;
  if (!found) {
    throw new SessionError("APPROVAL_NOT_FOUND", {
      message:
        name !== undefined
          ? `No pending approval fits "${name}".`
          : "No tool call is waiting for approval.",
    });
  }
  if (fits.length === 1) return found;
  throw new SessionError("INVALID_PARAMS", {
    message: `Several calls match:\n${fits.map(({ approvalId, tool }) => `${approvalId} ${tool}`).join("\n")}`,
    hint: name === undefined ? "Give the id of one." : "Give more of the id.",
  });
}

function render(call: PendingApproval, style: Style): string {
  const { approvalId, sessionId, goal, requestedAt } = call;
  const age = timeAgo(requestedAt, Date.now());
  const lines = [
    `${style.bold(approvalId)}  ${style.dim(`session ${shortId(sessionId)} · ${age}`)}`,
    `  ${renderCall(call, style)}`,
    ...(goal === "" ? [] : [`  ${style.dim(`for: ${oneLine(goal, 200)}`)}`]),
    ...(call.mayAnswer?.includes("model") ? [`  ${style.dim("a model may answer it, too")}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

interface RuleFlags {
  readonly session?: string;
  readonly json?: true;
}

/** `rkat approvals rules` and `rkat approvals revoke`: the calls that were allowed with "always". */
function approvalRulesCommands(approvals: Command, context: CliContext): void {
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
        if (left.allowed.length === before.allowed.length) {
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
