import { checkSurfaceOptions } from "../check-options.ts";
import { listen } from "../http/listen.ts";
import { MCP_PATH, McpHttpApp, type McpHttpAppOptions } from "./http-app.ts";

export interface ServeMcpHttpOptions extends Omit<McpHttpAppOptions, "anyAddress"> {
  /** 0 picks any free port. Default 8081. */
  readonly port?: number;
  /** The address to listen on. Any but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
}

export interface McpHttpServer {
  /** The address for clients, with the path. */
  readonly url: string;
  readonly port: number;
  /** Interrupts all calls and ends all connections. The service stays open. */
  close(): Promise<void>;
}

/**
 * Serves a session service over HTTP, at `/mcp`, to clients of every revision of MCP.
 *
 * @throws SessionError `INVALID_CONFIG` for an address that is in use, or that others can reach without a token.
 */
export async function serveMcpHttp(given: ServeMcpHttpOptions): Promise<McpHttpServer> {
  checkSurfaceOptions("serveMcpHttp", given);
  const { port = 8081, ...options } = given;
  const { app, close, url, ...server } = await listen(
    { port, ...options },
    (names) => new McpHttpApp({ ...options, ...names }),
  );
  return { ...server, url: `${url}${MCP_PATH}`, close: () => close(() => app.close()) };
}
