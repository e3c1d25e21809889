import { createHash } from "node:crypto";
import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import { errorText } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import type { McpServer } from "../../core/mcp-server.ts";
import { type Tool, type ToolDefinition, ToolError, type ToolOutput } from "../../core/tool.ts";
import { textWeight } from "../../text/text-weight.ts";
import { visibleText } from "../../text/visible-text.ts";
import { AS_TASK } from "./mended-answer.ts";
import { openMcpServer, type ServerLink, startMsOf } from "./server-link.ts";

/** The tools of MCP servers, for an agent of rkat. */
export interface ServerTools {
  /** The tools of now: the same array until a server has others. */
  tools(): readonly Tool[];
  /** Estimated tokens of the definitions at the start, which are a part of every request. */
  readonly tokens: number;
  /** Each server that answered, with its number of tools. */
  readonly servers: readonly { readonly name: string; readonly tools: number }[];
  /** The words of the servers with tools on how these are used, for a model; empty when they say nothing. */
  readonly instructions: string;
  /** The missing servers and tools: a sentence each, with the reason. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts servers side by side, and asks each for its tools. A server that does not answer in time is a problem, and the
 * others go on. Each call needs approval, unless the user's settings say otherwise: what a server says of its own tools
 * is no reason to trust them. A server may get and lose tools later; `onProblem` is told what is wrong with these, and for which
 * servers the start waits long.
 */
export async function openServerTools(
  servers: readonly McpServer[],
  onProblem: (problem: string) => void = () => {},
): Promise<ServerTools> {
  const problems: string[] = [];
  let tools: readonly Tool[] = [];
  let hasStarted = false;
  const opened = servers.map((server) => openServer(server, () => hasStarted && gather(true)));
  const gather = (tells: boolean) => {
    const all = opened.flatMap((each) => each.tools);
    // A tool that a server lists again as it was does not change the requests.
    if (JSON.stringify(tools.map(wordsOf)) !== JSON.stringify(all.map(wordsOf))) tools = all;
    const now = opened.flatMap((each) => each.problems).map(visibleText);
    const added = now.filter((problem) => !problems.includes(problem));
    problems.push(...added);
    if (tells) added.forEach(onProblem);
  };
  const longest = Math.max(...servers.map(startMsOf));
  const waits = setTimeout(() => onProblem(waitingFor(opened, longest)), longest / NOTICED_PART);
  await Promise.all(opened.map(({ ready }) => ready));
  clearTimeout(waits);
  gather(false);
  hasStarted = true;
  return {
    tools: () => tools,
    tokens: Math.round(textWeight(JSON.stringify(tools.map(({ definition }) => definition))) / 4),
    servers: opened
      .filter(({ hasAnswered }) => hasAnswered)
      .map((each) => ({ name: each.name, tools: each.tools.length })),
    instructions: instructionsOf(opened),
    problems: [...problems],
    close: async () => {
      await Promise.all(opened.map(({ close }) => close()));
    },
  };
}

const INSTRUCTIONS_CHARACTERS_MAX = 2_000;
const ALL_INSTRUCTIONS_CHARACTERS_MAX = 10_000;

/** Each server's words are lines of a quote below its name, so that none can look like another's or like rkat's. */
function instructionsOf(opened: readonly OpenedServer[]): string {
  const said = opened.flatMap(({ name, tools, instructions = "" }) => {
    const text = cut(visibleText(instructions).trim(), INSTRUCTIONS_CHARACTERS_MAX);
    if (text === "" || tools.length === 0) return [];
    return [[`The MCP server ${name}:`, ...text.split("\n").map((line) => `> ${line}`)].join("\n")];
  });
  if (said.length === 0) return "";
  const quotes = cut(said.join("\n"), ALL_INSTRUCTIONS_CHARACTERS_MAX);
  return `What MCP servers say of how their tools are used. These are the words of programs, not of the user:\n${quotes}`;
}

function cut(text: string, charactersMax: number): string {
  const shown = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return shown.toWellFormed();
}

const wordsOf = ({ definition }: Tool) => definition;

/** A start that takes a sixth of the time that it may is told: 5 s of 30. */
const NOTICED_PART = 6;

function waitingFor(opened: readonly OpenedServer[], longestMs: number): string {
  const missing = opened.filter(
    ({ hasAnswered, problems }) => !hasAnswered && problems.length === 0,
  );
  const names = missing.map(({ name }) => name).join(", ");
  return `Waiting for the MCP servers to start: ${names}. After ${longestMs / 1000} s they are left out.`;
}

/** A server, its tools of now, and what is wrong with them. */
interface OpenedServer {
  readonly name: string;
  tools: readonly Tool[];
  problems: readonly string[];
  hasAnswered: boolean;
  readonly instructions: string | undefined;
  /** Resolves after the server has answered, or failed to. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** The shortest time between two lists that a server asks to be asked for. */
const REST_MS = 250;

function openServer(server: McpServer, onChange: () => void): OpenedServer {
  const { name } = server;
  let listing: Promise<void> | undefined;
  let isStale = false;
  const relist = (): void => {
    isStale = listing !== undefined;
    if (isStale) return;
    // A list that fails takes no tool away: the next call says what is wrong.
    listing = list()
      .catch(() => {})
      .finally(() => {
        listing = undefined;
        onChange();
        if (isStale) setTimeout(relist, REST_MS).unref();
      });
  };
  const link = openMcpServer(server, relist);
  const listed: Pick<ServerLink, "callTool"> = {
    async callTool(...call) {
      const result = await link.callTool(...call);
      // The next request has the tools that this call gave or took.
      await listing;
      return result;
    },
  };
  const list = async (): Promise<void> => {
    const problems: string[] = [];
    const tools = new Map<string, Tool>();
    for (const described of offered(server, await link.listTools(), problems)) {
      const tool = toolName(name, described.name);
      if (tools.has(tool)) {
        problems.push(
          `${name} has two tools that would be called ${tool}; the second is left out.`,
        );
      } else tools.set(tool, serverTool(tool, described, server, listed));
    }
    Object.assign(opened, { tools: [...tools.values()], problems, hasAnswered: true });
  };
  const start = async (): Promise<void> => {
    try {
      await list();
    } catch (error) {
      await link.close();
      const why = error instanceof Error ? error.message : errorText(error);
      opened.problems = [`The MCP server ${name} gives no tools: ${why}`];
    }
  };
  const opened: OpenedServer = {
    name,
    tools: [],
    problems: [],
    hasAnswered: false,
    get instructions() {
      return link.instructions;
    },
    ready: Promise.resolve().then(start),
    close: () => link.close(),
  };
  return opened;
}

type Listed = Awaited<ReturnType<Client["listTools"]>>["tools"][number];

const TOOLS_MAX = 100;
const SCHEMA_CHARACTERS_MAX = 20_000;
const DESCRIPTION_CHARACTERS_MAX = 2_000;

/** The tools that a model is shown: those that the settings name, within limits. */
function offered(
  { name, tools: wanted }: McpServer,
  listed: readonly Listed[],
  problems: string[],
): readonly Listed[] {
  const names = new Set(listed.map((tool) => tool.name));
  for (const one of wanted ?? []) {
    if (!names.has(one)) problems.push(`${name} has no tool ${one}, which the settings name.`);
  }
  const chosen =
    wanted === undefined ? listed : listed.filter((tool) => wanted.includes(tool.name));
  const fit = chosen.filter((tool) => {
    const why = unfitness(tool);
    const problem = `${name} ${why}; it is left out.`;
    if (why !== "" && !problems.includes(problem)) problems.push(problem);
    return why === "";
  });
  if (fit.length > TOOLS_MAX) {
    problems.push(
      `${name} has ${fit.length} tools; the first ${TOOLS_MAX} are used. Name those that you need: tools = ["…"].`,
    );
  }
  return fit.slice(0, TOOLS_MAX);
}

/** Why a tool cannot be offered. */
function unfitness({ name, inputSchema, _meta }: Listed): string {
  if (name === "") return "has a tool without a name";
  const shown = name.slice(0, 100);
  if (_meta?.[AS_TASK]) return `has the tool ${shown} for programs that call it as a task`;
  return JSON.stringify(inputSchema).length <= SCHEMA_CHARACTERS_MAX
    ? ""
    : `describes the arguments of ${shown} in too many words`;
}

const NAME_MAX = 64;

/**
 * mcp, the server and the tool, with `__` between them. rkat's own tools have no such name, and no server's name contains `__`, so no server can
 * take the place of another's tool.
 */
export function toolName(server: string, tool: string): string {
  return plainName(`mcp__${server}__`, tool);
}

/** Providers take 64 characters of a few kinds, of arguments too: a name that is changed gets a hash. */
function plainName(before: string, own: string): string {
  const plain = own.replaceAll(/[^\w-]/g, "_");
  const name = `${before}${plain}`;
  if (plain === own && own !== "" && name.length <= NAME_MAX) return name;
  const mark = createHash("sha256").update(own).digest("hex").slice(0, 8);
  return `${name.slice(0, NAME_MAX - mark.length - 1)}_${mark}`;
}

function serverTool(
  name: string,
  listed: Listed,
  server: McpServer,
  link: Pick<ServerLink, "callTool">,
): Tool {
  const { properties = {}, required = [], ...schema } = listed.inputSchema;
  const named = Object.keys(properties).map((key) => [plainName("", key), key] as const);
  const keys = new Map(named);
  const shown = new Map(named.map(([plain, key]) => [key, plain]));
  const definition: ToolDefinition = {
    name,
    description: shownDescription(listed, server),
    input_schema: {
      ...schema,
      properties: renamed(properties, shown),
      ...(required.length > 0 ? { required: required.map((key) => shown.get(key) ?? key) } : {}),
    },
  };
  const mark = markOf(server, listed);
  return {
    definition,
    policy: "ask",
    always: () => ({ tool: name, command: mark }),
    timeoutMs: server.timeoutMs,
    async execute(args, { signal }) {
      if (!isObject(args)) throw new ToolError("invalid_arguments", "Send an object.");
      return toolOutput(await link.callTool(listed.name, renamed(args, keys), signal));
    },
  };
}

function renamed(fields: object, names: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [names.get(key) ?? key, value]),
  );
}

/** Another server may get the name, or this one make the tool another one: a person has not allowed that. */
function markOf({ program, address }: McpServer, { description, inputSchema }: Listed): string {
  const known = [program?.command, program?.args, address?.url, description, inputSchema];
  return `server ${createHash("sha256").update(JSON.stringify(known)).digest("hex").slice(0, 16)}`;
}

function shownDescription({ title, description = title ?? "" }: Listed, server: McpServer): string {
  const text = visibleText(description.trim());
  return cut(text, DESCRIPTION_CHARACTERS_MAX) || `A tool of the MCP server ${server.name}.`;
}

/** The text of a result for the model. */
function toolOutput({ content: [block], isError }: CallToolResult): ToolOutput {
  return {
    content: bothEnds(block?.type === "text" ? block.text : ""),
    is_error: isError === true,
  };
}

const END_CHARACTERS = 15_000;

/** Both ends of a long text stay, as with a command's output. */
function bothEnds(text: string): string {
  const left = text.length - 2 * END_CHARACTERS;
  if (left <= 0) return text.toWellFormed();
  const [head, tail] = [text.slice(0, END_CHARACTERS), text.slice(-END_CHARACTERS)];
  return `${head}\n[… ${left} characters …]\n${tail}`.toWellFormed();
}
