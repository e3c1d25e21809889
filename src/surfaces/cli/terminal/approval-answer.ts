import type { ApprovalAnswer, PendingApproval } from "../../../core/approval.ts";
import { oneLine } from "../render/printable.ts";
import type { Style } from "../render/style.ts";

const ARGUMENTS_SHOWN = 500;

/** A call that waits for somebody's word, on one line. */
export function renderCall({ tool, args }: PendingApproval, style: Style): string {
  const shown = oneLine(JSON.stringify(args) ?? "", ARGUMENTS_SHOWN);
  return `${style.yellow("→")} ${style.bold(oneLine(tool, 80))} ${shown}`;
}

export const APPROVAL_QUESTION = "Run it? yes, or no and why › ";

/** Everything that is no plain yes is a no, and what is said with it is the reason. */
export function answerOf(line: string): ApprovalAnswer {
  if (/^\s*(?:y|yes|ok|allow)[\s.!]*$/i.test(line)) return { decision: "allow" };
  const reason = line.replace(/^\s*(?:no|n|deny)\b[\s,.:;-]*/i, "").trim();
  return reason === "" ? { decision: "deny" } : { decision: "deny", reason };
}
