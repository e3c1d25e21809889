import type {
  CallToolResult,
  Client,
  ClientOptions,
  Transport,
} from "@modelcontextprotocol/client";
import { bypassProxy } from "../../core/bypass-proxy.ts";
import { errorText, SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { given, isObject } from "../../core/fields.ts";
import { newId } from "../../core/ids.ts";
import { joinSignals } from "../../core/join-signals.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { parseRequest } from "../../core/operations/operation.ts";
import type { SubscribeOptions } from "../../core/operations/sessions.ts";
import type { TurnOptions } from "../../core/operations/turns.ts";
import { OPERATIONS, type OperationName } from "../../core/operations.ts";
import {
  type ForUser,
  RemoteSubscription,
  remoteError,
  type ServiceConnection,
} from "../service-client.ts";
import {
  EVENTS_META,
  LOG_LEVEL_META,
  type SessionNotice,
  USER_META,
  WHOLE_META,
} from "./meta-keys.ts";
import { SESSION_EVENTS } from "./session-events.ts";

/** The longest that timers allow: a turn may take any time. */
const TIMEOUT_MS = 2 ** 31 - 1;

type Wire = Record<string, unknown>;

interface CallOptions extends ForUser {
  readonly signal?: AbortSignal;
  readonly onNotice?: (notice: SessionNotice) => void;
}

/** The session service behind a connected MCP client. */
class McpConnection implements ServiceConnection {
  readonly #client: Client;
  readonly #close: () => Promise<void>;
  /** The callbacks of running calls, by the `EVENTS_META` of the call. */
  readonly #listeners = new Map<string, (notice: SessionNotice) => void>();

  constructor(client: Client, close: () => Promise<void>) {
    this.#client = client;
    this.#close = close;
    client.setNotificationHandler("notifications/message", ({ params }) => {
      const { [EVENTS_META]: name } = params._meta ?? {};
      if (typeof name === "string") this.#listeners.get(name)?.(params.data as SessionNotice);
    });
  }

  async call(name: OperationName, params: Wire, options: TurnOptions & ForUser): Promise<Wire> {
    const { tool, request, streams }: Operation = OPERATIONS[name];
    // MCP carries nothing but an object, so anything else is refused here, as the service would.
    if (!isObject(params)) parseRequest(request, params);
    const { signal, onEvent, user } = options;
    const by = given({ user });
    if (!streams || !(signal || onEvent)) return await this.#callTool(tool, params, by);
    if (signal?.aborted) throw new SessionError("TURN_INTERRUPTED", { cause: signal.reason });

    // MCP does not answer a cancelled call, but an interrupted turn still has a result. So the turn
    // is interrupted by its session, once its first event shows that it is the turn of this call.
    let begun = false;
    const interrupt = () => {
      if (!begun || !signal?.aborted) return;
      const { session_id } = params;
      this.#callTool(OPERATIONS.interrupt.tool, { session_id }, by).catch(() => {});
    };
    signal?.addEventListener("abort", interrupt);
    try {
      return await this.#callTool(tool, params, {
        ...by,
        onNotice({ event }) {
          if (!event) return;
          onEvent?.(event);
          if (begun) return;
          begun = true;
          interrupt();
        },
      });
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }

  async *subscribe(
    params: Wire,
    { signal, onOpen, user }: SubscribeOptions & ForUser,
  ): AsyncIterable<EventEnvelope> {
    let opened = false;
    let after: Wire = {};
    while (!signal?.aborted) {
      const subscription = new RemoteSubscription(newId(), 0);
      const stop = new AbortController();
      const { signal: stopped, release } = joinSignals([signal, stop.signal]);
      stopped.addEventListener("abort", () => subscription.end());
      this.#callTool(
        SESSION_EVENTS.tool,
        { ...params, ...after, follow: true },
        {
          ...given({ user }),
          signal: stopped,
          onNotice({ event, subscribed }) {
            if (event) return subscription.push(event, JSON.stringify(event).length);
            subscription.last = subscribed ?? subscription.last;
            if (!opened) onOpen?.(subscription.last);
            opened = true;
          },
        },
      ).then(
        () => subscription.end(),
        (error) => subscription.end(error),
      );
      try {
        for await (const event of subscription.events()) {
          if (signal?.aborted) return;
          yield event;
        }
        if (subscription.error && !signal?.aborted) throw subscription.error;
        if (subscription.state === "ended") return;
        after = { after_seq: subscription.last };
      } finally {
        stop.abort();
        release();
      }
    }
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #callTool(
    name: string,
    params: Wire,
    { signal, onNotice, user }: CallOptions,
  ): Promise<Wire> {
    const call = newId();
    const isModern = this.#client.getProtocolEra() === "modern";
    const meta = {
      [WHOLE_META]: true,
      ...(user === undefined ? {} : { [USER_META]: user }),
      ...(onNotice ? { [EVENTS_META]: call } : {}),
      ...(onNotice && isModern ? { [LOG_LEVEL_META]: "debug" } : {}),
    };
    if (onNotice) this.#listeners.set(call, onNotice);
    const result = this.#client
      .callTool(
        { name, arguments: params, _meta: meta },
        { timeout: TIMEOUT_MS, ...(signal ? { signal } : {}) },
      )
      .catch((error) => {
        throw disconnected(error);
      })
      .finally(() => this.#listeners.delete(call));
    return readResult(await result);
  }
}

function readResult({ structuredContent, isError }: CallToolResult): Wire {
  if (isError) throw remoteError((structuredContent ?? {}) as Wire);
  return structuredContent as Wire;
}

const INVALID_PARAMS = -32602;

/** The failure of a call that got no result. */
function disconnected(cause: unknown): SessionError {
  // Wrong arguments are a result, so this refuses the tool itself.
  if ((cause as { readonly code?: unknown } | undefined)?.code === INVALID_PARAMS) {
    return new SessionError("SERVICE_UNAVAILABLE", {
      message: `The MCP server refused the call: ${errorText(cause)}`,
      hint: "Start the server with `rkat mcp --tools all`, or name the tools that you need.",
      cause,
    });
  }
  return new SessionError("SERVICE_UNAVAILABLE", {
    message: `The MCP server did not answer: ${errorText(cause)}`,
    hint: "Check that the server is running, and connect again.",
    cause,
  });
}

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
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
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
