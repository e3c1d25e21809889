import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { checkSurfaceOptions } from "../check-options.ts";
import { McpEndpoint, type McpServerOptions } from "./mcp-endpoint.ts";
import { StdioLines } from "./stdio-lines.ts";

export interface ServeMcpStdioOptions extends McpServerOptions {
  /** Default: this process's standard input. */
  readonly input?: Readable;
  /** Gets nothing but protocol messages. Default: this process's standard output. */
  readonly output?: Writable;
  /** Ends the connection and interrupts all calls. */
  readonly signal?: AbortSignal;
}

/**
 * Serves a session service over standard input and output, to clients of every
 * revision of MCP. Resolves when the connection and all calls have ended. The
 * service stays open.
 */
export async function serveMcpStdio(options: ServeMcpStdioOptions): Promise<void> {
  checkSurfaceOptions("serveMcpStdio", options);
  const { input = process.stdin, output = process.stdout, signal } = options;
  const endpoint = new McpEndpoint(options);
  const transport = new StdioLines(input, output);
  const connection = serveStdio((context) => endpoint.createServer(context), { transport });
  const stop = () => void connection.close();
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  await transport.closed;
  signal?.removeEventListener("abort", stop);
  await endpoint.settled();
}
