import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Line, lineProblem, readLines } from "../../text/read-lines.ts";
import { checkSurfaceOptions } from "../check-options.ts";
import { LineWriter } from "../line-writer.ts";
import { McpEndpoint, type McpServerOptions } from "./mcp-endpoint.ts";

/** Bytes of one message. A longer one is skipped and answered with an error. */
const LINE_BYTES_MAX = 32 * 1024 * 1024;

/** How long open requests may still be answered after the input has ended. */
const DRAIN_MS = 1_000;

/**
 * MCP over two streams, one message a line. Unlike the SDK's transport it answers
 * lines that are not messages, has backpressure, and gives open requests a moment
 * to be answered when the input ends.
 */
class StdioLines implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  readonly #writer: LineWriter;
  readonly #unanswered = new Set<RequestId>();
  #markClosed = () => {};
  #isClosed = false;
  #onAnswered = () => {};

  constructor(input: Readable, output: Writable) {
    this.closed = new Promise((resolve) => {
      this.#markClosed = resolve;
    });
    this.#input = input;
    this.#writer = new LineWriter(output, () => void this.close());
  }

  async start(): Promise<void> {
    void this.#readAll();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message) {
      return await this.#writer.writeWhenReady(() => JSON.stringify(message));
    }
    const line = JSON.stringify(message);
    if (message.id !== undefined) {
      this.#unanswered.delete(message.id);
      if (this.#unanswered.size === 0) this.#onAnswered();
    }
    await this.#writer.write(line);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.destroy();
    this.onclose?.();
    this.#markClosed();
  }

  async #readAll(): Promise<void> {
    try {
      for await (const line of readLines(this.#input, LINE_BYTES_MAX)) {
        this.#receive(line);
        // Backpressure: reads no more while the other side does not read the answers.
        await this.#writer.ready();
      }
      await this.#drained();
    } catch (error) {
      if (!this.#isClosed) this.onerror?.(error as Error);
    } finally {
      await this.close();
    }
  }

  #receive(line: Line): void {
    const message = this.#messageOf(line);
    if (!message) return;
    if (isJSONRPCRequest(message)) this.#unanswered.add(message.id);
    if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
      if (requestId !== undefined) this.#unanswered.delete(requestId);
    }
    this.onmessage?.(message);
  }

  #messageOf(line: Line): JSONRPCMessage | undefined {
    if (line.problem) {
      const problem = lineProblem(line.problem, LINE_BYTES_MAX);
      return this.#refuse(-32700, `Parse error: the line ${problem}`, null);
    }
    let value: unknown;
    try {
      value = JSON.parse(line.text);
    } catch {
      return this.#refuse(-32700, "Parse error: the line is not JSON", null);
    }
    try {
      return parseJSONRPCMessage(value);
    } catch {
      const { id } = (value ?? {}) as { id?: unknown };
      const known = typeof id === "string" || typeof id === "number" ? id : null;
      return this.#refuse(-32600, "Invalid request: the line is not a JSON-RPC 2.0 message", known);
    }
  }

  #refuse(code: number, message: string, id: RequestId | null): undefined {
    void this.#writer.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
  }

  async #drained(): Promise<void> {
    if (this.#unanswered.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DRAIN_MS);
      this.#onAnswered = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

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
