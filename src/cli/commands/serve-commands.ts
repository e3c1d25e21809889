import { type Command, InvalidArgumentError } from "commander";
import { windowTokens } from "../../coding-agents/window-record.ts";
import type { Environment } from "../../config/config-source.ts";
import { duration, formatDuration, textList, wholeNumber } from "../../config/setting-kind.ts";
import type { SearchScope } from "../../config/settings.ts";
import { fileProblem, SessionError } from "../../core/errors.ts";
import { given, isObject } from "../../core/fields.ts";
import { warn } from "../../core/warn.ts";
import type { UserTokens } from "../../surfaces/http/acting-service.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { printFailure } from "../terminal/print.ts";
import { countFlag, flagOf, listFlag, scopeFlag } from "./flags.ts";
import { newToken } from "./inspect-command.ts";
import { serverCommands } from "./mcp-server-commands.ts";
import { settingsJson } from "./settings-commands.ts";
import { withService } from "./with-service.ts";

interface HttpFlags {
  readonly port: number;
  readonly host: string;
  readonly userTokens?: string;
  readonly allowHost?: readonly string[];
}

interface McpFlags {
  readonly mayApprove?: true;
  readonly http?: true;
  readonly tools?: readonly string[];
  readonly scope?: SearchScope;
}

interface ServeFlags extends HttpFlags {
  readonly scope?: SearchScope;
  readonly token?: string;
  readonly cors?: readonly string[];
  readonly maxTurns?: number;
  readonly drain?: number;
  readonly inspect?: true;
  readonly write?: true;
  readonly mcp: boolean;
}

/** `rkat serve`. Ctrl-C interrupts running turns, unless they have time to end. A second Ctrl-C does in any case. */
export function serveCommand(program: Command, context: CliContext): void {
  const { terminal, version } = context;
  const serve = program.command("serve");
  addHttpFlags(serve, 8080)
    .option("--token <text>", "the token that clients must send (safer: set RKAT_TOKEN)")
    .option(
      "--cors <origin>",
      "a web page that may call it: https://app.example (repeatable)",
      origins,
    )
    .option("--max-turns <n>", "limit of turns that run at once", flagOf(wholeNumber))
    .option(
      "--drain <duration>",
      "time for running turns to end when it is stopped (default: none)",
      flagOf(duration),
    )
    .option("--inspect", "also serve the page of `rkat inspect`, at /inspect/")
    .option("--write", "let that page change something: forget, pin, answer approvals")
    .option("--no-mcp", "start no MCP servers, and give the model none of their tools")
    .addOption(scopeFlag(READABLE))
    .action(async ({ port, host, allowHost, cors, maxTurns, scope, mcp, ...flags }: ServeFlags) => {
      const { drain: graceMs = 0 } = flags;
      if (flags.write && !flags.inspect) {
        throw new SessionError("INVALID_PARAMS", {
          message: "--write is for the page, and there is none.",
          hint: "Add --inspect. Programs may write over REST in any case.",
        });
      }
      const { WatchedService } = await import("../../app/watched-service.ts");
      const watched = new WatchedService();
      const { serveRest } = await import("../../surfaces/rest/rest-app.ts");
      const token = flags.token ?? (terminal.env.RKAT_TOKEN || undefined);
      const userTokens = await userTokensIn(flags.userTokens, { token, host });
      const hasToken = (token ?? userTokens) !== undefined;
      // Without one, the server is for everybody on this machine, and the page is not.
      const own = flags.inspect && !hasToken ? { token: newToken() } : {};
      await withService(
        context,
        serve,
        (service, { folder }) =>
          terminal.interruptible(
            async (signal) => {
              const rest = {
                service,
                version,
                port,
                host,
                limits: given({ turnsMax: maxTurns }),
                ...given({ token, userTokens, hosts: allowHost, cors }),
                metrics: () => watched.metrics(),
                ready: () => watched.ready(),
                onError: (error: unknown) => void printFailure(terminal, SessionError.from(error)),
              };
              const page = {
                ...own,
                write: flags.write ?? false,
                project: folder,
                check: async () => (await import("./doctor-command.ts")).findAll(context, serve),
              };
              const server = await (flags.inspect
                ? (await import("../../surfaces/inspect/serve-inspect.ts")).serveRestAndPage(
                    rest,
                    page,
                  )
                : serveRest(rest));
              context.warnings.goOn();
              const guarded = hasToken ? "with a token" : "no token";
              const fragment = own.token ? `#token=${own.token}` : "";
              const pageLine = flags.inspect
                ? `The page is at ${server.url}/inspect/${fragment}\n`
                : "";
              await terminal.stderr.write(
                `Serving ${oneLine(folder, 200)} at ${server.url} (${guarded}). Press Ctrl-C to stop.\n${pageLine}`,
              );
              await aborted(signal);
              const time =
                graceMs > 0 ? ` Running turns have ${formatDuration(graceMs)} to end.` : "";
              await terminal.stderr.write(`Stopping.${time}\n`);
              await server.close({ graceMs });
            },
            { graceMs },
          ),
        {
          access: "serve",
          ...given({ scope }),
          // The user of a token could allow what the servers do with the rights of the person who started them.
          asking: () => ({ mcp: mcp && userTokens === undefined, watched }),
          saysTools: false,
        },
      );
    });
}

const READABLE =
  "what clients can also read: what you said in this folder (project), the user-wide store ~/.rkat, or all of it (default: this project's store only)";

/** `rkat mcp`. Without `--http`, standard output carries the protocol and nothing else. */
export function mcpCommand(program: Command, context: CliContext): void {
  const { terminal, version } = context;
  const mcp = program
    .command("mcp")
    .option(
      "--tools <names>",
      "the tools to offer: all, default, or names with commas (default: mcp.tools)",
      flagOf(textList),
    )
    .addOption(
      scopeFlag(
        "what clients can search: this project, the user-wide store ~/.rkat, or all (default: mcp.scope)",
      ),
    )
    .option(
      "--may-approve",
      "let the clients' models answer tool calls that wait for your approval (default: only you)",
    )
    .option("--http", "serve over HTTP instead of standard input and output");
  serverCommands(mcp, context);
  addHttpFlags(mcp, 8081).action(
    async ({ http, port, host, allowHost, mayApprove, ...flags }: HttpFlags & McpFlags) => {
      if (!http) refuseHttpFlags(mcp);
      await withService(
        context,
        mcp,
        (service, { config }) =>
          terminal.interruptible(async (signal) => {
            const tools = flags.tools ?? toolsIn(config.get("mcp.tools"), terminal.env);
            context.warnings.goOn();
            if (!http) {
              if (terminal.stdin.isTerminal) await terminal.stderr.write(WAITING);
              const { serveMcpStdio } = await import("../../surfaces/mcp/stdio-lines.ts");
              const { input, output } = terminal.takeStreams();
              return await serveMcpStdio({ service, version, signal, tools, input, output });
            }
            const { serveMcpHttp } = await import("../../surfaces/mcp/http-app.ts");
            const token = terminal.env.RKAT_TOKEN || undefined;
            const userTokens = await userTokensIn(flags.userTokens, { token, host });
            const names = given({ token, userTokens, hosts: allowHost });
            const options = { service, version, port, host, tools, ...names };
            const server = await serveMcpHttp(options);
            await terminal.stderr.write(`Serving MCP at ${server.url}. Press Ctrl-C to stop.\n`);
            await aborted(signal);
            await server.close();
          }),
        {
          access: http ? "serve" : "create",
          // A coding agent starts it in every folder that it works in.
          makesStore: http ? "at once" : "when changed",
          scope: ({ config }) => flags.scope ?? config.get("mcp.scope"),
          asking: () => (mayApprove ? { answerers: ["user", "model"] } : {}),
        },
      );
    },
  );
}

/** Refuses a port, tokens and the like without --http: a server on standard input would ignore them. */
function refuseHttpFlags(mcp: Command): void {
  const named = ["port", "host", "userTokens", "allowHost"].find(
    (name) => mcp.getOptionValueSource(name) === "cli",
  );
  const flag = mcp.options.find((option) => option.attributeName() === named)?.long;
  if (flag === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `${flag} is for a server over HTTP.`,
    hint: "Add --http.",
  });
}

/** A window of fewer tokens has no room for all tools. */
const SMALL_WINDOW = 30_000;

/** A small window gets the one tool that it needs most, where you name none. */
function toolsIn(names: readonly string[], env: Environment): readonly string[] {
  const isSmall = (windowTokens(env) ?? SMALL_WINDOW) < SMALL_WINDOW;
  return isSmall ? names.map((name) => (name === "default" ? "memory_search" : name)) : names;
}

const WAITING =
  "Waiting for an MCP client on standard input. MCP clients start this command themselves.\n";

/** `rkat rpc`. Standard output carries the protocol and nothing else. */
export function rpcCommand(program: Command, context: CliContext): void {
  const { terminal, version } = context;
  const rpc = program
    .command("rpc")
    .addOption(scopeFlag(READABLE))
    .action(async ({ scope }: { scope?: SearchScope }) => {
      const { JsonRpcServer } = await import("../../surfaces/json-rpc/json-rpc-server.ts");
      const { input, output, release } = terminal.takeStreams();
      await withService(
        context,
        rpc,
        (service, workspace) =>
          terminal.interruptible((signal) => {
            context.warnings.goOn();
            const config = async () => settingsJson(workspace);
            return new JsonRpcServer({ service, version, config, signal, input, output }).serve();
          }),
        { access: "create", ...given({ scope }) },
      );
      release();
    });
}

function addHttpFlags(command: Command, port: number): Command {
  return command
    .option("--port <n>", "the port to listen on; 0 takes a free one", countFlag(65_535), port)
    .option(
      "--host <address>",
      "the address to listen on; other than loopback needs RKAT_TOKEN",
      "127.0.0.1",
    )
    .option("--user-tokens <file>", 'tokens that act for one user each: {"ada": "9f2c…"} (JSON)')
    .option("--allow-host <name>", "another host name of this server (repeatable)", listFlag);
}

/** What others may do with a file of tokens: read or change it. */
const OTHERS = 0o027;

/**
 * The tokens in a file, which is read again when it changed. While it cannot be used, those that were read before stay.
 *
 * @throws SessionError `INVALID_CONFIG`
 */
async function userTokensIn(
  file: string | undefined,
  { token, host }: { readonly token: string | undefined; readonly host: string },
): Promise<(() => UserTokens) | undefined> {
  if (file === undefined) return undefined;
  const { readFileSync, statSync } = await import("node:fs");
  const { requireSafety } = await import("../../surfaces/http/listen.ts");
  const { requireUserName } = await import("../../core/stores.ts");
  const hint = 'Write a JSON object with a token for each user: {"ada": "9f2c…"}.';
  const unreadable = (error: unknown) => {
    // The parser's message may quote a token.
    const problem = error instanceof SyntaxError ? ". It is not JSON" : `: ${fileProblem(error)}`;
    const detail = `The tokens of users cannot be read from ${file}${problem}.`;
    return new SessionError("INVALID_CONFIG", { detail, hint });
  };
  const read = (): UserTokens => {
    let tokens: unknown;
    try {
      tokens = JSON.parse(readFileSync(file, "utf8"));
    } catch (error) {
      throw unreadable(error);
    }
    if (!isObject(tokens) || !Object.values(tokens).every((text) => typeof text === "string")) {
      const detail = `${file} has something else than users and their tokens.`;
      throw new SessionError("INVALID_CONFIG", { detail, hint });
    }
    const userTokens = tokens as UserTokens;
    requireSafety({ ...given({ token }), userTokens }, host);
    for (const user of Object.keys(userTokens)) requireUserName(user);
    const isOpen = process.getuid !== undefined && (statSync(file).mode & OTHERS) > 0;
    if (isOpen)
      warn(`Others on this machine can use the tokens in ${file}. Run \`chmod 600\` for it.`);
    return userTokens;
  };
  /** Changes with the file, whether it is written or replaced. */
  const stamp = () => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return `${found?.ino} ${found?.mtimeNs} ${found?.ctimeNs} ${found?.size}`;
  };
  let seen = stamp();
  let tokens = read();
  return () => {
    const now = stamp();
    if (now === seen) return tokens;
    seen = now;
    try {
      tokens = read();
    } catch (error) {
      warn(SessionError.from(error), "The tokens of users stay as they were.");
    }
    return tokens;
  };
}

function origins(text: string, before?: readonly string[]): readonly string[] {
  if (URL.parse(text)?.origin === text) return listFlag(text, before);
  throw new InvalidArgumentError("It must be an origin, such as https://app.example.");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
}
