import type { AuthProvider, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import { bypassProxy } from "../../core/bypass-proxy.ts";
import { shownAddress } from "../../core/errors.ts";
import type { McpServer } from "../../core/mcp-server.ts";

/** The longest message of a program. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

/** Starts a server's program, and gives its lines of stderr to `onStderr`. */
export async function programTransport(
  { command, args, env, cwd }: NonNullable<McpServer["program"]>,
  onStderr: (text: string) => void,
): Promise<Transport> {
  const { StdioClientTransport, getDefaultEnvironment } = await import(
    "@modelcontextprotocol/client/stdio"
  );
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    cwd,
    stderr: "pipe",
    maxBufferSize: MESSAGE_BYTES_MAX,
  });
  // It has to be read, or the server waits for ever once the pipe is full.
  transport.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString("utf8")));
  return transport;
}

export type HttpTransport = Transport & {
  finishAuth(answer: URLSearchParams): Promise<void>;
};

export async function httpTransport(
  { url, headers, isSse }: NonNullable<McpServer["address"]>,
  authProvider: AuthProvider | OAuthClientProvider | undefined,
): Promise<HttpTransport> {
  if (!URL.canParse(url)) throw new Error(`${shownAddress(url)} is no address`);
  bypassProxy(url);
  const { StreamableHTTPClientTransport, SSEClientTransport } = await import(
    "@modelcontextprotocol/client"
  );
  // A redirection would take the headers, and the key in them, to another server.
  const requestInit = { headers, redirect: "error" } as const;
  const options = { requestInit, ...(authProvider ? { authProvider } : {}) };
  return isSse
    ? new SSEClientTransport(new URL(url), options)
    : new StreamableHTTPClientTransport(new URL(url), options);
}
