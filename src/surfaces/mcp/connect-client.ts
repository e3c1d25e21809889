import type { ClientOptions, Transport } from "@modelcontextprotocol/client";
import { SessionError } from "../../core/errors.ts";
import { McpConnection } from "./mcp-connection.ts";

/** A program that serves MCP over its standard input and output. */
export interface McpProgram {
  /** Default: `rkat`. */
  readonly command?: string;
  /** Default: `["mcp"]`. */
  readonly args?: readonly string[];
  /** The project's folder. Default: the current one. */
  readonly cwd?: string;
  /** Default: what is safe of this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A server that is reached over HTTP. */
export interface McpAddress {
  /** Such as `http://127.0.0.1:8081/mcp`. */
  readonly url: string | URL;
  readonly token?: string;
  /**
   * Which revisions of MCP are tried: up to 2025-11-25 (`"legacy"`), 2026-07-28 and
   * later (`"modern"`), or the newest that the server has (`"auto"`, the default).
   */
  readonly era?: "legacy" | "modern" | "auto";
}

/** Longest answer of a server over standard output. */
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
    const headers = to.token === undefined ? {} : { authorization: `Bearer ${to.token}` };
    const transport = new StreamableHTTPClientTransport(new URL(to.url), {
      requestInit: { headers },
    });
    failWhatIsCutOff(transport);
    const mode = to.era === "modern" ? ({ pin: "2026-07-28" } as const) : (to.era ?? "auto");
    const client = await open(transport, { versionNegotiation: { mode } });
    return new McpConnection(client, async () => {
      // A server that is gone has no session to end.
      await transport.terminateSession().catch(() => {});
      await client.close();
    });
  }
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { command = "rkat", args = ["mcp"], ...where } = to;
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

/** A response that ends without an answer would be waited for until the call's time is out. */
function failWhatIsCutOff(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd() {
        if (!("method" in message && "id" in message)) return;
        // One that has been answered is no longer waited for, and this is passed over.
        const error = { code: -32000, message: "The response ended without an answer." };
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
      },
    });
}

/** The official client, which not everybody needs who needs this package. */
async function clientPackage() {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new SessionError("AGENT_ERROR", {
      detail: "To connect to MCP servers needs the package @modelcontextprotocol/client.",
      hint: "npm install @modelcontextprotocol/client",
      cause,
    });
  }
}
