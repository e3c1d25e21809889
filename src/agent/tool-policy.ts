import { TOOL_POLICIES, type ToolPolicy } from "../core/approval.ts";

/** Policies by tool name, or by a pattern in which `*` stands for any text. */
export type ToolPolicies = Readonly<Record<string, ToolPolicy>>;

interface PolicyTool {
  readonly name: string;
  /** The tool's own policy. */
  readonly policy?: ToolPolicy | undefined;
  /** One of rkat's own tools. They change nothing outside of rkat, so `*` does not apply to them. */
  readonly builtin: boolean;
}

/**
 * The policy for a tool. The first match counts:
 *
 *     its name  ─►  the pattern with the most letters  ─►  the tool's own  ─►  "*"  ─►  allow
 *
 * Of several patterns with as many letters, the strictest counts.
 */
export function policyOf(tool: PolicyTool, policies: ToolPolicies): ToolPolicy {
  const { name, policy, builtin } = tool;
  if (Object.hasOwn(policies, name)) return exactPolicy(policies[name]);
  const patterns = Object.keys(policies).filter(
    (pattern) => pattern !== "*" && pattern.includes("*") && matches(pattern, name),
  );
  if (patterns.length > 0) {
    const most = patterns.reduce((most, pattern) => Math.max(most, lettersOf(pattern)), 0);
    const longest = patterns.filter((pattern) => lettersOf(pattern) === most);
    return longest.map((pattern) => exactPolicy(policies[pattern])).reduce(stricter);
  }
  return exactPolicy(policy ?? (builtin ? undefined : policies["*"]) ?? "allow");
}

/** A value that is not exactly a policy denies. */
function exactPolicy(value: unknown): ToolPolicy {
  return TOOL_POLICIES.find((policy) => policy === value) ?? "deny";
}

const STRICTNESS: Readonly<Record<ToolPolicy, number>> = { allow: 0, ask: 1, deny: 2 };

export function stricter(one: ToolPolicy, other: ToolPolicy): ToolPolicy {
  return STRICTNESS[one] >= STRICTNESS[other] ? one : other;
}

/**
 * Whether a name fits a pattern. Each part between two `*` is taken at the first place where it
 * stands, so nothing is tried twice.
 */
function matches(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop() ?? "";
  if (first.length + last.length > name.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

function lettersOf(pattern: string): number {
  return pattern.replaceAll("*", "").length;
}
