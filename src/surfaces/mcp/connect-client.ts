import type { ClientOptions, Transport } from "@modelcontextprotocol/client";
import { bypassProxy } from "../../core/bypass-proxy.ts";
import { SessionError } from "../../core/errors.ts";
import { McpConnection } from "./mcp-connection.ts";

/** A program that serves MCP over its standard input and output. */
export interface McpProgram {
  /** Default: `rkat`. */
  readonly command?: string;
  /** Default: `["mcp", "--tools", "all"]`. */
  readonly args?: readonly string[];
  /** The project's folder. Default: the current one. */
  readonly cwd?: string;
  /** Default: a safe part of this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A server over HTTP. */
export interface McpAddress {
  /** For example `http://127.0.0.1:8081/mcp`. */
  readonly url: string | URL;
  readonly token?: string;
  /**
   * The revisions of MCP to try: up to 2025-11-25 (`"legacy"`), from 2026-07-28 on
   * (`"modern"`), or the newest that the server has (`"auto"`, the default).
   */
  readonly era?: "legacy" | "modern" | "auto";
}

/** The longest message that a server may send over standard output. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** @throws SessionError `SERVICE_UNAVAILABLE` when the server cannot be reached. */
export async function connectClient(to: McpProgram | McpAddress): Promise<McpConnection> {
  const { Client, StreamableHTTPClientTransport } = await clientPackage();
  const open = async (transport: Transport, options: ClientOptions = {}) => {
    const client = new Client({ name: "rkat", version: "1" }, options);
    try {
      await client.connect(transport);
    } catch (cause) {
      const message = `The MCP server cannot be reached: ${(cause as Error).message}`;
      throw new SessionError("SERVICE_UNAVAILABLE", { message, cause });
    }
    return client;
  };
  if ("url" in to) {
    bypassProxy(to.url);
    const headers = to.token === undefined ? {} : { authorization: `Bearer ${to.token}` };
    const transport = new StreamableHTTPClientTransport(new URL(to.url), {
      requestInit: { headers, redirect: "error" },
    });
    failCutOffCalls(transport);
    const mode = to.era === "modern" ? ({ pin: "2026-07-28" } as const) : (to.era ?? "auto");
    const client = await open(transport, { versionNegotiation: { mode } });
    return new McpConnection(client, async () => {
      // The server may be gone already.
      await transport.terminateSession().catch(() => {});
      await client.close();
    });
  }
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { command = "rkat", args = ["mcp", "--tools", "all"], ...where } = to;
  const client = await open(
    new StdioClientTransport({
      command,
      args: [...args],
      maxBufferSize: ANSWER_BYTES_MAX,
      ...where,
    } as ConstructorParameters<typeof StdioClientTransport>[0]),
  );
  return new McpConnection(client, () => client.close());
}

/** Fails a call at once when its response ends early. The SDK would wait for the call's timeout. */
function failCutOffCalls(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd() {
        if (!("method" in message && "id" in message)) return;
        // The SDK ignores this for a request that was answered.
        const error = { code: -32000, message: "The response ended without an answer." };
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
      },
    });
}

/** The official client, an optional dependency. */
async function clientPackage() {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new SessionError("AGENT_ERROR", {
      message: "connectMcp needs the package @modelcontextprotocol/client, which cannot be loaded.",
      hint: "Install it: npm install @modelcontextprotocol/client",
      cause,
    });
  }
}
