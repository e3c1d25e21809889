import { Option } from "commander";
import type { Config } from "../../../config/config.ts";
import { hasCapability } from "../../../config/workspace.ts";
import type { PendingApproval } from "../../../core/approval.ts";
import type { Asking } from "../cli-context.ts";
import { styleFor } from "../render/style.ts";
import { ApprovalPrompt } from "../terminal/approval-prompt.ts";
import type { PromptSource } from "../terminal/read-prompt.ts";
import type { Terminal } from "../terminal/terminal.ts";

/**
 * What a run does with a call that needs approval: ask here, leave it to
 * whoever answers in time, end the turn with the call waiting, or deny it.
 */
export type OnApproval = "prompt" | "wait" | "pause" | "deny";

export function onApprovalOption(): Option {
  const ways = ["prompt", "wait", "pause", "deny"] satisfies OnApproval[];
  return new Option(
    "--on-approval <how>",
    "when a tool needs approval: ask here, wait for an answer from elsewhere, end the turn with the call waiting, or deny (default: prompt on a terminal, else pause)",
  ).choices(ways);
}

/** Whom a run asks. */
export function askingOf(
  terminal: Terminal,
  asked: OnApproval | undefined,
  config: Config,
): Asking {
  switch (asked ?? wayFor(terminal, config)) {
    case "prompt": {
      const prompt = new ApprovalPrompt(terminal, styleFor(terminal.stderr, terminal.env));
      return { approve: (call, { signal }) => prompt.ask(call, signal) };
    }
    case "wait":
      return {};
    case "pause":
      return { timeoutMs: 0 };
    case "deny":
      return { approve: deny };
  }
}

/** Where the prompt is read from: not from where answers are. */
export function promptSource(terminal: Terminal, asked: OnApproval | undefined): PromptSource {
  const { stdin, stderr } = terminal;
  if (asked !== "prompt") return terminal;
  return {
    stderr,
    stdin: { isTerminal: true, [Symbol.asyncIterator]: () => stdin[Symbol.asyncIterator]() },
  };
}

function wayFor({ stdin }: Terminal, config: Config): OnApproval {
  if (stdin.isTerminal) return "prompt";
  if (config.given("approvals.timeout") !== undefined) return "wait";
  // A session that is not kept has nobody who could answer later.
  return hasCapability(config, "session-store") ? "pause" : "deny";
}

function deny({ tool }: PendingApproval) {
  const reason = `${tool} needs approval, and nobody is here to ask.`;
  return { decision: "deny", reason, by: "settings" } as const;
}
