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
 * What a run does with a tool call that needs approval:
 *
 *     prompt   asks here
 *     wait     waits for an answer from elsewhere, for example `rkat approvals allow`
 *     pause    ends the turn; the call waits
 *     deny     denies it
 */
export type OnApproval = "prompt" | "wait" | "pause" | "deny";

export function onApprovalOption(): Option {
  const ways = ["prompt", "wait", "pause", "deny"] satisfies OnApproval[];
  return new Option(
    "--on-approval <how>",
    "when a tool call needs approval: ask here, wait for an answer from elsewhere, pause the turn, or deny the call (default: prompt on a terminal, else pause)",
  ).choices(ways);
}

/** Who approves the tool calls of a run. */
export function askingOf(
  terminal: Terminal,
  asked: OnApproval | undefined,
  config: Config,
): Asking {
  switch (asked ?? wayFor(terminal, config)) {
    case "prompt": {
      const prompt = new ApprovalPrompt(terminal, styleFor(terminal.stderr, terminal.env));
      return { approve: (call, options) => prompt.ask(call, options) };
    }
    case "wait":
      return {};
    case "pause":
      return { timeoutMs: 0 };
    case "deny":
      return { approve: deny };
  }
}

/** Where the prompt is read from. When answers come from standard input, the prompt does not. */
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
  // A session that is not kept is gone before anyone could answer.
  return hasCapability(config, "session-store") ? "pause" : "deny";
}

function deny({ tool }: PendingApproval) {
  const reason = `${tool} needs approval, and there is no terminal to ask on.`;
  return { decision: "deny", reason, by: "settings" } as const;
}
