import { type Command, Option } from "commander";
import type { Config } from "../../../config/config.ts";
import { PROJECT_TOOLS } from "../../../config/settings.ts";
import { hasCapability } from "../../../config/workspace.ts";
import type { PendingApproval } from "../../../core/approval.ts";
import { given } from "../../../core/fields.ts";
import type { Asking } from "../cli-context.ts";
import { styleFor } from "../render/style.ts";
import { ApprovalPrompt } from "../terminal/approval-prompt.ts";
import type { PromptSource } from "../terminal/read-prompt.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { listFlag } from "./flags.ts";

/**
 * What a run does with a tool call that needs approval:
 *
 *     prompt   asks here
 *     wait     waits for an answer from elsewhere, for example `rkat approvals allow`
 *     pause    ends the turn; the call waits
 *     deny     denies it
 */
export type OnApproval = "prompt" | "wait" | "pause" | "deny";

/** What the model can do in the project's folder. */
export interface ToolFlags {
  readonly tools?: (typeof PROJECT_TOOLS)[number];
  readonly allow?: readonly string[];
}

export function addToolFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--tools <which>",
        "the model's tools for the project's folder: all, those that only read, or none (default: all, or the setting tools.project)",
      ).choices(PROJECT_TOOLS),
    )
    .option(
      "--allow <tool>",
      "run calls of this tool without approval, unless a policy denies them (repeatable)",
      listFlag,
    );
}

export function onApprovalOption(): Option {
  const ways = ["prompt", "wait", "pause", "deny"] satisfies OnApproval[];
  return new Option(
    "--on-approval <how>",
    "when a tool call needs approval: ask here, wait for an answer from elsewhere, pause the turn, or deny the call (default: prompt on a terminal, else pause)",
  ).choices(ways);
}

/** Who approves the tool calls of a run, and which tools its model has. */
export function askingOf(
  terminal: Terminal,
  { onApproval, ...flags }: ToolFlags & { readonly onApproval?: OnApproval },
  config: Config,
): Asking {
  return { ...approverOf(terminal, onApproval, config), ...toolsOf(flags, config) };
}

/** The tools for the project's folder, from the flags or else from the settings. */
export function toolsOf({ tools, allow }: ToolFlags, config: Config): Asking {
  return { tools: tools ?? config.get("tools.project"), ...given({ allow }) };
}

function approverOf(
  terminal: Terminal,
  asked: OnApproval | undefined,
  config: Config,
): Pick<Asking, "approve" | "timeoutMs"> {
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
