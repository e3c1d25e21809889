/** A tool call that the user refused, as the transcript of another agent has its result. */
export interface Refusal {
  readonly reason?: string;
}

/** What agents write in the place of a result. The output of a tool that only quotes it begins otherwise. */
const REFUSED =
  /^(?:The user doesn't want to (?:proceed with|take) this (?:tool use|action)|The user rejected permission to use this|(?:exec command|command|patch) rejected by user)/i;

/** What stands before the reason. */
const REASON = /the user said:\s*|with the following feedback:\s*/i;

/** The refusal that a result tells of; nothing for another result. */
export function refusalIn(content: string): Refusal | undefined {
  if (!REFUSED.test(content)) return undefined;
  const at = REASON.exec(content);
  const reason = at ? content.slice(at.index + at[0].length).trim() : "";
  return reason === "" ? {} : { reason };
}
