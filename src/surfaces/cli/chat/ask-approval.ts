import type { ApprovalAnswer, PendingApproval } from "../../../core/approval.ts";
import { APPROVAL_QUESTION, answerOf, renderCall } from "../terminal/approval-answer.ts";
import type { Chat } from "./chat.ts";

/**
 * Asks at the prompt whether a call may run. `undefined` when nothing was said,
 * because nobody wanted to or somebody else has answered.
 */
export async function askApproval(
  call: PendingApproval,
  chat: Chat,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  await chat.say(renderCall(call, chat.style));
  const typed = await chat.editor.read(chat.style.cyan(APPROVAL_QUESTION), signal);
  return typed.type === "text" ? answerOf(typed.text) : undefined;
}
