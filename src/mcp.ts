import type { Server } from "@modelcontextprotocol/server";
import type { SessionService } from "./core/session-service.ts";
import { connectClient, type McpAddress, type McpProgram } from "./surfaces/mcp/connect-client.ts";
import { McpEndpoint, type McpServerOptions } from "./surfaces/mcp/mcp-endpoint.ts";
import { serviceOver } from "./surfaces/service-client.ts";

export type { McpAddress, McpProgram } from "./surfaces/mcp/connect-client.ts";
export type { McpServerOptions } from "./surfaces/mcp/mcp-endpoint.ts";
export {
  type McpHttpServer,
  type ServeMcpHttpOptions,
  serveMcpHttp,
} from "./surfaces/mcp/serve-mcp-http.ts";
export { type ServeMcpStdioOptions, serveMcpStdio } from "./surfaces/mcp/serve-mcp-stdio.ts";

/**
 * An MCP server for one connection, to be connected to a transport of the SDK:
 * the service's operations are its tools, its sessions are resources.
 */
export function createMcpServer(options: McpServerOptions): Server {
  return new McpEndpoint(options).createServer();
}

/**
 * The session service behind an MCP server: a program that this starts (`rkat
 * mcp` when none is named), or one that is reached over HTTP. Needs the package
 * `@modelcontextprotocol/client`. Closing it ends the connection, and the program.
 */
export async function connectMcp(server: McpProgram | McpAddress = {}): Promise<SessionService> {
  return serviceOver(await connectClient(server));
}
