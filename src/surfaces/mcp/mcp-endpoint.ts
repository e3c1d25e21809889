import {
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { joinSignals } from "../../core/join-signals.ts";
import type { SessionService } from "../../core/session-service.ts";
import { ApprovalRounds } from "./approval-rounds.ts";
import { chosenTools, lackingIn, notOffered, type ToolChoice, toolsFor } from "./mcp-tools.ts";
import { CLIENT_CAPABILITIES_META, LOG_LEVEL_META, USER_META } from "./meta-keys.ts";
import {
  listSessionResources,
  RESOURCE_TEMPLATES,
  readSessionResource,
} from "./session-resources.ts";
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
  /** What a host may show its model. The default says when to search, and what results are. */
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
  /** Of each service, since those of users are services of their own. */
  readonly #rounds = new WeakMap<SessionService, ApprovalRounds>();
  readonly #chosen: ToolChoice;
  readonly #calls = new Set<Promise<unknown>>();

  constructor(options: McpServerOptions, backpressure: Backpressure = (message) => message()) {
    this.#options = options;
    this.#chosen = chosenTools(options.tools);
    this.#backpressure = backpressure;
  }

  /** A protocol server for one connection. */
  async createServer(
    { era }: Partial<Pick<McpRequestContext, "era">> = {},
    service = this.#options.service,
  ): Promise<Server> {
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
      if (this.#calls.size >= CALLS_MAX) {
        const text = `Too many calls at once: ${CALLS_MAX} are running. Try again later.`;
        throw new ProtocolError(ProtocolErrorCode.InternalError, text);
      }
      const meta = context.mcpReq._meta ?? {};
      const { [USER_META]: user } = meta;
      let acting = service;
      try {
        if (user !== undefined) acting = service.forUser(user as string);
      } catch (error) {
        return failedCall(error);
      }
      // From 2026 on each request sets its own level, and gets no notifications without one.
      const asked = era === "modern" ? levelOf(context) : connectionLevel;
      const { signal, release } = joinSignals([context.mcpReq.signal, closed.signal]);
      return this.#track(
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
    server.setRequestHandler("resources/list", () => listSessionResources(service));
    server.setRequestHandler("resources/templates/list", async () => ({
      resourceTemplates: (await service.capabilities()).includes("session-store")
        ? RESOURCE_TEMPLATES
        : [],
    }));
    server.setRequestHandler("resources/read", ({ params }) =>
      readSessionResource(service, params.uri),
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

  #track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    const done = () => void this.#calls.delete(call);
    call.then(done, done);
    return call;
  }
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
