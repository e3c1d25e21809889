import type { Issue } from "./issues.ts";
import { isSummary, type Message, toolResults, toolUses } from "./message.ts";

/**
 * What is wrong with messages that are to be appended to a history. After them no tool call may be
 * open, because providers refuse a history with a call that has no result:
 *
 *     U A T A      good
 *     U A          good, if A calls no tool
 *     U A(call)    the result is missing
 *     T A          the call is missing
 */
export function issuesOfBatch(messages: readonly Message[]): readonly Issue[] {
  return messages.flatMap((message, index): Issue[] => {
    const problem = isSummary(message)
      ? "is a summary, which only a compaction writes"
      : (problemOfCalls(message, messages[index + 1]) ??
        problemOfResults(message, messages[index - 1]));
    return problem === undefined ? [] : [{ path: [index], message: problem }];
  });
}

/** Each call has its own id, and the next message has its result. */
function problemOfCalls(message: Message, next: Message | undefined): string | undefined {
  const calls = toolUses(message).map(({ id }) => id);
  const results = idsOfResults(next);
  const twice = calls.find((id, index) => calls.indexOf(id) < index);
  if (twice !== undefined) return `calls two tools with the id "${twice}"`;
  const open = calls.find((id) => !results.includes(id));
  if (open !== undefined)
    return `calls a tool with the id "${open}", and the next message has no result of it`;
  return undefined;
}

/** Each result belongs to a call of the message before, and comes once. */
function problemOfResults(message: Message, before: Message | undefined): string | undefined {
  const calls = before ? toolUses(before).map(({ id }) => id) : [];
  const results = idsOfResults(message);
  const stray = results.find((id, index) => !calls.includes(id) || results.indexOf(id) < index);
  if (stray === undefined) return undefined;
  return calls.includes(stray)
    ? `has two results of the call "${stray}"`
    : `has a result of the call "${stray}", which the message before does not make`;
}

function idsOfResults(message: Message | undefined): readonly string[] {
  return message ? toolResults(message).map((result) => result.tool_use_id) : [];
}
