import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, parse, resolve } from "node:path";
import { errorText, SessionError, shownAddress } from "../core/errors.ts";
import { given, isObject } from "../core/fields.ts";
import type { McpServer } from "../core/mcp-server.ts";
import { makeFolders } from "../files/make-folders.ts";
import { readSmallFile } from "../files/plain-files.ts";
import { isPlain } from "../text/visible-text.ts";
import type { McpServerSettings } from "./config.ts";
import { ownFolder, SET_HOME } from "./config-places.ts";
import type { Environment } from "./config-source.ts";
import { mcpSignIn } from "./mcp-sign-ins.ts";
import { parseDuration } from "./setting-kind.ts";
import { trustFolder } from "./trust.ts";
import type { Workspace } from "./workspace.ts";

/** An MCP server that the settings or the project's `.mcp.json` describe. */
export interface FoundServer {
  readonly name: string;
  /** The file that describes it. */
  readonly origin: string;
  /**
   *     on             it is started; `problem` says what it may lack
   *     off            the settings, or `disabled` in .mcp.json, switch it off
   *     not allowed    the project's `.mcp.json` describes it, and you have not allowed that
   *     wrong          it cannot be used; `problem` says why
   */
  readonly state: "on" | "off" | "not allowed" | "wrong";
  readonly problem?: string;
  /** The command or the address, and all that it would get besides, for people: variables stand by their names. */
  readonly shown: string;
  readonly server: McpServer;
  /** The hash of the description in `.mcp.json`. */
  readonly hash?: string;
}

type Places = Pick<Workspace, "config" | "folder" | "dataFolder" | "storeFile">;

const TIMEOUT_MS = 60_000;
const FILE_BYTES_MAX = 1_000_000;
const SERVERS_MAX = 50;

/** A name is a part of the names of its tools, and no two names may give the same. */
const NAME = /^(?!_)(?!.*__)[A-Za-z0-9_-]{1,32}(?<!_)$/;

/** Completes "it must be …". */
export const SERVER_NAME =
  "1 to 32 letters, digits, - and _, without _ at an end and without two _ in a row";

export function isServerName(name: string): boolean {
  return NAME.test(name);
}

/** Every server, those of your settings first. One of `.mcp.json` takes no name that your settings use. */
export function findMcpServers(places: Places, env: Environment): readonly FoundServer[] {
  const own = ownServers(places, env);
  const names = new Set(own.map(({ name }) => name));
  const others = projectServers(places, env).map((found) =>
    names.has(found.name)
      ? wrong(found, `your settings have another server called ${found.name}`)
      : found,
  );
  return [...own, ...others];
}

function ownServers({ config, folder }: Places, env: Environment): readonly FoundServer[] {
  const origins = new Map(
    config.effective().map(({ key, origin }) => [key.split(".").slice(0, 3).join("."), origin]),
  );
  return Object.entries(config.mcpServers).map(([name, settings]) => {
    const { command, args = [], environment = [], url, api_key_env, tools, timeout } = settings;
    // A key never goes to an address that a project's file chose.
    const sendsKey = !config.isOfProject("mcp", "servers", name, "url");
    const key = sendsKey && api_key_env !== undefined ? env[api_key_env] : undefined;
    // A program of yours starts in no project: `npx` and `python -m` run what is in their folder.
    const isTheirs = config.isOfProject("mcp", "servers", name, "command");
    const passed = environment.flatMap((each) => {
      const value = env[each];
      return value === undefined ? [] : [[each, value] as const];
    });
    const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
    const found: FoundServer = {
      name,
      origin: origins.get(`mcp.servers.${name}`) ?? "config.toml",
      state: settings.enabled === false ? "off" : "on",
      shown: shownServer(command, args, url && shownAddress(url)),
      server: {
        name,
        timeoutMs: timeout ?? TIMEOUT_MS,
        ...given({
          tools,
          program:
            command === undefined
              ? undefined
              : {
                  command,
                  args,
                  env: Object.fromEntries(passed),
                  cwd: isTheirs ? folder : ownPlace(env),
                },
          address: url === undefined ? undefined : addressOf(url, headers, false, env),
        }),
      },
    };
    const problem = problemOf(name, settings, sendsKey && api_key_env !== undefined && !key);
    if (problem !== undefined) return wrong(found, problem);
    const unset = environment.filter((each) => env[each] === undefined).join(", ");
    return unset === "" ? found : { ...found, problem: `${unset} is not set in the environment` };
  });
}

/** An empty folder of yours; the root where there is none. */
function ownPlace(env: Environment): string {
  const folder = join(ownFolder(env) ?? "", "mcp-servers");
  try {
    if (!isAbsolute(folder)) throw new Error("There is no home folder.");
    makeFolders(folder, 0o700);
    return folder;
  } catch {
    return parse(process.execPath).root;
  }
}

function addressOf(
  url: string,
  headers: Readonly<Record<string, string>>,
  isSse: boolean,
  env: Environment,
): NonNullable<McpServer["address"]> {
  const address = { url, headers, isSse };
  return Object.keys(headers).length > 0 ? address : { ...address, signIn: mcpSignIn(url, env) };
}

function problemOf(
  name: string,
  { command, url, api_key_env }: McpServerSettings,
  lacksKey: boolean,
): string | undefined {
  if (!isServerName(name)) return `its name must be ${SERVER_NAME}`;
  if ((command === undefined) === (url === undefined)) return "it needs either command or url";
  return lacksKey ? `${api_key_env} is not set in the environment` : undefined;
}

function wrong(found: FoundServer, problem: string): FoundServer {
  return { ...found, state: found.state === "off" ? "off" : "wrong", problem };
}

function shownServer(
  command: string | undefined,
  args: readonly string[] = [],
  url: string | undefined,
): string {
  return command === undefined ? (url ?? "") : [command, ...args].map(quotedIfNeeded).join(" ");
}

/**
 * The servers of the project's `.mcp.json`, as other agents read it. The file may come from a stranger, and a server is a
 * program: each has to be allowed by you, as it stands there. Its hash is kept where trust is, so another command under
 * the same name has to be allowed again.
 */
function projectServers(places: Places, env: Environment): readonly FoundServer[] {
  const file = join(places.folder, ".mcp.json");
  const broken = (problem: string): readonly FoundServer[] => [
    {
      name: ".mcp.json",
      origin: file,
      state: "wrong",
      problem,
      shown: "",
      server: { name: "", timeoutMs: 0 },
    },
  ];
  try {
    const text = readSmallFile(places.folder, file, FILE_BYTES_MAX);
    if (text === undefined) return [];
    const parsed: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    const servers = isObject(parsed) ? parsed.mcpServers : undefined;
    if (!isObject(servers)) return broken('it has no "mcpServers"');
    const allowed = allowedHashes(places, env);
    return Object.entries(servers)
      .slice(0, SERVERS_MAX)
      .map(([name, described]) => projectServer({ name, described, file }, places, allowed, env));
  } catch (error) {
    // The parser's message may quote a key. What is nested without end has no hash.
    return broken(error instanceof SyntaxError ? "it is not JSON" : errorText(error));
  }
}

interface Described {
  readonly name: string;
  readonly described: unknown;
  readonly file: string;
}

function projectServer(
  { name, described, file }: Described,
  { folder }: Places,
  allowed: ReadonlySet<string>,
  env: Environment,
): FoundServer {
  const fields = isObject(described) ? described : {};
  const { command, args = [], url, headers = {}, env: own = {}, cwd, type, timeout } = fields;
  // Other agents switch a server off in this way.
  const isOff = fields.disabled === true || fields.enabled === false;
  const missing = new Set<string>();
  const filled = (text: string) => expanded(text, env, missing);
  const isRight =
    [command, url, cwd].every((text) => text === undefined || isShort(text)) &&
    (typeof command === "string") !== (typeof url === "string") &&
    Array.isArray(args) &&
    args.every(isShort) &&
    [own, headers].every((table) => isObject(table) && Object.values(table).every(isShort));
  const besides = JSON.stringify({ cwd, env: fields.env, headers: fields.headers });
  const shown = isRight
    ? [command, url, ...args]
        .filter(isShort)
        .map(quotedIfNeeded)
        .concat(besides === "{}" ? [] : besides)
    : [];
  const hash = hashOf(name, described);
  const base = {
    name,
    origin: file,
    shown: shown.join(" "),
    server: { name, timeoutMs: TIMEOUT_MS },
  };
  if (!isServerName(name)) {
    return { ...base, state: "wrong", problem: `its name must be ${SERVER_NAME}` };
  }
  if (!isRight) {
    return { ...base, state: "wrong", problem: "it needs either command or url, and only texts" };
  }
  const table = (some: unknown) =>
    Object.fromEntries(
      Object.entries(some as Record<string, string>).map(([key, value]) => [key, filled(value)]),
    );
  const server: McpServer = {
    name,
    timeoutMs: timeMs(timeout) ?? TIMEOUT_MS,
    ...(typeof command === "string"
      ? {
          program: {
            command: filled(command),
            args: args.map(filled),
            env: table(own),
            cwd: resolve(folder, typeof cwd === "string" ? filled(cwd) : ""),
          },
        }
      : {
          address: addressOf(filled(url as string), table(headers), type === "sse", env),
        }),
  };
  const found: FoundServer = {
    ...base,
    state: isOff ? "off" : allowed.has(hash) ? "on" : "not allowed",
    server,
    hash,
  };
  const unset = [...missing].join(", ");
  return found.state === "on" && missing.size > 0
    ? wrong(found, `it needs ${unset}, which the environment does not have`)
    : found;
}

/** Milliseconds where it is a number, as other agents read it. A timer takes no more than the most. */
function timeMs(timeout: unknown): number | undefined {
  const ms = typeof timeout === "number" ? timeout : parseDuration(timeout);
  return ms !== undefined && ms > 0 ? Math.min(ms, 2 ** 31 - 1) : undefined;
}

/** One with a space in it is no two, and an empty one is one. */
function quotedIfNeeded(text: string): string {
  return /^$|[\s"\\]/.test(text) ? JSON.stringify(text) : text;
}

const TEXT_MAX = 4_000;

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= TEXT_MAX && isPlain(value);
}

/** `${NAME}` and `${NAME:-default}`, as other agents read them. */
function expanded(text: string, env: Environment, missing: Set<string>): string {
  return text.replaceAll(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, usual?: string) => {
    const value = env[name] ?? usual;
    if (value === undefined) missing.add(name);
    return value ?? "";
  });
}

function hashOf(name: string, described: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify([name, sorted(described)]))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])]);
}

const ALLOWED = "mcp-servers.json";

function allowedHashes(places: Places, env: Environment): ReadonlySet<string> {
  const folder = trustFolder(places, env);
  if (folder === undefined) return new Set();
  try {
    const found: unknown = JSON.parse(readFileSync(join(folder, ALLOWED), "utf8"));
    return new Set(Array.isArray(found) ? found.filter((each) => typeof each === "string") : []);
  } catch {
    // A file that is missing or cannot be read allows nothing.
    return new Set();
  }
}

/**
 * Allows a server of the project's `.mcp.json`, as it is described now.
 *
 * @throws SessionError `INVALID_PARAMS`, `NOT_POSSIBLE`
 */
export function allowMcpServer(name: string, places: Places, env: Environment): FoundServer {
  const found = projectServers(places, env).find((each) => each.name === name);
  if (found?.hash === undefined) {
    throw new SessionError("INVALID_PARAMS", {
      message: found
        ? `${name} cannot be used: ${found.problem}.`
        : `.mcp.json has no server called ${name}.`,
      hint: "`rkat mcp list` shows all servers.",
    });
  }
  const folder = trustFolder(places, env);
  const hashes = [...allowedHashes(places, env), found.hash];
  try {
    if (folder === undefined) throw new Error("There is no home folder.");
    const file = join(folder, ALLOWED);
    const unfinished = `${file}.${crypto.randomUUID()}`;
    makeFolders(dirname(file), 0o700);
    writeFileSync(unfinished, `${JSON.stringify([...new Set(hashes)])}\n`, {
      mode: 0o600,
      flag: "wx",
    });
    renameSync(unfinished, file);
  } catch (error) {
    throw new SessionError("NOT_POSSIBLE", {
      message: `What you allow cannot be kept. ${errorText(error)}`,
      hint: SET_HOME,
      cause: error,
    });
  }
  return found;
}
