import type { Command } from "commander";
import { withContent } from "../../coding-agents/change-text.ts";
import {
  allowMcpServer,
  type FoundServer,
  findMcpServers,
  isServerName,
  SERVER_NAME,
} from "../../config/mcp-servers.ts";
import { mcpSignIn } from "../../config/mcp-sign-ins.ts";
import { variableName, variableNames, webAddress } from "../../config/setting-kind.ts";
import { ERRORS, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { calledIn } from "../called-in.ts";
import type { CliContext } from "../cli-context.ts";
import { plural } from "../render/amounts.ts";
import { oneLine, printable } from "../render/printable.ts";
import { renderTable, styleFor } from "../render/style.ts";
import { openInBrowser } from "../terminal/open-in-browser.ts";
import { printJson, roomIn } from "../terminal/print.ts";
import { countFlag, flagOf, listFlag } from "./flags.ts";
import { changeOwnSettings, ownSettingsFile, tableIn, withoutTable } from "./own-settings.ts";
import { workspaceOf } from "./with-service.ts";

interface AddFlags {
  readonly url?: string;
  readonly apiKeyEnv?: string;
  readonly env?: readonly string[];
  readonly json?: true;
}

/** `rkat mcp add`, `list`, `remove` and `allow`: the MCP servers whose tools rkat's own agent gets. */
export function serverCommands(mcp: Command, context: CliContext): void {
  const { terminal } = context;
  mcp
    .command("add <name> [command...]")
    .description(
      "give `rkat run`, `rkat chat` and `rkat serve` the tools of an MCP server: NAME -- COMMAND ARGUMENTS",
    )
    .option("--url <address>", "the server's address, in place of a command", flagOf(webAddress))
    .option(
      "--api-key-env <variable>",
      "the environment variable with the token for that address",
      flagOf(variableName),
    )
    .option(
      "--env <variable>",
      "an environment variable that the server sees (repeatable)",
      listFlag,
    )
    .option("--json", "for scripts")
    .action(async (name: string, command: readonly string[], flags: AddFlags) => {
      const values = valuesOf(name, command, flags);
      const file = ownSettingsFile(terminal);
      const change = async (text: string | undefined) => {
        const content = { kind: "toml", table: tableOf(name), values } as const;
        return (await withContent(text, content)).text;
      };
      await changeOwnSettings(file, change, `\`rkat mcp remove ${name}\` removes one.`);
      if (flags.json) return await printJson(terminal.stdout, { name, settings: file });
      await terminal.stdout.write(`${name} is in ${file}.\n`);
      await terminal.stderr.write(
        "Each call of its tools needs your approval. `rkat chat` shows them.\n",
      );
    });
  mcp
    .command("remove <name>")
    .description("remove an MCP server from your settings")
    .option("--json", "for scripts")
    .action(async (name: string, { json }: { json?: true }) => {
      const file = ownSettingsFile(terminal);
      await changeOwnSettings(file, async (text) => {
        const { url } = (await tableIn(text ?? "", tableOf(name))) ?? {};
        const without = await withoutServer(text ?? "", name, file);
        if (typeof url === "string") mcpSignIn(url, terminal.env).remove();
        return without;
      });
      if (json) return await printJson(terminal.stdout, { removed: true, settings: file });
      await terminal.stdout.write(`${name} is no longer in ${file}.\n`);
    });
  const list = mcp
    .command("list")
    .description(
      "list the MCP servers whose tools the agent gets, and those that wait for you to allow them",
    )
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const found = findMcpServers(await workspaceOf(context, list), terminal.env);
      if (json) return await printJson(terminal.stdout, { servers: found.map(serverJson) });
      const say = (text: string) => terminal.stderr.write(calledIn(`${text}\n`, context.rkat));
      if (found.length === 0) return await say(NONE);
      const style = styleFor(terminal.stdout, terminal.env);
      const columns = ["NAME", "STATE", "FROM", "STARTS"].map((title) => ({ title }));
      const rows = found.map(({ name, state, problem, shown, origin, server }) => [
        oneLine(name, 40),
        `${state}${isSignedIn(server) ? ", signed in" : ""}${problem === undefined ? "" : `: ${oneLine(problem, 80)}`}`,
        oneLine(origin, 200),
        // The last column, because it is shown whole, and each is as wide as its widest cell.
        printable(shown),
      ]);
      await terminal.stdout.write(renderTable(columns, rows, style, roomIn(terminal.stdout)));
      if (found.some(({ state }) => state === "not allowed")) {
        await say("Read what one starts, and allow it with `rkat mcp allow NAME`.");
      }
    });
  const allow = mcp
    .command("allow <name>")
    .description("allow a server that the project's .mcp.json describes, as it is described now")
    .option("--json", "for scripts")
    .action(async (name: string, { json }: { json?: true }) => {
      const { shown } = allowMcpServer(name, await workspaceOf(context, allow), terminal.env);
      if (json) return await printJson(terminal.stdout, { name, starts: shown });
      await terminal.stdout.write(`${oneLine(name, 40)} may be started: ${printable(shown)}\n`);
      const note =
        "If .mcp.json changes it, you are asked again. `rkat trust --revoke` takes this back.\n";
      await terminal.stderr.write(calledIn(note, context.rkat));
    });
  signInCommands(mcp, context);
}

interface LoginFlags {
  readonly clientId?: string;
  readonly port?: number;
  readonly open: boolean;
  readonly json?: true;
}

/** `rkat mcp login` and `logout`: who you are, for a server that asks by OAuth. */
function signInCommands(mcp: Command, context: CliContext): void {
  const { terminal } = context;
  const login = mcp
    .command("login <name>")
    .description("sign in to an MCP server at an address, in your browser")
    .option("--client-id <id>", "the id of a client that you registered there")
    .option(
      "--port <number>",
      "the port on this machine that the browser comes back to; default: a free one",
      countFlag(65_535),
    )
    .option("--no-open", "only print the address, and open no browser")
    .option("--json", "for scripts")
    .action(async (name: string, { clientId, port, open, json }: LoginFlags) => {
      const server = await namedServer(name, login, context);
      const { signInTo } = await import("../../surfaces/mcp/sign-in.ts");
      let clean = async () => {};
      const asked = await terminal.interruptible(async (signal) => {
        try {
          return await signInTo(server, {
            ...given({ clientId, port }),
            signal,
            async show(address) {
              await terminal.stderr.write(`Sign in at ${address.href}\n`);
              if (open) clean = await openInBrowser(address.href, terminal);
            },
          });
        } catch (error) {
          if (!signal.aborted) throw error;
          context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
          return undefined;
        } finally {
          await clean();
        }
      });
      if (asked === undefined) return await terminal.stderr.write("Stopped. Nothing was kept.\n");
      if (!asked) {
        if (json) return await printJson(terminal.stdout, { name, signed_in: false });
        return await terminal.stdout.write(`${name} asks for no sign-in.\n`);
      }
      const { openServerTools } = await import("../../surfaces/mcp/server-tools.ts");
      const { servers, problems, close } = await openServerTools([server]);
      await close();
      const [opened] = servers;
      if (!opened) throw new SessionError("NOT_POSSIBLE", { message: problems.join(" ") });
      const { tools } = opened;
      if (json) return await printJson(terminal.stdout, { name, signed_in: true, tools });
      await terminal.stdout.write(`Signed in to ${name}: ${plural(tools, "tool")}.\n`);
    });
  const logout = mcp
    .command("logout <name>")
    .description("remove what signing in to an MCP server gave")
    .option("--json", "for scripts")
    .action(async (name: string, { json }: { json?: true }) => {
      const { address } = await namedServer(name, logout, context);
      const was = address?.signIn?.read() !== undefined;
      address?.signIn?.remove();
      if (json) return await printJson(terminal.stdout, { name, signed_out: was });
      await terminal.stdout.write(
        was ? `Signed out of ${name}.\n` : `There was no sign-in to ${name}.\n`,
      );
    });
}

async function namedServer(name: string, command: Command, context: CliContext) {
  const found = findMcpServers(await workspaceOf(context, command), context.terminal.env);
  const named = found.find((each) => each.name === name);
  if (named?.state === "on" || (named?.server.address && command.name() === "logout")) {
    return named.server;
  }
  throw new SessionError("INVALID_PARAMS", {
    message: named
      ? `${oneLine(name, 40)} cannot be used: ${named.problem ?? named.state}.`
      : `There is no MCP server called ${JSON.stringify(name)}.`,
    hint: "`rkat mcp list` shows all servers.",
  });
}

const NONE = "No MCP servers. Add one: `rkat mcp add NAME -- COMMAND ARGUMENTS`";

function serverJson({ name, state, problem, shown, origin, server }: FoundServer) {
  const signed_in = isSignedIn(server);
  return { name, state, problem: problem ?? null, starts: shown, origin, signed_in };
}

function isSignedIn({ address }: FoundServer["server"]): boolean {
  return address?.signIn?.read() !== undefined;
}

const tableOf = (name: string) => ["mcp", "servers", name];

function valuesOf(name: string, command: readonly string[], { url, apiKeyEnv, env }: AddFlags) {
  const refuse = (message: string, hint: string) =>
    new SessionError("INVALID_PARAMS", { message, hint });
  if (!isServerName(name))
    throw refuse(`${JSON.stringify(name)} is no name of a server.`, `It must be ${SERVER_NAME}.`);
  const [program, ...args] = command;
  if (program?.trim() === "" || (program === undefined) === (url === undefined)) {
    throw refuse(
      "Give either a command or --url.",
      "rkat mcp add NAME -- COMMAND ARGUMENTS, or rkat mcp add NAME --url ADDRESS",
    );
  }
  if (apiKeyEnv !== undefined && url === undefined) {
    throw refuse("--api-key-env is for --url.", "Give a command its variables by --env.");
  }
  if (env !== undefined && (url !== undefined || variableNames.read(env) === undefined)) {
    throw refuse(
      "--env takes the names of variables that a command sees.",
      "Name the variable, such as --env GITHUB_TOKEN, and never its value.",
    );
  }
  return {
    ...(program === undefined ? {} : { command: program }),
    ...(args.length > 0 ? { args } : {}),
    ...(env === undefined ? {} : { environment: env }),
    ...(url === undefined ? {} : { url }),
    ...(apiKeyEnv === undefined ? {} : { api_key_env: apiKeyEnv }),
  };
}

async function withoutServer(text: string, name: string, file: string): Promise<string> {
  const values = await tableIn(text, tableOf(name));
  if (values === undefined) {
    throw new SessionError("INVALID_PARAMS", {
      message: `${file} has no MCP server called ${JSON.stringify(name)}.`,
      hint: "`rkat mcp list` shows where each is from.",
    });
  }
  return await withoutTable(text, tableOf(name), values);
}
