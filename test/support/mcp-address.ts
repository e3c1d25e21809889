import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { McpServer } from "../../src/core/mcp-server.ts";

/** The address of an MCP server over HTTP that answers as `listener` does, until the test ends. */
export async function mcpAddress(
  listener: RequestListener,
): Promise<NonNullable<McpServer["address"]>> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, headers: {}, isSse: false };
}
