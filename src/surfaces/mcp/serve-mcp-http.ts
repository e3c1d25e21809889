import { listen } from "../http/listen.ts";
import { MCP_PATH, McpHttpApp, type McpHttpAppOptions } from "./http-app.ts";

export interface ServeMcpHttpOptions extends Omit<McpHttpAppOptions, "anyAddress"> {
  /** 0 takes any free port. Default 8081. */
  readonly port?: number;
  /** Where to listen. Anything but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
}

export interface McpHttpServer {
  /** Where clients connect to, path included. */
  readonly url: string;
  readonly port: number;
  /** Interrupts what runs and ends all connections. The service stays open. */
  close(): Promise<void>;
}

/**
 * Serves a session service over HTTP, at `/mcp`, to clients of every revision of MCP.
 *
 * @throws SessionError `INVALID_CONFIG` for an address that others can reach without a token.
 */
export async function serveMcpHttp({
  port = 8081,
  ...options
}: ServeMcpHttpOptions): Promise<McpHttpServer> {
  const { app, close, url, ...server } = await listen(
    { port, ...options },
    (names) => new McpHttpApp({ ...options, ...names }),
  );
  return { ...server, url: `${url}${MCP_PATH}`, close: () => close(() => app.close()) };
}
