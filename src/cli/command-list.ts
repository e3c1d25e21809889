import type { Command } from "commander";

/**
 * Says of each command that was loaded what it does. With `others`, the help also lists those that were not: how each is
 * called, and what it takes.
 */
export function describeCommands(program: Command, others: boolean): void {
  for (const [term, description] of COMMAND_LIST) {
    const [, name = "", alias, options, args] = TERM.exec(term) ?? [];
    const loaded = program.commands.find((command) => command.name() === name);
    if (!loaded && !others) continue;
    const command = (loaded ?? program.command(name + args)).description(description);
    if (loaded) continue;
    if (alias !== undefined) command.alias(alias);
    // Whichever they are, the help says only that there are some.
    if (options !== undefined) command.option("--option");
  }
}

const TERM = /^([a-z]+)(?:\|(\w+))?( \[options\])?(.*)/;

/** The commands in the order of the help. `rkat --help` prints this and loads none of them; a test compares the two. */
const COMMAND_LIST: readonly (readonly [term: string, description: string])[] = [
  ["run [options] [prompt...]", 'run a turn in a new session; also `rkat "prompt"`'],
  ["resume [options] <session> [prompt...]", "run a turn in an earlier session"],
  ["continue|c [options] [prompt...]", "run a turn in the last session"],
  ["chat [options]", "talk in a session; type /help for its commands"],
  ["sessions", "list, read, change and delete sessions"],
  ["history", "search the complete logs of the project's sessions"],
  ["memory", "search, list, add, correct and forget what the project remembers"],
  ["approvals", "see and answer tool calls that wait for approval"],
  ["knowledge", "see and change what the project has learned"],
  [
    "import [options] [agent-or-path] [path]",
    "import your conversations with other agents, or an export of rkat",
  ],
  [
    "install [options] <agent>",
    "give a coding agent this memory: its MCP server, and hooks where it has them",
  ],
  ["uninstall [options] <agent>", "take back what `rkat install` wrote; memory stays"],
  ["handoff [options] <session>", "write what another agent needs to continue a session"],
  [
    "replay [options] [file]",
    "replay a recorded conversation into a new session, without its model",
  ],
  [
    "rpc [options]",
    "serve the project's sessions to another program: JSON-RPC, one message per line",
  ],
  ["serve [options]", "serve the project's sessions over HTTP (REST and server-sent events)"],
  [
    "mcp [options]",
    "serve the project's memory and sessions to MCP clients, such as coding agents",
  ],
  ["inspect [options] [session]", "look at sessions, compactions and memory in the browser"],
  ["embeddings", "use a model on this machine, so that memory is searched by meaning too"],
  ["init", "create .rkat here, with a commented config.toml"],
  ["trust [options]", "use this project's settings and store although you did not make them here"],
  ["move [options]", "copy everything of this project's store into another store"],
  [
    "backup [options] <file>",
    "write this project's store and the user-wide one into one checked file",
  ],
  [
    "restore [options] <file>",
    "restore a backup where there is no store yet, or compare it with what is there",
  ],
  ["export [options] <file>", "write all of this project as JSON Lines, which `rkat import` reads"],
  ["config [options]", "show every setting in force, and where it comes from"],
  ["capabilities [options]", "show what rkat can do in this project"],
  ["doctor [options]", "check that rkat can work here"],
  [
    "repair [options]",
    "make again what comes from the log: unreadable events, snapshots, memory, the files of sessions",
  ],
];
