import type { Command } from "commander";
import type { PendingApproval } from "../../../core/approval.ts";
import { SessionError } from "../../../core/errors.ts";
import { approvalAnswered, pendingApproval } from "../../../core/results.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { timeAgo } from "../render/render-time.ts";
import { type Style, styleFor } from "../render/style.ts";
import { printJson } from "../terminal/print-json.ts";
import { given } from "./flags.ts";
import { withService } from "./with-service.ts";

interface AnswerFlags {
  readonly session?: string;
  readonly reason?: string;
  readonly json?: true;
}

/** `rkat approvals …`: tool calls that wait for somebody's word. None of it needs a model. */
export function approvalsCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const approvals = program
    .command("approvals")
    .description("see and answer the tool calls that wait for approval")
    .helpCommand(false)
    .showHelpAfterError("Its commands are list, allow and deny: `rkat approvals --help`.");

  const list = approvals
    .command("list", { isDefault: true })
    .description("the calls that wait, oldest first")
    .option("--session <id>", "only of this session")
    .option("--json", "for scripts")
    .action(({ session, json }: Omit<AnswerFlags, "reason">) =>
      withService(context, list, async (service) => {
        const found = await service.listApprovals(given({ sessionId: session }));
        if (json) {
          const wire = found.map((one) => toWire(pendingApproval, one));
          return await printJson(terminal.stdout, wire);
        }
        if (found.length === 0) return await terminal.stderr.write("Nothing waits for approval.\n");
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(found.map((one) => render(one, style)).join("\n"));
      }),
    );

  for (const decision of ["allow", "deny"] as const) {
    const answer = approvals
      .command(decision)
      .description(
        decision === "allow"
          ? "let a call run"
          : "do not let a call run; the project learns from the reason",
      )
      .argument("[approval]", "its id, or the beginning or end of it (default: the only one)")
      .option("--reason <text>", "what the model is told, and why")
      .option("--session <id>", "of this session")
      .option("--json", "for scripts")
      .action((name: string | undefined, { session, reason, json }: AnswerFlags) =>
        withService(context, answer, async (service) => {
          const { approvalId, sessionId } = await find(service, name, session);
          const answered = await service.answerApproval({
            sessionId,
            approvalId,
            decision,
            ...given({ reason }),
          });
          if (json) return await printJson(terminal.stdout, toWire(approvalAnswered, answered));
          const word = decision === "allow" ? "Allowed" : "Denied";
          const next = answered.continues
            ? "The turn goes on."
            : `\`rkat resume ${sessionId.slice(0, 13)}\` goes on.`;
          await terminal.stderr.write(`${word}. ${next}\n`);
        }),
      );
  }
}

type Found = Pick<PendingApproval, "approvalId" | "sessionId">;

/** @throws SessionError `APPROVAL_NOT_FOUND` when none fits, `INVALID_PARAMS` when several do. */
async function find(
  service: SessionService,
  name: string | undefined,
  session: string | undefined,
): Promise<Found> {
  // Named in full: the service knows best.
  if (name !== undefined && session !== undefined) return { approvalId: name, sessionId: session };
  const waiting = await service.listApprovals(given({ sessionId: session }));
  const fits = waiting.filter(
    ({ approvalId }) =>
      name === undefined || approvalId.startsWith(name) || approvalId.endsWith(name),
  );
  const [found] = fits;
  if (!found) throw new SessionError("APPROVAL_NOT_FOUND");
  if (fits.length === 1) return found;
  throw new SessionError("INVALID_PARAMS", {
    detail: `Several calls wait:\n${fits.map(({ approvalId, tool }) => `${approvalId} ${tool}`).join("\n")}`,
    hint: "Give more of the id.",
  });
}

function render(
  { approvalId, sessionId, tool, args, goal, requestedAt }: PendingApproval,
  style: Style,
) {
  const age = timeAgo(requestedAt, Date.now());
  const lines = [
    `${style.bold(approvalId)}  ${style.dim(`session ${sessionId} · ${age}`)}`,
    `  ${style.yellow("→")} ${oneLine(tool, 80)} ${oneLine(JSON.stringify(args) ?? "", 500)}`,
    ...(goal === "" ? [] : [`  ${style.dim(`for: ${oneLine(goal, 200)}`)}`]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
