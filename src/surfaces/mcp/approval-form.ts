import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type { ApprovalAnswer } from "../../core/approval.ts";
import type { ToolApprovalRequested } from "../../core/event.ts";

const ARGUMENTS_SHOWN = 2000;
const REASON_MAX = 2000;

/** The form that asks whether a call may run. */
export function formFor({ name, args, goal }: ToolApprovalRequested): ElicitRequestFormParams {
  const shown = (JSON.stringify(args, null, 2) ?? "").slice(0, ARGUMENTS_SHOWN);
  return {
    mode: "form",
    message: `May ${name} run?\n\n${shown}${goal === "" ? "" : `\n\nFor: ${goal}`}`,
    requestedSchema: {
      type: "object",
      properties: {
        decision: { type: "string", title: "Decision", enum: ["allow", "deny"] },
        reason: {
          type: "string",
          title: "Reason",
          description: "Why you deny it. The agent reads this, and the project learns from it.",
        },
      },
      required: ["decision"],
    },
  };
}

/** The answer in a host's response. Undefined when the form was closed, or the response is not valid. */
export function answerOf(response: unknown): ApprovalAnswer | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: unknown };
  if (action === "decline") return { decision: "deny" };
  const { decision, reason } = (content ?? {}) as { decision?: unknown; reason?: unknown };
  if (action !== "accept" || (decision !== "allow" && decision !== "deny")) return undefined;
  const given = typeof reason === "string" ? reason.trim().slice(0, REASON_MAX) : "";
  return { decision, ...(given === "" ? {} : { reason: given }) };
}
