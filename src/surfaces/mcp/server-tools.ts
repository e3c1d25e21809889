import { createHash } from "node:crypto";
import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import { errorText } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import type { McpServer } from "../../core/mcp-server.ts";
import { type Tool, type ToolDefinition, ToolError, type ToolOutput } from "../../core/tool.ts";
import { textWeight } from "../../text/text-weight.ts";
import { visibleText } from "../../text/visible-text.ts";
import { openMcpServer, type ServerLink } from "./server-link.ts";

/** The tools of MCP servers, for an agent of rkat. */
export interface ServerTools {
  readonly tools: readonly Tool[];
  /** Estimated tokens of the definitions, which are a part of every request. */
  readonly tokens: number;
  /** Each server that answered, with its number of tools. */
  readonly servers: readonly { readonly name: string; readonly tools: number }[];
  /** What is missing and why: a sentence each. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts servers side by side, and asks each for its tools. A server that does not answer in time is a problem, and the
 * others go on. Each call needs approval, unless the user's settings say otherwise: what a server says of its own tools
 * is no reason to trust them.
 */
export async function openServerTools(servers: readonly McpServer[]): Promise<ServerTools> {
  const opened = await Promise.all(
    servers.map(async (server) => {
      const link = openMcpServer(server);
      try {
        return { server, link, listed: await link.listTools() };
      } catch (error) {
        await link.close();
        return {
          server,
          link,
          problem: `The MCP server ${server.name} gives no tools: ${error instanceof Error ? error.message : errorText(error)}`,
        };
      }
    }),
  );
  const problems: string[] = [];
  const tools = new Map<string, Tool>();
  const counts: { name: string; tools: number }[] = [];
  for (const { server, link, listed, problem } of opened) {
    if (problem !== undefined) problems.push(problem);
    if (listed === undefined) continue;
    const before = tools.size;
    for (const described of offered(server, listed, problems)) {
      const name = toolName(server.name, described.name);
      if (tools.has(name)) {
        problems.push(
          `${server.name} has two tools that would be called ${name}; the second is left out.`,
        );
      } else tools.set(name, serverTool(name, described, server, link));
    }
    counts.push({ name: server.name, tools: tools.size - before });
  }
  const definitions = [...tools.values()].map(({ definition }) => definition);
  return {
    tools: [...tools.values()],
    tokens: Math.round(textWeight(JSON.stringify(definitions)) / 4),
    servers: counts,
    problems: problems.map(visibleText),
    close: async () => {
      await Promise.all(opened.map(({ link }) => link.close()));
    },
  };
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
  const fit = chosen.filter(({ name: tool, inputSchema }) => {
    const isSmall = JSON.stringify(inputSchema).length <= SCHEMA_CHARACTERS_MAX;
    if (!isSmall)
      problems.push(
        `${name} describes the arguments of ${tool.slice(0, 100)} in too many words; it is left out.`,
      );
    return isSmall;
  });
  if (fit.length > TOOLS_MAX) {
    problems.push(
      `${name} has ${fit.length} tools; the first ${TOOLS_MAX} are used. Name those that you need: tools = ["…"].`,
    );
  }
  return fit.slice(0, TOOLS_MAX);
}

const NAME_MAX = 64;

/**
 * mcp, the server and the tool, with `__` between them. rkat's own tools have no such name, and no server's name contains `__`, so no server can
 * take the place of another's tool. Providers take 64 characters of a few kinds: a name that is changed gets a hash.
 */
export function toolName(server: string, tool: string): string {
  const plain = tool.replaceAll(/[^\w-]/g, "_");
  const name = `mcp__${server}__${plain}`;
  if (plain === tool && tool !== "" && name.length <= NAME_MAX) return name;
  const mark = createHash("sha256").update(tool).digest("hex").slice(0, 8);
  return `${name.slice(0, NAME_MAX - mark.length - 1)}_${mark}`;
}

function serverTool(name: string, listed: Listed, server: McpServer, link: ServerLink): Tool {
  const definition: ToolDefinition = {
    name,
    description: shownDescription(listed, server),
    input_schema: listed.inputSchema,
  };
  return {
    definition,
    policy: "ask",
    always: () => ({ tool: name }),
    timeoutMs: server.timeoutMs,
    async execute(args, { signal }) {
      if (!isObject(args)) throw new ToolError("invalid_arguments", "Send an object.");
      return toolOutput(await link.callTool(listed.name, args, signal));
    },
  };
}

function shownDescription({ title, description = title ?? "" }: Listed, server: McpServer): string {
  const text = visibleText(description.trim());
  const cut = text.length > DESCRIPTION_CHARACTERS_MAX;
  const shown = cut ? `${text.slice(0, DESCRIPTION_CHARACTERS_MAX)}…` : text;
  return (shown || `A tool of the MCP server ${server.name}.`).toWellFormed();
}

/** What the model reads of a result. Media leave their type. */
function toolOutput({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const texts = content.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "resource":
        return "text" in block.resource
          ? `[${block.resource.uri}]\n${block.resource.text}`
          : `[${block.resource.mimeType ?? "data"}: ${block.resource.uri}]`;
      case "resource_link":
        return `[${block.name}: ${block.uri}]`;
      default:
        return `[${block.mimeType ?? block.type}]`;
    }
  });
  const said = texts.filter((text) => text !== "").join("\n");
  const text = said === "" && structuredContent !== undefined ? jsonText(structuredContent) : said;
  return { content: bothEnds(text ?? ""), is_error: isError === true };
}

const END_CHARACTERS = 15_000;

/** As of a command's output, both ends of a long text stay. */
function bothEnds(text: string): string {
  const left = text.length - 2 * END_CHARACTERS;
  if (left <= 0) return text.toWellFormed();
  const [head, tail] = [text.slice(0, END_CHARACTERS), text.slice(-END_CHARACTERS)];
  return `${head}\n[… ${left} characters …]\n${tail}`.toWellFormed();
}
