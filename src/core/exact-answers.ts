import type { AllowedCalls, ApprovalAnswer } from "./approval.ts";
import { errorText } from "./errors.ts";
import { issuesText } from "./issues.ts";
import { type Check, group, oneOf, someText, text } from "./options.ts";

const allowedCalls = group({ tool: text, command: someText }, ["tool"]);

/** What a tool, a file or a program says is allowed, if it says exactly that. Anything else allows nothing. */
export function exactlyAllowed(value: unknown): AllowedCalls | undefined {
  return exactly(allowedCalls, value).data as AllowedCalls | undefined;
}

const answer = group(
  {
    decision: oneOf("allow", "deny"),
    reason: someText,
    by: oneOf("user", "model", "settings"),
    always: oneOf("session", "project"),
  },
  ["decision"],
);

/** An answer from outside. What is not exactly an allowance is a denial, and its reason says what it was. */
export function exactAnswer(value: unknown): ApprovalAnswer {
  const { data, why } = exactly(answer, value);
  if (data !== undefined) return data as ApprovalAnswer;
  return {
    decision: "deny",
    by: "settings",
    reason: `The answer to the request for approval is not { decision: "allow" } or { decision: "deny" }: ${why}.`,
  };
}

/** The fields of a value are read once: a getter may say something else the next time. */
function exactly(check: Check, value: unknown): { readonly data?: unknown; readonly why?: string } {
  try {
    const plain =
      typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : value;
    const issues = check(plain);
    return issues.length === 0 ? { data: plain } : { why: issuesText(issues) };
  } catch (error) {
    return { why: errorText(error) };
  }
}
