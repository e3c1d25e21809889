import { type Message, toolResults } from "./message.ts";

/** A tool call that the user refused, as the transcript of another agent has its result. */
export interface Refusal {
  readonly reason?: string;
}

/** The sentences that agents write in the place of a result. The output of a tool that only quotes one begins otherwise. */
const REFUSED =
  /^(?:The user doesn't want to (?:proceed with|take) this (?:tool use|action)|The user rejected permission to use this|(?:exec command|command|patch) rejected by user|rejected by user\.?$|(?:\[Operation Cancelled\] Reason: )?User did not allow tool call|Blocked by user\b)/i;

/** The words before the reason. */
const REASON = /the user said:\s*|with the following feedback:\s*/i;

/** The calls that the user refused, by the results of a message. */
export function refusalsIn(
  message: Message,
): readonly (Refusal & { readonly toolUseId: string })[] {
  return toolResults(message).flatMap(({ tool_use_id: toolUseId, content, is_error }) => {
    const refusal = is_error ? refusalIn(content) : undefined;
    return refusal ? [{ toolUseId, ...refusal }] : [];
  });
}

/** The refusal that a result tells of; nothing for another result. */
export function refusalIn(content: string): Refusal | undefined {
  if (!REFUSED.test(content)) return undefined;
  const at = REASON.exec(content);
  const reason = at ? content.slice(at.index + at[0].length).trim() : "";
  return reason === "" ? {} : { reason };
}
