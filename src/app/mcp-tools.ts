import { findMcpServers } from "../config/mcp-servers.ts";
import type { Workspace } from "../config/workspace.ts";
import type { Tool } from "../core/tool.ts";
import { warn } from "../core/warn.ts";

/** The tools of the MCP servers that the settings describe, and a line about them. */
export interface McpTools {
  tools(): readonly Tool[];
  /** Undefined where no server is described. */
  readonly note: string | undefined;
  /** The servers' words on how their tools are used, for the end of a system prompt; empty when they say nothing. */
  readonly instructions: string;
  close(): Promise<void>;
}

/** The tokens of definitions, sent with each request, from which rkat warns. */
const TOKENS_WORTH_A_WARNING = 20_000;

/** Starts the servers. One that fails is a warning, and the agent goes on without its tools. */
export async function openMcpTools(workspace: Workspace): Promise<McpTools> {
  const found = findMcpServers(workspace, process.env);
  const usable = found.filter(({ state }) => state === "on");
  for (const { name, state, problem, origin } of found) {
    if (state === "wrong") warn(`${name} (${origin}) is not used: ${problem}.`);
    if (state === "on" && problem !== undefined) warn(`${name} (${origin}): ${problem}.`);
  }
  const waiting = found.filter(({ state }) => state === "not allowed").map(({ name }) => name);
  const asked =
    waiting.length === 0
      ? ""
      : ` Not started, because you have not allowed it: ${waiting.join(", ")}. \`rkat mcp list\` shows what .mcp.json would start.`;
  if (usable.length === 0) {
    const note = asked === "" ? undefined : `MCP servers: none.${asked}`;
    return { tools: () => [], note, instructions: "", close: async () => {} };
  }
  const { openServerTools } = await import("../surfaces/mcp/server-tools.ts");
  const opened = await openServerTools(
    usable.map(({ server }) => server),
    warn,
  );
  for (const problem of opened.problems) warn(problem);
  const { tools, servers, tokens, instructions, close } = opened;
  if (tokens > TOKENS_WORTH_A_WARNING) {
    warn(
      `The tools of MCP servers take about ${tokens} tokens of every request. Name those that you need: [mcp.servers.NAME] tools = ["…"].`,
    );
  }
  const counts = servers.map((each) => `${each.name} (${each.tools})`).join(", ");
  const note = `MCP servers, with your approval: ${counts || "none"}.${asked}`;
  return { tools, note, instructions, close };
}
