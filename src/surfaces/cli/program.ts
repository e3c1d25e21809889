import { Command } from "commander";
import type { CliContext } from "./cli-context.ts";
import { loadMemoryCommand } from "./commands/memory/memory-command.ts";

type Register = (program: Command, context: CliContext) => void;

/**
 * The commands in the order of the help, by their names. Each is loaded only
 * when it is named, or when all have to be known; that of `rkat memory search`, which people wait for, at once.
 */
const COMMANDS: readonly {
  readonly names: readonly string[];
  /** `next` is the argument after the name. */
  load(next: string | undefined): Promise<Register>;
}[] = [
  { names: ["run"], load: async () => (await import("./commands/run-command.ts")).runCommand },
  {
    names: ["resume", "continue", "c"],
    load: async () => (await import("./commands/resume-command.ts")).resumeCommand,
  },
  { names: ["chat"], load: async () => (await import("./chat/chat-command.ts")).chatCommand },
  {
    names: ["sessions"],
    load: async () => (await import("./commands/sessions/sessions-command.ts")).sessionsCommand,
  },
  {
    names: ["history"],
    load: async () => (await import("./commands/history-command.ts")).historyCommand,
  },
  { names: ["memory"], load: loadMemoryCommand },
  {
    names: ["approvals"],
    load: async () => (await import("./commands/approvals-command.ts")).approvalsCommand,
  },
  {
    names: ["knowledge"],
    load: async () => (await import("./commands/knowledge/knowledge-command.ts")).knowledgeCommand,
  },
  {
    names: ["replay"],
    load: async () => (await import("./commands/replay-command.ts")).replayCommand,
  },
  { names: ["rpc"], load: async () => (await import("./commands/rpc-command.ts")).rpcCommand },
  {
    names: ["serve"],
    load: async () => (await import("./commands/serve-command.ts")).serveCommand,
  },
  { names: ["mcp"], load: async () => (await import("./commands/mcp-command.ts")).mcpCommand },
  { names: ["init"], load: async () => (await import("./commands/init-command.ts")).initCommand },
  {
    names: ["config"],
    load: async () => (await import("./commands/config-command.ts")).configCommand,
  },
  {
    names: ["capabilities"],
    load: async () => (await import("./commands/capabilities-command.ts")).capabilitiesCommand,
  },
  {
    names: ["doctor"],
    load: async () => (await import("./commands/doctor-command.ts")).doctorCommand,
  },
];

/** The `rkat` command: what it can be told, and who does it. */
export async function createProgram(
  args: readonly string[],
  context: CliContext,
  options: { readonly onBadUsage: "say" | "throw" } = { onBadUsage: "say" },
): Promise<Command> {
  const { stdout, stderr } = context.terminal;
  const program = new Command("rkat")
    .description("Sessions that remember: an agent that outlives its context window.")
    .version(context.version, "-V, --version", "print the version")
    .option("--dir <path>", "the project's folder (default: the one around the current folder)")
    .helpOption("-h, --help", "print this")
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => {
        if (options.onBadUsage === "say") void stderr.write(text);
      },
      getOutHelpWidth: () => stdout.columns,
      getErrHelpWidth: () => stderr.columns,
    })
    .exitOverride();
  for (const register of await commandsFor(args)) register(program, context);
  return program.addHelpText("after", EXAMPLES);
}

const EXAMPLES = `
Examples:
  rkat -m anthropic/claude-sonnet-4-5 "what does this project do?"
  git diff | rkat "review this"
  rkat continue "and the tests?"
  rkat memory search "why did we choose SQLite"
`;

/** The version, and a command that is named, need no other. */
function commandsFor(args: readonly string[]): Promise<readonly Register[]> {
  const [first = "", next] = args[0] === "--dir" ? args.slice(2) : args;
  if (first === "-V" || first === "--version") return Promise.resolve([]);
  const named = COMMANDS.filter(({ names }) => names.includes(first));
  return Promise.all((named.length > 0 ? named : COMMANDS).map(({ load }) => load(next)));
}
