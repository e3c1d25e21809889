import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult, Client, RequestId, Transport } from "@modelcontextprotocol/client";
import { chainOf, errorText } from "../../core/errors.ts";
import type { McpServer } from "../../core/mcp-server.ts";
import { ToolError } from "../../core/tool.ts";
import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { visibleText } from "../../text/visible-text.ts";
import { mendedAnswer } from "./mended-answer.ts";
import { signedIn } from "./oauth-provider.ts";
import { httpTransport, programTransport, TOO_LONG } from "./server-transport.ts";

/** `npx` and `uvx` may have to fetch the program first. */
const START_MS = 30_000;
/** Timers take no more. The time of a call is its tool's. */
const NO_LIMIT_MS = 2 ** 31 - 1;
const REASON_CHARACTERS = 500;
const STDERR_CHARACTERS = 8_000;
const PAGES_MAX = 100;
/** A server that is busy is asked without having said that it is there. */
const THERE_MS = 1_000;

/** A connection to one server. A server that ended is started again by the next call. */
export interface ServerLink {
  listTools(): Promise<Awaited<ReturnType<Client["listTools"]>>["tools"]>;
  /** @throws ToolError when the server does not answer */
  /** The server's words on how its tools are used, once it has answered. */
  readonly instructions: string | undefined;
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
  let current: Client | undefined;
  /** The calls of each client that have no answer yet. */
  const calls = new Map<Client, number>();
  /** Clients whose server has not answered a ping, and those whose server answered calls meanwhile: it never will. */
  const asked = new Set<Client>();
  const answersNoPing = new WeakSet<Client>();
  let isClosed = false;
  let hasConnected = false;
  const stderr: Stderr = { text: "" };

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
      (client) => {
        current = client;
        if (hasConnected) onToolsChanged();
        hasConnected = true;
      },
      () => {
        if (connecting === started) connecting = undefined;
      },
    );
    return started;
  };

  const live = async (): Promise<Client> => {
    try {
      const client = await connected();
      if (!server.program || answersNoPing.has(client)) return client;
      // One that is about to end after its last answer would take the call along.
      asked.add(client);
      const answered = client.ping().catch(() => {});
      const isThere = answered.finally(() => asked.delete(client));
      await Promise.race([isThere, sleep(THERE_MS, undefined, { ref: false })]);
      return await connected();
    } catch (error) {
      throw failed(server, `cannot be started again: ${reasonOf(error)}`, error);
    }
  };
  const call = async (
    client: Client,
    ...request: Parameters<Client["callTool"]>
  ): Promise<CallToolResult> => {
    calls.set(client, (calls.get(client) ?? 0) + 1);
    try {
      const result = await client.callTool(...request);
      if (asked.has(client)) answersNoPing.add(client);
      return result;
    } catch (error) {
      if (hasForgotten(error) && current === client) current = connecting = undefined;
      throw error;
    } finally {
      const left = (calls.get(client) ?? 1) - 1;
      if (left > 0) calls.set(client, left);
      else calls.delete(client);
      // Other calls may be running in a session that takes no new ones.
      if (left === 0 && client !== current) void client.close().catch(() => {});
    }
  };
  const whyNot = (error: unknown): string =>
    connecting === undefined
      ? "ended before it answered. Whether the call had an effect is not known. The next call starts it again"
      : `failed: ${wantsSignIn(server, error) ? signInHint(server) : reasonOf(error)}`;

  return {
    get instructions() {
      return current?.getInstructions();
    },
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
        const last = lastWords(stderr.text);
        const why = late.aborted ? noAnswer(server) : reasonOf(error);
        throw new Error(`${why}.${last === "" ? "" : ` Its last line: ${last}`}`);
      }
    },
    async callTool(name, args, signal) {
      for (let isAgain = false; ; isAgain = true) {
        const client = await live();
        try {
          const options = { signal, timeout: NO_LIMIT_MS };
          return await call(client, { name, arguments: args }, options);
        } catch (error) {
          if (signal.aborted) throw error;
          // It did not take the call, so the call can be sent again.
          if (isAgain || !hasForgotten(error)) throw failed(server, whyNot(error), error);
        }
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
  const chain = chainOf(error);
  // `fetch failed` means nothing without its cause.
  const { message, code } = (isUnreachable(error) && chain.at(-1)) || {};
  return shown(message || code || errorText(error)).replace(/[.\s]{1,9}$/, "");
}

/** A server may say anything. */
function shown(text: string): string {
  return redactSecrets(visibleText(text.slice(0, STDERR_CHARACTERS).trim())).slice(
    0,
    REASON_CHARACTERS,
  );
}

function isUnreachable(error: unknown): boolean {
  return chainOf(error).some((each) => each instanceof TypeError);
}

/** A server that was started again, or had not been asked for long, does not know its clients. */
function hasForgotten(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || (status === 400 && /session/i.test(errorText(error)));
}

/** The line of stderr that says why a program ended. A crash ends with its stack, and npm with its log. */
function lastWords(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const line =
    lines.find((each) => /^npm error (?!code )/.test(each)) ??
    lines.findLast((each) => /^[\w.]*(?:Error|Exception)\b/.test(each)) ??
    lines.findLast((each) => !/^(?:Node\.js v|Run ')/.test(each));
  return shown(line ?? "");
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

/** A way to speak to a server. */
interface Way {
  readonly mode: "auto" | "legacy";
  readonly isSse?: boolean;
}

/** Some servers fail when they are asked for the newest revision, and others know the oldest transport alone. */
function waysTo({ address }: McpServer): readonly Way[] {
  const sse: Way = { mode: "legacy", isSse: true };
  if (address?.isSse) return [sse];
  return address ? [{ mode: "auto" }, { mode: "legacy" }, sse] : [{ mode: "legacy" }];
}

/** @throws when the server has not answered in time. Nothing of it is left then. */
async function connect(server: McpServer, stderr: Stderr, on: Notices): Promise<Client> {
  const { SdkError } = await import("@modelcontextprotocol/client");
  const late = AbortSignal.timeout(startMsOf(server));
  let problem: unknown;
  for (const way of waysTo(server)) {
    try {
      return await connectBy(way, server, stderr, on, late);
    } catch (error) {
      if (late.aborted) throw new Error(noAnswer(server), { cause: error });
      if (wantsSignIn(server, error)) throw new Error(signInHint(server), { cause: error });
      // The error of the older transport does not help with a server of the newer one.
      problem = way.isSse ? (problem ?? error) : error;
      const isDenial = statusOf(error) === 401 || statusOf(error) === 403;
      if (!(error instanceof SdkError) || isUnreachable(error) || isDenial) break;
    }
  }
  throw problem;
}

async function connectBy(
  { mode, isSse = false }: Way,
  server: McpServer,
  stderr: Stderr,
  { onClose, onToolsChanged }: Notices,
  late: AbortSignal,
): Promise<Client> {
  const { Client, ProtocolError, ProtocolErrorCode, SseError } = await import(
    "@modelcontextprotocol/client"
  );
  const timeout = startMsOf(server);
  const client = new Client(
    { name: "rkat", version: "1" },
    {
      listMaxPages: PAGES_MAX,
      versionNegotiation: { mode, probe: { timeoutMs: timeout / 3 } },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onToolsChanged() },
      },
    },
  );
  client.fallbackRequestHandler = async ({ method }) => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, refusal(method));
  };
  const transport = await transportTo(server, isSse, stderr);
  const stop = new AbortController();
  try {
    await Promise.race([
      client.connect(transport, { timeout }),
      once(late, "abort", { signal: stop.signal }).then(() => late.throwIfAborted()),
    ]);
    client.onclose = onClose;
    mendAnswers(transport, (error) => error instanceof SseError);
    return client;
  } catch (error) {
    await Promise.allSettled([client.close(), transport.close()]);
    throw error;
  } finally {
    stop.abort();
  }
}

/** The last part of what a program wrote to stderr. */
interface Stderr {
  text: string;
}

interface Notices {
  onClose(): void;
  onToolsChanged(): void;
}

const CUT_OFF = "its stream ended before it answered. Whether the call had an effect is not known";

/** The time to start and to list its tools. */
export const startMsOf = ({ startMs = START_MS }: McpServer) => startMs;
const noAnswer = (server: McpServer) => `it did not answer within ${startMsOf(server) / 1000} s`;

/** Answers that are not as the protocol says are mended. One that is too long fails all requests that wait: nothing says whose it was. */
function mendAnswers(transport: Transport, isEnd: (error: Error) => boolean): void {
  const waiting = new Set<RequestId>();
  const fails = (id: RequestId, message: string) => {
    if (waiting.delete(id)) take?.({ jsonrpc: "2.0", id, error: { code: -32000, message } });
  };
  const { onmessage: take, onerror: fail } = transport;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ("method" in message && "id" in message) waiting.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled")
      waiting.delete(message.params?.requestId as RequestId);
    const onRequestStreamEnd = () => "id" in message && fails(message.id as RequestId, CUT_OFF);
    return send(message, { onRequestStreamEnd, ...options });
  };
  transport.onmessage = (message, extra) => {
    if (!("method" in message) && message.id !== undefined) waiting.delete(message.id);
    take?.(mendedAnswer(message), extra);
  };
  transport.onerror = (error) => {
    fail?.(error);
    // The package would open the stream again, for a session that does not know who asks.
    if (isEnd(error)) void transport.close();
    if (error.message.includes(TOO_LONG)) for (const id of waiting) fails(id, TOO_LONG);
  };
}

const wantsSignIn = ({ address }: McpServer, error: unknown) =>
  address?.signIn !== undefined && statusOf(error) === 401;
const signInHint = ({ name }: McpServer) => `it wants you to sign in: \`rkat mcp login ${name}\``;

function statusOf(error: unknown): unknown {
  return error instanceof Error && "status" in error ? error.status : undefined;
}

async function transportTo(
  { name, program, address }: McpServer,
  isSse: boolean,
  stderr: Stderr,
): Promise<Transport> {
  if (program) {
    return await programTransport(program, (text) => {
      stderr.text = (stderr.text + text).slice(-STDERR_CHARACTERS);
    });
  }
  if (!address) throw new Error("it has neither a program nor an address");
  return await httpTransport(
    { ...address, isSse },
    address.signIn && signedIn(name, address.signIn),
  );
}
