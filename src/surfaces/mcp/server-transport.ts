import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  AuthProvider,
  FetchLike,
  JSONRPCMessage,
  OAuthClientProvider,
  Transport,
} from "@modelcontextprotocol/client";
import { bypassProxy, LOOPBACK_NAME } from "../../core/bypass-proxy.ts";
import { shownAddress } from "../../core/errors.ts";
import { isObject } from "../../core/fields.ts";
import type { McpServer } from "../../core/mcp-server.ts";
import { readLines } from "../../text/read-lines.ts";

/** The longest message of a server. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

/** The error of a message that is too long, and was left out. */
export const TOO_LONG = "it sent a message of more than 32 MB";

/** Answers to a program that does not read them. What it asks beyond is not answered. */
const UNREAD_BYTES_MAX = 1_000_000;

/** The time for the last words of a program that has ended, if others hold its pipes. */
const LAST_WORDS_MS = 200;

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
  });
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    const child: Child = Reflect.get(transport, "_process");
    // Each answer listens until the pipe has room for it.
    child.stdin.setMaxListeners(0);
    // The package's own reader copies all that it has of a message with each piece.
    child.stdout.removeAllListeners("data");
    child.once("exit", () => setTimeout(() => endPipes(child), LAST_WORDS_MS).unref());
    void readMessages(child, transport);
  };
  // It has to be read, or the server waits for ever once the pipe is full.
  transport.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString("utf8")));
  return transport;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** The package hears of a program's end when its pipes end. */
function endPipes({ stdin, stdout, stderr }: Child): void {
  for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
}

async function readMessages({ stdin, stdout }: Child, transport: Transport): Promise<void> {
  const { parseJSONRPCMessage } = await import("@modelcontextprotocol/client");
  let changes = 0;
  const isNews = (message: JSONRPCMessage): boolean => {
    if (!("method" in message)) return true;
    if ("id" in message) return stdin.writableLength < UNREAD_BYTES_MAX;
    // The first and the last of many changes at once.
    changes += 1;
    if (changes > 1) return false;
    setImmediate(() => {
      if (changes > 1) transport.onmessage?.(message);
      changes = 0;
    });
    return true;
  };
  try {
    for await (const line of readLines(stdout, MESSAGE_BYTES_MAX)) {
      if (line.problem === "too_long") transport.onerror?.(new Error(TOO_LONG));
      const message = line.problem ? undefined : messageIn(line.text, parseJSONRPCMessage);
      if (message && isNews(message)) transport.onmessage?.(message);
    }
  } catch {
    // The pipe was cut off.
  }
}

const CHANGED = "notifications/tools/list_changed";

/** Whether a message is a request, an answer, or the one notification that is read here. */
function isRead(message: Readonly<Record<string, unknown>>): boolean {
  return "id" in message || message.method === CHANGED;
}

/** The message of a line. A line that is none, and a notification that nobody here reads, costs little. A bad answer is an error. */
function messageIn(
  text: string,
  parse: (value: unknown) => JSONRPCMessage,
): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
    return isObject(value) && isRead(value) ? parse(value) : undefined;
  } catch {
    const { id, method } = isObject(value) ? value : {};
    if (method !== undefined || !(typeof id === "string" || typeof id === "number")) {
      return undefined;
    }
    return { jsonrpc: "2.0", id, error: { code: -32603, message: NO_ANSWER } };
  }
}

const NO_ANSWER = "it sent an answer that is not as the protocol says";

/** Reads of an answer only as much as a message may have: of a stream, as much between two events. */
const boundedFetch: FetchLike = async (url, init) => {
  const response = await fetch(url, init);
  if (!response.body) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const isEnd = isStream && /\r?\n\r?\n/.test(Buffer.from(chunk).toString("latin1"));
      bytes = isEnd ? 0 : bytes + chunk.length;
      if (bytes > MESSAGE_BYTES_MAX) controller.error(new Error(TOO_LONG));
      else controller.enqueue(chunk);
    },
  });
  const read = response.body.pipeThrough(bounded);
  return new Response(isStream ? read.pipeThrough(withoutUnread()) : read, response);
};

/** A longer line of a stream is no notification that comes by the thousand. */
const HELD_CHARACTERS_MAX = 64 * 1024;

/** With it a server says, over HTTP, that it will tell of its changes. The package waits for it. */
const LISTENING = "notifications/subscriptions/acknowledged";

/**
 * Takes the lines out of a stream of events that have a notification nobody here reads: the package takes a tenth of a
 * millisecond for each. An event without data is none.
 */
function withoutUnread(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let held = "";
  let isPassing = false;
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (held + decoder.decode(chunk, { stream: true })).split(/(?<=[\r\n])/);
      const last = lines.at(-1) ?? "";
      held = /[\r\n]$/.test(last) ? "" : (lines.pop() ?? "");
      const shown = lines.filter((line, at) => (isPassing && at === 0) || !isUnread(line));
      if (lines.length > 0) isPassing = false;
      if (isPassing || held.length > HELD_CHARACTERS_MAX) {
        shown.push(held);
        held = "";
        isPassing = true;
      }
      if (shown.length > 0) controller.enqueue(encoder.encode(shown.join("")));
    },
    flush(controller) {
      if (held !== "") controller.enqueue(encoder.encode(held));
    },
  });
}

function isUnread(line: string): boolean {
  if (!line.startsWith("data:")) return false;
  try {
    const value: unknown = JSON.parse(line.slice("data:".length));
    return isObject(value) && "method" in value && !isRead(value) && value.method !== LISTENING;
  } catch {
    return false;
  }
}

/** The time for the answers of a server that signs people in. It is less than the start of an MCP server may take. */
const SIGN_IN_MS = 8_000;

/**
 * A way to ask such a server: all that is asked in it has an answer in time, or an error. What the server at `from` names may be
 * anywhere in your network, or on this machine, so without TLS only its own host is asked.
 */
export function timelyFetch(from: string): FetchLike {
  const late = new AbortController();
  let asked = "";
  setTimeout(() => {
    late.abort(new Error(`${asked} did not answer within ${SIGN_IN_MS / 1000} s`));
  }, SIGN_IN_MS).unref();
  return async (url, init) => {
    const to = new URL(url);
    asked = to.host;
    if (to.protocol !== "https:" && !isSameHost(new URL(from), to))
      throw new Error(`it leads to ${asked} without TLS`);
    const signal = init?.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
    return await boundedFetch(url, { ...init, signal });
  };
}

function isSameHost(one: URL, other: URL): boolean {
  return (
    one.protocol === other.protocol &&
    (one.hostname === other.hostname ||
      [one, other].every(({ hostname }) => LOOPBACK_NAME.test(hostname)))
  );
}

/** The shortest time between two openings of a server's stream. A server says how soon it wants to be asked again: at once, without end. */
const STREAM_REST_MS = 1_000;

export type HttpTransport = Transport & {
  finishAuth(answer: URLSearchParams): Promise<void>;
};

export async function httpTransport(
  { url, headers, isSse }: NonNullable<McpServer["address"]>,
  authProvider: AuthProvider | OAuthClientProvider | undefined,
  fetchFn = boundedFetch,
): Promise<HttpTransport> {
  if (!URL.canParse(url)) throw new Error(`${shownAddress(url)} is no address`);
  bypassProxy(url);
  const { StreamableHTTPClientTransport, SSEClientTransport } = await import(
    "@modelcontextprotocol/client"
  );
  const stream = new URL(url).href;
  let rested = Promise.resolve();
  const restingFetch: FetchLike = async (to, init) => {
    const { method = "GET" } = init ?? {};
    if (method === "GET" && new URL(to).href === stream) {
      const may = rested;
      rested = may.then(() => sleep(STREAM_REST_MS, undefined, { ref: false }));
      await may;
    }
    // The package follows a redirection within the same server. Any other would take the key along.
    return await fetchFn(to, { redirect: "error", ...init });
  };
  const options = {
    requestInit: { headers },
    fetch: restingFetch,
    ...(authProvider ? { authProvider } : {}),
  };
  return isSse
    ? new SSEClientTransport(new URL(url), options)
    : new StreamableHTTPClientTransport(new URL(url), options);
}
