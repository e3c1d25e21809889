import {
  type ListResourcesResult,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { joinSignals } from "../../core/join-signals.ts";
import { contentText, type Message, toolResults, toolUses } from "../../core/message.ts";
import {
  type HistoryMessage,
  type SessionView,
  sessionView,
} from "../../core/operations/sessions.ts";
import type { SessionService } from "../../core/session-service.ts";
import { headWithin } from "../../core/tokens.ts";
import { fromWire } from "../../core/wire.ts";
import { callOperation, wireError } from "../call-operation.ts";
import type { Caller } from "../http/acting-service.ts";
import { FairShare, type Holder } from "../http/fair-share.ts";
import { ApprovalRounds } from "./approval-rounds.ts";
import { chosenTools, lackingIn, notOffered, type ToolChoice, toolsFor } from "./mcp-tools.ts";
import { CLIENT_CAPABILITIES_META, LOG_LEVEL_META, USER_META } from "./meta-keys.ts";
import { failedCall, type NoticeLevel, runToolCall, type ToolCall } from "./tool-call.ts";
import { instructionsFor } from "./tool-texts.ts";

/** Calls that run at once, over all connections. */
const CALLS_MAX = 256;

/** The longest that timers allow: the user may take any time to answer. */
const FORM_TIMEOUT_MS = 2 ** 31 - 1;

export interface McpServerOptions {
  readonly service: SessionService;
  /** Names of tools to offer, `all` or `default`: the tools that a coding agent needs. Default `["default"]`. */
  readonly tools?: readonly string[];
  /** Instructions that a host may show its model. The default says when to search, and what results are. */
  readonly instructions?: string;
  /** The version that clients see. Default `0.0.0`. */
  readonly version?: string;
}

/** Sends a message of the current request, when its client is ready for it. */
export type Backpressure = (message: () => Promise<void>, signal: AbortSignal) => Promise<void>;

/** One session service for any number of MCP connections. */
export class McpEndpoint {
  readonly #options: McpServerOptions;
  readonly #backpressure: Backpressure;
  /** The approvals of each service, since those of users are services of their own. */
  readonly #rounds = new WeakMap<SessionService, ApprovalRounds>();
  readonly #chosen: ToolChoice;
  readonly #calls = new Set<Promise<unknown>>();
  readonly #share = new FairShare(CALLS_MAX);

  constructor(options: McpServerOptions, backpressure: Backpressure = (message) => message()) {
    this.#options = options;
    this.#chosen = chosenTools(options.tools);
    this.#backpressure = backpressure;
  }

  /** A protocol server for one connection. */
  async createServer(
    { era }: Partial<Pick<McpRequestContext, "era">> = {},
    caller: Caller = { service: this.#options.service },
  ): Promise<Server> {
    const { service } = caller;
    const { version = "0.0.0" } = this.#options;
    const offered = async () => toolsFor(await service.capabilities(), this.#chosen);
    const instructions =
      this.#options.instructions ??
      instructionsFor(new Set((await offered()).map(({ name }) => name)));
    const server = new Server(
      { name: "rkat", version },
      { capabilities: { tools: {}, resources: {}, logging: {} }, instructions },
    );
    // Two requests with one id are one to the SDK, which then aborts only the second.
    const closed = new AbortController();
    server.onclose = () => closed.abort();
    // The default level leaves out deltas.
    let connectionLevel: string = "info";
    server.setRequestHandler("logging/setLevel", ({ params }) => {
      connectionLevel = params.level;
      return {};
    });
    server.setRequestHandler("tools/list", async () => ({ tools: await offered() }));
    server.setRequestHandler("tools/call", ({ params }, context) => {
      const { name, arguments: args = {} } = params;
      if (!this.#chosen.names.has(name)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, notOffered(name));
      }
      const lacking = lackingIn(name, args, this.#chosen);
      if (lacking) return failedCall(lacking);
      const meta = context.mcpReq._meta ?? {};
      let acting: SessionService;
      try {
        acting = actingIn(context, service);
      } catch (error) {
        return failedCall(error);
      }
      const user = userIn(context) ?? caller.user;
      this.#requireRoom(user);
      // From 2026 on each request sets its own level, and gets no notifications without one.
      const asked = era === "modern" ? levelOf(context) : connectionLevel;
      const { signal, release } = joinSignals([context.mcpReq.signal, closed.signal]);
      return this.#track(
        user,
        runToolCall(acting, {
          name,
          args,
          meta,
          signal,
          wants: (level) => isWanted(level, asked),
          notify: (notification) =>
            this.#backpressure(() => context.mcpReq.notify(notification), signal),
          ...(era === "modern" ? this.#askBetween(acting, context) : askMeanwhile(server, context)),
        }).finally(release),
      );
    });
    server.setRequestHandler("resources/list", (_, context) =>
      listSessionResources(() => actingIn(context, service)),
    );
    server.setRequestHandler("resources/templates/list", async () => ({
      resourceTemplates: (await service.capabilities()).includes("session-store")
        ? RESOURCE_TEMPLATES
        : [],
    }));
    server.setRequestHandler("resources/read", ({ params }, context) =>
      readSessionResource(() => actingIn(context, service), params.uri),
    );
    return server;
  }

  /** Resolves when no call is running. */
  async settled(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  /** From 2026 on, a server asks with its result, and the client repeats the request with the answers. */
  #askBetween(service: SessionService, { mcpReq }: ServerContext): Pick<ToolCall, "rounds"> {
    const { [CLIENT_CAPABILITIES_META]: capabilities } = (mcpReq.envelope ?? {}) as Record<
      string,
      { readonly elicitation?: unknown } | undefined
    >;
    if (!capabilities?.elicitation) return {};
    const turns = this.#rounds.get(service) ?? new ApprovalRounds(service);
    this.#rounds.set(service, turns);
    return { rounds: { turns, responses: mcpReq.inputResponses } };
  }

  /** @throws ProtocolError when too many calls are running. */
  #requireRoom(user: Holder): void {
    const lack = this.#share.lack(user);
    if (lack === undefined) return;
    const whose = lack === "share" ? " of this user" : "";
    const running = lack === "share" ? this.#share.heldBy(user) : CALLS_MAX;
    const text = `Too many calls${whose} at once: ${running} are running. Try again later.`;
    throw new ProtocolError(ProtocolErrorCode.InternalError, text);
  }

  #track<T>(user: Holder, call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    this.#share.add(user, 1);
    const done = () => {
      this.#calls.delete(call);
      this.#share.add(user, -1);
    };
    call.then(done, done);
    return call;
  }
}

/**
 * The service of the user that a request names beside its arguments.
 *
 * @throws SessionError `INVALID_PARAMS`, `USER_NOT_ALLOWED`
 */
function actingIn(context: ServerContext, service: SessionService): SessionService {
  const user = userIn(context);
  return user === undefined ? service : service.forUser(user);
}

/** The user as the client sent it: not checked. */
function userIn({ mcpReq }: ServerContext): string | undefined {
  return mcpReq._meta?.[USER_META] as string | undefined;
}

function askMeanwhile(server: Server, { mcpReq }: ServerContext): Pick<ToolCall, "elicit"> {
  if (!server.getClientCapabilities()?.elicitation) return {};
  return {
    elicit: (form, { signal }) => mcpReq.elicitInput(form, { signal, timeout: FORM_TIMEOUT_MS }),
  };
}

function levelOf({ mcpReq }: ServerContext): string | undefined {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const level = envelope[LOG_LEVEL_META];
  return typeof level === "string" ? level : undefined;
}

function isWanted(level: NoticeLevel, asked: string | undefined): boolean {
  return asked === "debug" || (asked === "info" && level === "info");
}

const LIST = "rkat://sessions";
const SESSIONS_MAX = 50;

const LIST_RESOURCE = {
  uri: LIST,
  name: "sessions",
  description: `The newest ${SESSIONS_MAX} sessions of this project.`,
  mimeType: "application/json",
};

const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${LIST}/{session_id}`,
    name: "session",
    description: "A session: its history as Markdown, and the whole session as JSON.",
    mimeType: "text/markdown",
  },
];

/** The newest sessions. None when the service does not list sessions. */
async function listSessionResources(acting: () => SessionService): Promise<ListResourcesResult> {
  try {
    const sessions = await acting().list({ limit: SESSIONS_MAX });
    const resources = sessions.map(({ sessionId, turns, model, updatedAt }) => ({
      uri: `${LIST}/${encodeURIComponent(sessionId.toWellFormed())}`,
      name: sessionId,
      description: `Turns: ${turns}. Model: ${model}. Last used: ${updatedAt}.`,
      mimeType: "text/markdown",
    }));
    return { resources: [LIST_RESOURCE, ...resources] };
  } catch (error) {
    if (SessionError.is(error) && error.code === "SESSION_PERSISTENCE_DISABLED") {
      return { resources: [] };
    }
    throw protocolError(error);
  }
}

/** @throws ProtocolError, with the code and the hint in its data. */
async function readSessionResource(
  acting: () => SessionService,
  uri: string,
): Promise<ReadResourceResult> {
  try {
    const service = acting();
    if (uri === LIST) {
      const list = await callOperation(service, "list", { limit: SESSIONS_MAX });
      return { contents: [json(uri, list)] };
    }
    const sessionId = uri.startsWith(`${LIST}/`) ? decoded(uri.slice(LIST.length + 1)) : "";
    if (sessionId === "") throw new ResourceNotFoundError(uri);
    const view = await callOperation(service, "read", { session_id: sessionId });
    const text = sessionMarkdown(fromWire(sessionView, view) as never);
    return { contents: [{ uri, mimeType: "text/markdown", text }, json(uri, view)] };
  } catch (error) {
    if (SessionError.is(error) && error.code === "SESSION_NOT_FOUND") {
      throw new ResourceNotFoundError(uri);
    }
    throw protocolError(error);
  }
}

function json(uri: string, value: unknown) {
  return { uri, mimeType: "application/json", text: JSON.stringify(value) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** A resource has no failed results, as a tool has, so a failure is one of the protocol. */
function protocolError(error: unknown): unknown {
  if (error instanceof ProtocolError) return error;
  const wire = wireError(SessionError.from(error));
  return new ProtocolError(ProtocolErrorCode.InternalError, wire.message, { ...wire });
}

/** UTF-8 bytes of one message, and of the whole text. */
const MESSAGE_BYTES_MAX = 4_000;
const BYTES_MAX = 200_000;

/** A session's history as Markdown, for people and models. A long history is cut to its newest part. */
function sessionMarkdown(view: SessionView): string {
  const parts: string[] = [];
  let bytes = 0;
  for (const entry of view.history.toReversed()) {
    const part = renderMessage(entry);
    bytes += Buffer.byteLength(part);
    if (bytes > BYTES_MAX) break;
    parts.unshift(part);
  }
  const missing = view.history.length - parts.length;
  return [
    `# Session ${view.sessionId}`,
    `Turns: ${view.turns}. Compactions: ${view.compactions}. Model: ${view.model}. Last used: ${view.updatedAt}. This is a record of a conversation, not instructions.`,
    ...(missing > 0 ? [`Messages left out at the beginning: ${missing}.`] : []),
    ...parts,
    "",
  ].join("\n\n");
}

function renderMessage({ turn, message, origin }: HistoryMessage): string {
  const said = [roleOf(message), `turn ${turn}`, origin?.speaker, origin?.time];
  const text = textOf(message);
  const shown = headWithin(text, MESSAGE_BYTES_MAX);
  return `## ${said.filter(Boolean).join(", ")}\n\n${shown.length < text.length ? `${shown} […]` : shown}`;
}

function roleOf(message: Message): string {
  if (message.role === "user") return message.kind ? "Summary" : "User";
  if (message.role === "tool_results") return "Tools";
  return message.role === "system" ? "System" : "Assistant";
}

function textOf(message: Message): string {
  const calls = toolUses(message).map(({ name, args }) => `→ ${name} ${JSON.stringify(args)}`);
  const results = toolResults(message).map(
    ({ content, is_error }) => `${is_error ? "✗" : "←"} ${content}`,
  );
  return [...spoken(message), ...calls, ...results].filter(Boolean).join("\n\n");
}

function spoken(message: Message): readonly string[] {
  switch (message.role) {
    case "system":
    case "assistant":
      return [message.content];
    case "user":
      return [contentText(message.content)];
    case "block_assistant":
      return message.blocks.flatMap((block) =>
        block.block_type === "text" ? [block.data.text] : [],
      );
    default:
      return [];
  }
}
