import { parseArgs } from "node:util";
import { Command, CommanderError, Help } from "commander";
import { causeTexts, ERRORS, SessionError, withoutPassword } from "../core/errors.ts";
import { shellWord } from "../text/quoting.ts";
import { calledIn, withCalls } from "./called-in.ts";
import type { CliContext } from "./cli-context.ts";
import { addExamples } from "./command-examples.ts";
import { describeCommands } from "./command-list.ts";
import { wrapText } from "./render/printable.ts";
import { exitCodeOf, failureJson, jsonText, printEnd, printFailure } from "./terminal/print.ts";

/** Runs one command line and returns the exit code of the process. */
export async function main(given: readonly string[], of: CliContext): Promise<number> {
  const context = isPlain(given) ? withoutColours(of) : of;
  const { stdin, stdout, stderr } = context.terminal;
  // A person who types `rkat` alone looks for what it can do. A script pipes a prompt in.
  const args = given.length === 0 && stdin.isTerminal ? ["--help"] : given;
  const form = scriptForm(args);
  context.isScript = form !== undefined;
  const program = await createProgram(args, context);
  try {
    await program.parseAsync(args, { from: "user" });
    context.warnings.end();
    return context.exitCode;
  } catch (thrown) {
    const isUsage = thrown instanceof CommanderError;
    if (isUsage && thrown.exitCode === 0) return 0;
    // `rkat memory` alone prints its help.
    if (isUsage && thrown.code === "commander.help" && !form) return ERRORS.INVALID_PARAMS.exitCode;
    const error = isUsage
      ? usageError(thrown, namedCommand(program, args))
      : withCalls(SessionError.from(thrown), context.rkat);
    context.warnings.end(...causeTexts(error));
    if (form === "jsonl") await printEnd(stdout, "error", failureJson(error));
    if (form) await stderr.write(`${jsonText(failureJson(error))}\n`);
    else await printFailure(context.terminal, error);
    return exitCodeOf(error);
  }
}

/** Read from the bare arguments, because commands choose their colours before these are parsed. */
function isPlain(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).includes("--no-color");
}

function withoutColours(context: CliContext): CliContext {
  const { terminal } = context;
  return { ...context, terminal: { ...terminal, env: { ...terminal.env, NO_COLOR: "1" } } };
}

/**
 * The form in which a script wants its answer; undefined for people. Read from
 * the bare arguments, because wrong arguments are answered in this form too.
 */
function scriptForm(args: readonly string[]): "json" | "jsonl" | undefined {
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: { json: { type: "boolean" }, output: { type: "string" } },
  });
  if (values.output === "json" || values.output === "jsonl") return values.output;
  return values.json === true ? "json" : undefined;
}

/** The command line that calls rkat again, with the flags that came before the command: `rkat --dir 'my notes' --user ada`. */
function calledAs(program: Command): string {
  const words = program.options.flatMap((option) => {
    const value: unknown = program.getOptionValue(option.attributeName());
    if (!option.required || typeof value !== "string") return [];
    return [`${option.long} ${shellWord(withoutPassword(value))}`];
  });
  return ["rkat", ...words].join(" ");
}

/** Reads "error: unknown command 'serch'\n(Did you mean search?)". */
function usageError({ code, message }: CommanderError, command: string): SessionError {
  const text = code === "commander.help" ? "a subcommand is missing" : plainly(message);
  const [said = "", guess] = text.replace(/^error: /, "").split("\n");
  const hint = `\`${command} --help\` lists what it takes.`;
  return new SessionError("INVALID_PARAMS", {
    message: `${said.charAt(0).toUpperCase()}${said.slice(1)}${said.endsWith(".") ? "" : "."}`,
    hint: guess ? `${guess.slice(1, -1)} ${hint}` : hint,
  });
}

/** Rewords messages of commander: "Command-argument value 'x' is invalid for argument 'agent'." */
function plainly(message: string): string {
  const [, argument, name] =
    /^error: [Cc]ommand-argument value '(.*?)' is invalid for argument '(.*?)'\./s.exec(message) ??
    [];
  const [, flag, value] =
    /^error: [Oo]ption '(.*?)' argument '(.*?)' is invalid\./s.exec(message) ?? [];
  const start = message.indexOf("' is invalid");
  const rest = start < 0 ? "" : message.slice(message.indexOf(".", start) + 1);
  if (argument !== undefined) return `"${argument}" is not valid for <${name}>.${rest}`;
  return flag === undefined ? message : `"${value}" is not valid for ${flag}.${rest}`;
}

/** The command that the arguments name: `rkat memory search`. */
function namedCommand(program: Command, args: readonly string[]): string {
  const names = [program.name()];
  let command: Command | undefined = program;
  for (const arg of behindOptions(args)) {
    command = command.commands.find((each) => each.name() === arg || each.aliases().includes(arg));
    if (!command) break;
    names.push(command.name());
  }
  return names.join(" ");
}

type Register = (program: Command, context: CliContext, names: readonly string[]) => void;

/** Loads a command. `next` is the argument after its name. */
type Load = (next: string | undefined) => Promise<Register>;

const runCommands = () => import("./commands/run-commands.ts");
const serveCommands = () => import("./commands/serve-commands.ts");
const installCommands = () => import("./commands/install-commands.ts");
const backupCommands = () => import("./commands/backup-commands.ts");
const settingsCommands = () => import("./commands/settings-commands.ts");

/**
 * The commands by name, in the order of the help. They are loaded lazily: the one that is named, or `run` for a prompt.
 * All are loaded only for completions, and for words that may be a command without its group.
 */
const COMMANDS: Readonly<Record<string, Load>> = {
  run: async () => (await runCommands()).runCommand,
  "resume continue c": async () => (await runCommands()).resumeCommands,
  chat: async () => (await import("./chat/chat-command.ts")).chatCommand,
  sessions: async () => (await import("./commands/sessions/sessions-command.ts")).sessionsCommand,
  history: async () => (await import("./commands/history-command.ts")).historyCommand,
  memory: async (next) =>
    (await import("./commands/memory/memory-command.ts")).loadMemoryCommand(next),
  approvals: async () => (await import("./commands/approvals-command.ts")).approvalsCommand,
  knowledge: async () => (await import("./commands/knowledge-command.ts")).knowledgeCommand,
  import: async () => (await import("./commands/import-command.ts")).importCommand,
  install: async () => (await installCommands()).installCommand,
  uninstall: async () => (await installCommands()).uninstallCommand,
  hook: async () => (await import("./commands/run-hook.ts")).hookCommand,
  handoff: async () => (await import("./commands/handoff-command.ts")).handoffCommand,
  replay: async () => (await import("./commands/replay-command.ts")).replayCommand,
  rpc: async () => (await serveCommands()).rpcCommand,
  serve: async () => (await serveCommands()).serveCommand,
  mcp: async () => (await serveCommands()).mcpCommand,
  inspect: async () => (await import("./commands/inspect-command.ts")).inspectCommand,
  embeddings: async () => (await import("./commands/embeddings-command.ts")).embeddingsCommand,
  init: async () => (await settingsCommands()).initCommand,
  trust: async () => (await settingsCommands()).trustCommand,
  move: async () => (await import("./commands/backup-commands.ts")).moveCommand,
  backup: async () => (await backupCommands()).backupCommand,
  restore: async () => (await backupCommands()).restoreCommand,
  export: async () => (await backupCommands()).exportCommand,
  config: async () => (await settingsCommands()).configCommand,
  capabilities: async () => (await settingsCommands()).capabilitiesCommand,
  doctor: async () => (await import("./commands/doctor-command.ts")).doctorCommand,
  repair: async () => (await import("./commands/doctor-command.ts")).repairCommand,
};

/** The `rkat` command with the subcommands that the arguments need. */
export async function createProgram(
  args: readonly string[],
  context: CliContext,
): Promise<Command> {
  const { stdout, stderr } = context.terminal;
  const program = new Command("rkat")
    .description("Sessions that remember: an agent that outlives its context window.")
    .version(context.version, "-V, --version", "print the version")
    .option("--dir <path>", "the project's folder (default: the one around the current folder)")
    .option("--user <name>", "act for this user, and see nothing of others (default: RKAT_USER)")
    .option("--store <address>", "a PostgreSQL database instead of the file (default: RKAT_STORE)")
    .option("--no-color", "print no colours; also with NO_COLOR set")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .configureHelp({
      showGlobalOptions: true,
      sortSubcommands: false,
      minWidthToWrap: 30,
      formatItem: helpItem,
    })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      // `main` prints the error.
      outputError: () => {},
      getOutHelpWidth: () => stdout.columns,
      getErrHelpWidth: () => stderr.columns,
    })
    .hook("preAction", (called) => {
      context.rkat = calledAs(called);
      context.warnings.shown = (text) => calledIn(text, context.rkat);
    })
    .exitOverride();
  for (const register of await commandsFor(args)) register(program, context, NAMES);
  const isHelp = asksForHelp(behindOptions(args));
  describeCommands(program, isHelp);
  program
    .command("help")
    .description("print the help of a command, for example `rkat help memory search`")
    .argument("[command...]")
    .action((names: string[]) => helpOf(program, names).help());
  if (needsCompletion(behindOptions(args))) {
    const { default: tab } = await import("@bomb.sh/tab/commander");
    tab(program, { completionCommandName: "completion" });
    makeSourceable(program, context);
  } else if (isHelp) program.command("completion <shell>").description(COMPLETION);
  addExamples(program);
  return program.addHelpText("after", EXAMPLES);
}

/** An item of the help. On a narrow terminal the description has a line of its own. */
function helpItem(term: string, termWidth: number, description: string, help: Help): string {
  const room = help.helpWidth ?? 80;
  const isNarrow = room - termWidth - 4 < help.minWidthToWrap;
  if (!isNarrow) return new Help().formatItem.call(help, term, termWidth, description, help);
  return wrapText(description === "" ? `  ${term}` : `  ${term}\n      ${description}`, room);
}

/** `rkat completion bash` prints a script for the shell, which calls `rkat complete -- …`. `rkat complete the function` is a prompt. */
function needsCompletion([first = "", next]: readonly string[]): boolean {
  if (first === "complete") return next === "--";
  return first === "completion" || (first === "help" && next === "completion");
}

const COMPLETION = "print a script that completes commands and flags";

const WORDS_OF_PACKAGE = '    _get_comp_words_by_ref -n "=:" cur prev words cword\n';

/** Without the package bash-completion, the words are those that bash itself has. */
const WORDS_OF_BASH = `    if declare -F _get_comp_words_by_ref > /dev/null; then
    ${WORDS_OF_PACKAGE}    else
        words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=\${words[cword]} prev=\${words[cword - 1]}
    fi
`;

/** Faulty parts of the library's scripts, each with its replacement. */
const REPAIRS: readonly (readonly [RegExp | string, string])[] = [
  // A shell that reads the script twice reports errors.
  [/^readonly /gm, ""],
  [WORDS_OF_PACKAGE, WORDS_OF_BASH],
  // `eval` would run each `$(…)` that stands in the line, and empty the file behind each `>`.
  [
    'out=$(eval "$requestComp" 2>/dev/null)',
    `out=$(rkat complete -- "\${words[@]:1:cword}" 2>/dev/null)`,
  ],
  ["=~ '-.*=' ", "=~ '^--?[A-Za-z0-9-]*=' "],
  ["complete -F", "complete -o default -F"],
];

/** Makes the scripts safe to read and to use. Where nothing is offered, the shell may offer files. */
function makeSourceable(program: Command, { terminal }: CliContext): void {
  const { log } = console;
  program.commands
    .find((command) => command.name() === "completion")
    ?.description(COMPLETION)
    .hook("preAction", () => {
      console.log = (script: string) =>
        void terminal.stdout.write(
          `${REPAIRS.reduce((text, [from, to]) => text.replace(from, () => to), script)}\n`,
        );
    })
    .hook("postAction", () => {
      console.log = log;
    });
  program.commands
    .find((command) => command.name() === "complete")
    ?.hook("preAction", () => {
      let lines = 0;
      console.log = (line: string) => {
        log(line === ":4" && lines === 0 ? ":0" : line);
        lines += 1;
      };
    })
    .hook("postAction", () => {
      console.log = log;
    });
}

function helpOf(program: Command, names: readonly string[]): Command {
  return names.reduce((command, name) => {
    const found = command.commands.find(
      (each) => each.name() === name || each.aliases().includes(name),
    );
    if (found) return found;
    throw new SessionError("INVALID_PARAMS", {
      message: `\`${command.name()}\` has no command "${name}".`,
      hint: "`rkat help` lists the commands.",
    });
  }, program);
}

const EXAMPLES = `
Examples:
  rkat -m anthropic/claude-sonnet-4-5 "what does this project do?"
  git diff | rkat "review this"
  rkat continue "and the tests?"
  rkat memory search "why did we choose SQLite"
`;

/** An option before the command. */
const GLOBAL_OPTION = /^--(?:(?:dir|user|store)(?:=|$)|no-color$)/;

/** The arguments from the command on. */
function behindOptions(args: readonly string[]): readonly string[] {
  const rest = [...args];
  while (GLOBAL_OPTION.test(rest[0] ?? "")) {
    rest.splice(0, /=|^--no-color$/.test(rest[0] ?? "") ? 1 : 2);
  }
  return rest;
}

async function commandsFor(args: readonly string[]): Promise<readonly Register[]> {
  const rest = behindOptions(args);
  const [first = "", next] = rest;
  if (first === "-V" || first === "--version") return [];
  const all = Object.entries(COMMANDS);
  const among = (words: readonly string[]) =>
    all.filter(([names]) => names.split(" ").some((name) => words.includes(name)));
  const loadAll = (some: typeof all, subcommand: string | undefined) =>
    Promise.all(some.map(([, load]) => load(subcommand)));
  if (asksForHelp(rest)) return await loadAll(among([next ?? ""]), rest[2]);
  const named = among([first]);
  // A prompt. A command may still stand behind `--`.
  const found = named.length > 0 ? named : among(["run", ...rest]);
  const needsAll = named.length === 0 && (listsCommands(rest) || mayLackGroup(rest));
  return await loadAll(needsAll ? all : found, next);
}

/** `rkat help`, `rkat help memory search` or `rkat --help`: no command has to be loaded, but one that is named. */
function asksForHelp([first = "", ...more]: readonly string[]): boolean {
  return first === "help" || (more.length === 0 && ["-h", "--help"].includes(first));
}

/** `rkat search port` names a command without its group, and only the groups know that. A quoted prompt has spaces. */
function mayLackGroup(args: readonly string[]): boolean {
  return args.slice(-2).some((word) => /^[a-z-]+$/.test(word) && !word.startsWith("-"));
}

/** A flag of a prompt may stand before the one that asks for the help. */
function listsCommands(args: readonly string[]): boolean {
  return args.includes("-h") || args.includes("--help") || needsCompletion(args);
}

/** A letter is nearly every other one, so it is not offered for a typo. */
const NAMES = [
  ...Object.keys(COMMANDS).flatMap((names) => names.split(" ")),
  "help",
  "completion",
].filter((name) => name.length > 1);
