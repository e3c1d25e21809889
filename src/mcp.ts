import type { Server } from "@modelcontextprotocol/server";
import type { SessionService } from "./core/session-service.ts";
import { checkSurfaceOptions } from "./surfaces/check-options.ts";
import { connectClient, type McpAddress, type McpProgram } from "./surfaces/mcp/mcp-connection.ts";
import { McpEndpoint, type McpServerOptions } from "./surfaces/mcp/mcp-endpoint.ts";
import { serviceOver } from "./surfaces/service-client.ts";

export {
  type McpHttpServer,
  type ServeMcpHttpOptions,
  serveMcpHttp,
} from "./surfaces/mcp/http-app.ts";
export type { McpAddress, McpProgram } from "./surfaces/mcp/mcp-connection.ts";
export type { McpServerOptions } from "./surfaces/mcp/mcp-endpoint.ts";
export { type ServeMcpStdioOptions, serveMcpStdio } from "./surfaces/mcp/stdio-lines.ts";

/**
 * An MCP server for one connection. Connect it to any transport of the MCP SDK. The
 * service's operations are its tools, and its sessions are resources.
 */
export async function createMcpServer(options: McpServerOptions): Promise<Server> {
  checkSurfaceOptions("createMcpServer", options);
  return await new McpEndpoint(options).createServer();
}

/**
 * The session service of an MCP server. The server is a program that this starts
 * (default: `rkat mcp`) or an HTTP address. Closing the service ends the connection
 * and the program.
 */
export async function connectMcp(server: McpProgram | McpAddress = {}): Promise<SessionService> {
  checkSurfaceOptions("connectMcp", server);
  return serviceOver(await connectClient(server));
}
