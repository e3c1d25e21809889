import { type Command, Option } from "commander";
import type { Asking } from "../../app/open-project-service.ts";
import type { Config } from "../../config/config.ts";
import { untrustedNote } from "../../config/load-config.ts";
import { duration, text, wholeNumber, wholeNumberOrNone } from "../../config/setting-kind.ts";
import { PROJECT_TOOLS } from "../../config/settings.ts";
import { misspeltTools } from "../../config/tool-names.ts";
import { hasCapability, type Workspace } from "../../config/workspace.ts";
import type { PendingApproval } from "../../core/approval.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import type { CompactionSettings } from "../../core/operations/request-fields.ts";
import type { CreateSession } from "../../core/operations/sessions.ts";
import type { Budget } from "../../core/operations/turns.ts";
import { warn } from "../../core/warn.ts";
import { styleFor } from "../render/style.ts";
import { ApprovalPrompt } from "../terminal/approval-prompt.ts";
import type { PromptSource } from "../terminal/input-file.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { flagOf, labelFlag, listFlag } from "./flags.ts";

/** The flags of every command that runs one turn. */
export interface TurnFlags extends RunFlags {
  readonly output: OutputForm;
  readonly onApproval?: OnApproval;
  readonly quiet?: true;
}

export interface RunFlags extends CompactionFlags, ToolFlags {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly maxTotalTokens?: number;
  readonly maxDuration?: number;
  readonly maxToolCalls?: number;
  readonly stream?: boolean;
  readonly verbose?: true;
}

/** The threshold of compaction, and the sizes that it keeps. */
export interface CompactionFlags {
  readonly autoCompactThreshold?: number;
  readonly compactThreshold?: number;
  readonly recentTurnBudget?: number;
  readonly maxSummaryTokens?: number;
  readonly minTurnsBetweenCompactions?: number;
  readonly windowSize?: number;
}

/** Text for people, the whole result as JSON, or events as they happen. */
export type OutputForm = "text" | "json" | "jsonl";

const count = flagOf(wholeNumber);

export function addTurnFlags(command: Command): Command {
  return addRunFlags(command)
    .addOption(
      new Option("--quiet", "print the answer, and on stderr only what went wrong").conflicts(
        "verbose",
      ),
    )
    .addOption(outputOption())
    .addOption(onApprovalOption());
}

/** The flags of a turn that a person watches. */
export function addRunFlags(command: Command): Command {
  addToolFlags(addModelFlags(command))
    .option("--max-total-tokens <n>", "limit of input and output tokens of this run", count)
    .option("--max-duration <time>", "time limit of this run: 90s, 1h30m", flagOf(duration))
    .option("--max-tool-calls <n>", "limit of tool calls of this run", count);
  return addCompactionFlags(command)
    .option("-s, --stream", "print the answer as it arrives (default on a terminal)")
    .option("--no-stream", "print the answer when it is complete")
    .option("-v, --verbose", "print events to stderr");
}

export function addModelFlags(command: Command): Command {
  return command
    .option("-m, --model <provider/model>", "the model that answers", flagOf(text))
    .option("--max-tokens <n>", "limit of output tokens of one model call", count);
}

export function addCompactionFlags(command: Command): Command {
  return command
    .option("--auto-compact-threshold <n>", "compact the history at this many tokens", count)
    .addOption(alias("--compact-threshold <n>"))
    .option("--recent-turn-budget <n>", "turns that a compaction keeps", flagOf(wholeNumberOrNone))
    .option("--max-summary-tokens <n>", "limit of tokens of a summary", count)
    .option(
      "--min-turns-between-compactions <n>",
      "at least this many model calls between compactions",
      count,
    )
    .option("--window-size <n>", "messages to keep; compact at twice as many", count);
}

export function outputOption(): Option {
  const forms = ["text", "json", "jsonl"] satisfies OutputForm[];
  return new Option("--output <form>", "what to print").choices(forms).default("text");
}

/** The compaction settings of the flags; undefined when there are none. */
export function compactionOf(flags: CompactionFlags): CompactionSettings | undefined {
  const compaction = given({
    autoCompactThreshold: flags.autoCompactThreshold ?? flags.compactThreshold,
    recentTurnBudget: flags.recentTurnBudget,
    maxSummaryTokens: flags.maxSummaryTokens,
    minTurnsBetweenCompactions: flags.minTurnsBetweenCompactions,
    windowSize: flags.windowSize,
  });
  return Object.keys(compaction).length > 0 ? compaction : undefined;
}

/** The limits of a run, from the flags or else from the settings. */
export function budgetOf(flags: RunFlags, config: Config): Budget {
  return given({
    maxTotalTokens: flags.maxTotalTokens ?? config.get("budget.max_total_tokens"),
    maxDurationMs: flags.maxDuration ?? config.get("budget.max_duration"),
    maxToolCalls: flags.maxToolCalls ?? config.get("budget.max_tool_calls"),
  });
}

function alias(flags: string): Option {
  return new Option(flags, "same as --auto-compact-threshold").argParser(count).hideHelp();
}

/** The flags of every command that creates a session. */
export interface SessionFlags extends CompactionFlags {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly systemPrompt?: string;
  readonly memory?: boolean;
  readonly enableMemory?: true;
  readonly knowledge?: boolean;
  readonly approval?: Readonly<Record<string, string>>;
  readonly label?: Readonly<Record<string, string>>;
}

export function addSessionFlags(command: Command): Command {
  return command
    .option("--system-prompt <text>", "the system prompt of the session")
    .option("--memory", "let the session search memory (default)")
    .option("--no-memory", "do not let the session search memory")
    .addOption(new Option("--enable-memory", "same as --memory").hideHelp())
    .option("--knowledge", "follow the project's rules, and learn from the session (default)")
    .option("--no-knowledge", "neither follow rules nor learn")
    .option(
      "--approval <tool=policy>",
      "ask before calls of a tool, or deny them: write_file=ask, 'fs_*=deny' (repeatable)",
      labelFlag,
    )
    .option("-l, --label <name=value>", "label the session (repeatable)", labelFlag);
}

/**
 * The session that the flags ask for.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when neither the flags nor the settings name a model.
 */
export function sessionOf(flags: SessionFlags, { config, files }: Workspace): CreateSession {
  const model = flags.model ?? config.get("model");
  if (!model) {
    throw new SessionError("MODEL_UNAVAILABLE", {
      message: "No model is configured.",
      hint:
        untrustedNote(config, "model") ??
        `Name one: -m anthropic/claude-sonnet-4-5 (needs ANTHROPIC_API_KEY), or -m ollama/llama3.2 (needs no key). To keep it, set RKAT_MODEL, or model = "…" in ${files.user ?? files.project}. \`rkat config\` shows what is set.`,
    });
  }
  const asked = Object.keys(flags.approval ?? {});
  for (const text of misspeltTools(asked, (name) => `--approval ${name}`)) warn(text);
  return given({
    // Named also when it is the default: the service then makes the model before the session.
    model,
    systemPrompt: flags.systemPrompt,
    maxTokens: flags.maxTokens,
    // `--memory` fails where memory is off; the default of the settings does not.
    memory:
      flags.enableMemory ?? flags.memory ?? (config.get("memory.enabled") ? undefined : false),
    compaction: compactionOf(flags),
    knowledge: flags.knowledge,
    approvals: flags.approval as CreateSession["approvals"],
    labels: flags.label,
  });
}

/**
 * The handling of a tool call that needs approval, during a run:
 *
 *     prompt   asks here
 *     wait     waits for an answer from elsewhere, for example `rkat approvals allow`
 *     pause    ends the turn; the call waits
 *     deny     denies it
 */
type OnApproval = "prompt" | "wait" | "pause" | "deny";

/** The tools that the model has in the project's folder, and those that need no approval. */
interface ToolFlags {
  readonly tools?: (typeof PROJECT_TOOLS)[number];
  readonly mcp?: boolean;
  readonly allow?: readonly string[];
}

function addToolFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--tools <which>",
        "the model's tools for the project's folder: all, those that only read, or none (default: all, or the setting tools.project)",
      ).choices(PROJECT_TOOLS),
    )
    .option("--no-mcp", "start no MCP servers, and give the model none of their tools")
    .option(
      "--allow <tool>",
      "run calls of this tool without approval, unless a policy denies them (repeatable)",
      listFlag,
    );
}

function onApprovalOption(): Option {
  const ways = ["prompt", "wait", "pause", "deny"] satisfies OnApproval[];
  return new Option(
    "--on-approval <how>",
    "when a tool call needs approval: ask here, wait for an answer from elsewhere, pause the turn, or deny the call (default: prompt on a terminal, else pause)",
  ).choices(ways);
}

/** The approver of a run's tool calls, and the tools of its model. */
export function askingOf(
  terminal: Terminal,
  { onApproval, ...flags }: ToolFlags & { readonly onApproval?: OnApproval },
  config: Config,
): Asking {
  return { ...approverOf(terminal, onApproval, config), ...toolsOf(flags, config) };
}

/** The tools for the project's folder, from the flags or else from the settings. */
export function toolsOf({ tools, mcp, allow }: ToolFlags, config: Config): Asking {
  return { tools: tools ?? config.get("tools.project"), ...given({ mcp, allow }) };
}

/** For commands that say how large the next request is: the definitions of a chat's tools take room in it. */
export const COUNTS_TOOLS: {
  readonly asking: (workspace: Workspace) => Asking;
  readonly saysTools: boolean;
} = { asking: ({ config }) => toolsOf({}, config), saysTools: false };

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

/** The source of the prompt. When answers come from standard input, the prompt does not. */
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
