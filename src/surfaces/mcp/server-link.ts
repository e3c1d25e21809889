import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult, Client, RequestId, Transport } from "@modelcontextprotocol/client";
import { errorText } from "../../core/errors.ts";
import type { McpServer } from "../../core/mcp-server.ts";
import { ToolError } from "../../core/tool.ts";
import { visibleText } from "../../text/visible-text.ts";
import { mendedAnswer } from "./mended-answer.ts";
import { signedIn } from "./oauth-provider.ts";
import { httpTransport, programTransport, TOO_LONG } from "./server-transport.ts";

const START_MS = 10_000;
/** Timers take no more. The time of a call is its tool's. */
const NO_LIMIT_MS = 2 ** 31 - 1;
const STDERR_CHARACTERS = 500;
const PAGES_MAX = 100;
/** A server that is busy is asked without having said that it is there. */
const THERE_MS = 1_000;

/** A connection to one server. A server that ended is started again by the next call. */
export interface ServerLink {
  listTools(): Promise<Awaited<ReturnType<Client["listTools"]>>["tools"]>;
  /** @throws ToolError when the server does not answer */
  callTool(
    name: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** `onToolsChanged` is called when the server says that it has other tools than before. */
export function openMcpServer(server: McpServer, onToolsChanged: () => void): ServerLink {
  let connecting: Promise<Client> | undefined;
  let isClosed = false;
  let hasConnected = false;
  const stderr = { text: "" };

  const connected = (): Promise<Client> => {
    if (isClosed) throw new Error("it was closed");
    if (connecting) return connecting;
    const started = connect(server, stderr, {
      onToolsChanged,
      onClose: () => {
        if (connecting === started) connecting = undefined;
      },
    });
    connecting = started;
    // A server that was started again may have other tools.
    started.then(
      () => {
        if (hasConnected) onToolsChanged();
        hasConnected = true;
      },
      () => {
        if (connecting === started) connecting = undefined;
      },
    );
    return started;
  };

  return {
    async listTools() {
      const late = AbortSignal.timeout(startMsOf(server));
      try {
        const client = await connected();
        // The package would print a line about it, among a command's answers.
        if (!client.getServerCapabilities()?.tools) throw new Error("it says that it has none");
        return (
          await client.listTools(undefined, {
            signal: late,
            cacheMode: "refresh",
          })
        ).tools;
      } catch (error) {
        const last = visibleText(stderr.text.trim().split("\n").at(-1) ?? "").slice(
          0,
          STDERR_CHARACTERS,
        );
        const why = late.aborted ? noAnswer(server) : reasonOf(error);
        throw new Error(`${why}.${last === "" ? "" : ` Its last line: ${last}`}`);
      }
    },
    async callTool(name, args, signal) {
      let client: Client;
      try {
        client = await connected();
        // One that is about to end after its last answer would take the call along.
        if (server.program) {
          await Promise.race([
            client.ping().catch(() => {}),
            sleep(THERE_MS, undefined, { ref: false }),
          ]);
          client = await connected();
        }
      } catch (error) {
        throw failed(server, `cannot be started again: ${reasonOf(error)}`, error);
      }
      try {
        return await client.callTool({ name, arguments: args }, { signal, timeout: NO_LIMIT_MS });
      } catch (error) {
        if (signal.aborted) throw error;
        const hasEnded = connecting === undefined;
        const what = hasEnded
          ? "ended before it answered. Whether the call had an effect is not known. The next call starts it again"
          : `did not answer: ${reasonOf(error)}`;
        throw failed(server, what, error);
      }
    },
    async close() {
      isClosed = true;
      const client = await connecting?.catch(() => undefined);
      await client?.close().catch(() => {});
    },
  };
}

function failed({ name }: McpServer, what: string, cause: unknown): ToolError {
  return new ToolError("execution_failed", `The MCP server ${name} ${what}.`, { cause });
}

function reasonOf(error: unknown): string {
  return visibleText(errorText(error))
    .slice(0, STDERR_CHARACTERS)
    .replace(/[.\s]{1,9}$/, "");
}

/** The answer to a server that asks for more than to give tools. */
function refusal(method: string): string {
  const what: Readonly<Record<string, string>> = {
    "sampling/createMessage": "lets no MCP server use its model",
    "elicitation/create": "asks its user nothing for an MCP server",
    "roots/list": "tells MCP servers of no folders",
  };
  return `rkat ${what[method] ?? `does not know ${method.slice(0, 100)}`}.`;
}

/** @throws when the server has not answered in time. Nothing of it is left then. */
async function connect(
  server: McpServer,
  stderr: { text: string },
  { onClose, onToolsChanged }: { onClose(): void; onToolsChanged(): void },
): Promise<Client> {
  const { Client, ProtocolError, ProtocolErrorCode } = await import("@modelcontextprotocol/client");
  const mode = server.address && !server.address.isSse ? "auto" : "legacy";
  const client = new Client(
    { name: "rkat", version: "1" },
    {
      listMaxPages: PAGES_MAX,
      versionNegotiation: { mode },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onToolsChanged() },
      },
    },
  );
  client.onclose = onClose;
  client.fallbackRequestHandler = async ({ method }) => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, refusal(method));
  };
  const transport = await transportTo(server, stderr);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(noAnswer(server))), startMsOf(server));
  });
  try {
    await Promise.race([client.connect(transport, { timeout: startMsOf(server) }), late]);
    mendAnswers(transport);
    return client;
  } catch (error) {
    await Promise.allSettled([client.close(), transport.close()]);
    throw server.address?.signIn && asksWhoYouAre(error)
      ? new Error(`it wants you to sign in: \`rkat mcp login ${server.name}\``, { cause: error })
      : error;
  } finally {
    clearTimeout(timer);
  }
}

const startMsOf = ({ startMs = START_MS }: McpServer) => startMs;
const noAnswer = (server: McpServer) => `it did not answer within ${startMsOf(server) / 1000} s`;

/** Answers that are not as the protocol says are mended. One that is too long fails all requests that wait: nothing says whose it was. */
function mendAnswers(transport: Transport): void {
  const waiting = new Set<RequestId>();
  const { onmessage: take, onerror: fail } = transport;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ("method" in message && "id" in message) waiting.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled")
      waiting.delete(message.params?.requestId as RequestId);
    return send(message, options);
  };
  transport.onmessage = (message, extra) => {
    if (!("method" in message) && message.id !== undefined) waiting.delete(message.id);
    take?.(mendedAnswer(message), extra);
  };
  transport.onerror = (error) => {
    fail?.(error);
    if (!error.message.includes(TOO_LONG)) return;
    for (const id of waiting) {
      take?.({ jsonrpc: "2.0", id, error: { code: -32000, message: TOO_LONG } });
    }
    waiting.clear();
  };
}

/** Whether a server answered that it does not know who asks. */
function asksWhoYouAre(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 401;
}

async function transportTo(
  { name, program, address }: McpServer,
  stderr: { text: string },
): Promise<Transport> {
  if (program) {
    return await programTransport(program, (text) => {
      stderr.text = (stderr.text + text).slice(-4 * STDERR_CHARACTERS);
    });
  }
  if (!address) throw new Error("it has neither a program nor an address");
  return await httpTransport(address, address.signIn && signedIn(name, address.signIn));
}
