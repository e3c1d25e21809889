import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { anthropicMessages } from "./anthropic-messages.ts";
import { EMBEDDINGS, type Embeddings, embeddingsAnswer, embeddingsProblem } from "./embeddings.ts";
import { googleGenerateContent } from "./google-generate-content.ts";
import { problemOfHouse } from "./house-rules.ts";
import { openAiChat, openAiCompatibleChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import {
  type Answer,
  complete,
  type Failure,
  type Json,
  listOf,
  type Protocol,
  ProtocolMemory,
  type ProviderReply,
  type ServerEvent,
  type Wire,
} from "./reply.ts";
import { problemWithTools } from "./tool-problems.ts";

const PROTOCOLS = {
  anthropic: anthropicMessages,
  openai: openAiResponses,
  "openai-chat": openAiChat,
  google: googleGenerateContent,
  "openai-compatible": openAiCompatibleChat,
} as const satisfies Record<string, Protocol>;

type ProtocolName = keyof typeof PROTOCOLS;

export interface ProviderRequest {
  readonly protocol: ProtocolName;
  readonly headers: IncomingMessage["headers"];
  readonly body: Json;
  /** Resolves when the connection is closed, by whom ever. */
  readonly closed: Promise<void>;
}

export interface ProviderServer {
  /** What each provider's base URL is set to. */
  readonly urls: Readonly<Record<Exclude<ProtocolName, "openai-chat"> | "ollama", string>>;
  readonly requests: readonly ProviderRequest[];
  /** What the real APIs would have refused requests for; those got a 400. */
  readonly problems: readonly string[];
  /** Refuses what it signed until now, as with the key of another organisation. */
  forgetSignatures(): void;
  close(): Promise<void>;
}

type Reply = ProviderReply | Embeddings | "context-too-long" | TooLong;

interface TooLong {
  readonly tokens: number;
  readonly most: number;
}

const TOO_LONG: TooLong = { tokens: 1_205_361, most: 1_048_576 };

/** Replies in order, or made of the request, when it is time; a list that has run out answers "ok". */
export type ProviderScript =
  | readonly Reply[]
  | ((request: ProviderRequest, call: number) => Reply | Promise<Reply>);

/** Half of a character in a JSON text, which Anthropic's API takes for no JSON. */
function halfCharacterIn(json: string): string | undefined {
  const half = JSON.stringify(JSON.parse(json)).match(/(?<!\\)(?:\\{2})*\\ud[89a-f]../);
  return half ? `The request body is not valid JSON: half of a character (${half[0]})` : undefined;
}

/**
 * A server that answers as Anthropic, OpenAI, Google and an OpenAI-compatible
 * server do, from one script, and refuses what they would refuse. For the replies
 * "context-too-long" and `{ tokens, most }`, it uses each provider's own words.
 */
export async function startProviderServer(script: ProviderScript = []): Promise<ProviderServer> {
  const requests: ProviderRequest[] = [];
  const problems: string[] = [];
  const memory = new ProtocolMemory();

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (message.method === "GET" && message.url?.endsWith("/models")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"data":[]}');
      return;
    }
    const [name, protocol] = protocolOf(message);
    const sent = await text(message);
    const body = JSON.parse(sent) as Json;
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const request = { protocol: name, headers: message.headers, body, closed };
    const call = requests.push(request) - 1;

    if (!message.headers[protocol.keyHeader] && name !== "openai-compatible") {
      return fail(response, protocol, { status: 401, message: "no key", code: "no_key" });
    }
    const isEmbedding = EMBEDDINGS.test(message.url ?? "");
    if (isEmbedding) {
      const failure = embeddingsProblem(body);
      if (failure) return fail(response, protocol, failure);
    }
    const isBeta = message.url?.includes("beta=true") === true;
    const checked = isBeta ? withoutSystemMessages(body) : body;
    const problem = isEmbedding
      ? undefined
      : (halfCharacterIn(sent) ??
        problemWithTools(body) ??
        protocol.problemWith(checked, memory) ??
        problemOfHouse(body));
    if (problem !== undefined) {
      problems.push(`${name}: ${problem}`);
      return fail(response, protocol, { status: 400, message: problem, code: "invalid_request" });
    }
    const next =
      typeof script === "function" ? await script(request, call) : (script[call] ?? "ok");
    if (next === "context-too-long")
      return fail(response, protocol, protocol.contextTooLong(TOO_LONG));
    if (typeof next === "object" && "most" in next) {
      return fail(response, protocol, protocol.contextTooLong(next));
    }
    if (typeof next === "object" && "status" in next) return fail(response, protocol, next);
    if (isEmbedding) {
      const own = typeof next === "object" && "embeddings" in next ? next : undefined;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(embeddingsAnswer(body, own)));
      return;
    }
    if (typeof next === "object" && "embeddings" in next) throw new Error("Nobody asked for them.");
    const answer = typeof next === "string" ? { text: next } : next;
    if (body.stream === true || !protocol.whole) return stream(response, protocol, answer, call);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(protocol.whole(complete(answer, call), memory)));
  }

  async function stream(
    response: ServerResponse,
    protocol: Protocol,
    answer: Answer,
    call: number,
  ) {
    const events = protocol.events(complete(answer, call), memory);
    if (answer.onWire) return sendWire(response, answer.onWire(bytesOf(events)));
    const isWhole = !answer.interruption && !answer.streamError;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of isWhole ? events : events.slice(0, Math.ceil(events.length / 2))) {
      await write(response, event);
    }
    if (answer.streamError) await write(response, protocol.errorEvent(answer.streamError));
    if (answer.interruption === "hang") return;
    if (answer.interruption === "cut") response.destroy();
    else response.end();
  }

  const server = createServer((message, response) => {
    handle(message, response).catch((error) => response.destroy(error));
  });
  // A client on a busy machine may be about to use a connection that was idle for long.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    urls: {
      anthropic: `${url}/anthropic/v1`,
      openai: `${url}/openai/v1`,
      google: `${url}/google/v1beta`,
      ollama: `${url}/compatible/v1`,
      "openai-compatible": `${url}/compatible/v1`,
    },
    requests,
    problems,
    forgetSignatures: () => memory.forget(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** What Claude Code asks for as a beta: instructions between the messages of a conversation. */
function withoutSystemMessages(body: Json): Json {
  return { ...body, messages: listOf(body.messages).filter(({ role }) => role !== "system") };
}

function protocolOf({ url = "" }: IncomingMessage): [ProtocolName, Protocol] {
  if (EMBEDDINGS.test(url)) {
    return url.startsWith("/openai/")
      ? ["openai", PROTOCOLS.openai]
      : ["openai-compatible", PROTOCOLS["openai-compatible"]];
  }
  const found = Object.entries(PROTOCOLS).find(([, { path }]) => path.test(url));
  if (!found) throw new Error(`No provider has the path ${url}`);
  return found as [ProtocolName, Protocol];
}

function fail(response: ServerResponse, protocol: Protocol, failure: Failure): void {
  response.writeHead(failure.status, { "content-type": "application/json", ...failure.headers });
  response.end(failure.body ?? JSON.stringify(protocol.errorBody(failure)));
}

function bytesOf(events: readonly ServerEvent[]): Buffer {
  return Buffer.from(events.map(textOf).join(""));
}

async function sendWire(
  response: ServerResponse,
  { bytes, after, headers, status = 200 }: Wire,
): Promise<void> {
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) {
    if (response.destroyed) return;
    if (!response.write(part)) await drained(response);
  }
  // The bytes go before the end does.
  await new Promise((resolve) => setImmediate(resolve));
  if (after === "cut") response.destroy();
  else if (after === "end") response.end();
}

/** Resolves when it takes more, or when it is closed. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off("drain", end).off("close", end);
      resolve();
    };
    response.on("drain", end).on("close", end);
  });
}

function textOf({ event, data }: ServerEvent): string {
  const line = data === "[DONE]" ? data : JSON.stringify(data);
  return `${event ? `event: ${event}\n` : ""}data: ${line}\n\n`;
}

async function write(response: ServerResponse, event: ServerEvent): Promise<void> {
  response.write(textOf(event));
  // Each event in a packet of its own, so that a cut comes after it and not before.
  await new Promise((resolve) => setImmediate(resolve));
}
