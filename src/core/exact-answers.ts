import { z } from "zod";
import type { AllowedCalls, ApprovalAnswer } from "./approval.ts";
import { errorText } from "./errors.ts";
import { issuesOf, issuesText } from "./issues.ts";

const allowedCalls = z.strictObject({
  tool: z.string().min(1),
  command: z.string().optional(),
});

/** What a tool, a file or a program says is allowed, if it says exactly that. Anything else allows nothing. */
export function exactlyAllowed(value: unknown): AllowedCalls | undefined {
  return parsed(allowedCalls, value).data as AllowedCalls | undefined;
}

const answer = z.strictObject({
  decision: z.enum(["allow", "deny"]),
  reason: z.string().optional(),
  by: z.enum(["user", "model", "settings"]).optional(),
  always: z.enum(["session", "project"]).optional(),
});

/** An answer from outside. What is not exactly an allowance is a denial, and its reason says what it was. */
export function exactAnswer(value: unknown): ApprovalAnswer {
  const { data, why } = parsed(answer, value);
  if (data) return data as ApprovalAnswer;
  return {
    decision: "deny",
    by: "settings",
    reason: `The answer to the request for approval is not { decision: "allow" } or { decision: "deny" }: ${why}.`,
  };
}

/** The fields of a value are read once: a getter may say something else the next time. */
function parsed<Value>(
  schema: z.ZodType<Value>,
  value: unknown,
): { readonly data?: Value; readonly why?: string } {
  try {
    const plain = typeof value === "object" && value !== null ? { ...value } : value;
    const { data, error } = schema.safeParse(plain);
    return error ? { why: issuesText(issuesOf(error)) } : { data: data as Value };
  } catch (error) {
    return { why: errorText(error) };
  }
}
