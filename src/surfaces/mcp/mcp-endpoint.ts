import {
  type McpRequestContext,
  type Notification,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { SessionService } from "../../core/session-service.ts";
import { ApprovalRounds } from "./approval-rounds.ts";
import { MCP_TOOLS } from "./mcp-tools.ts";
import { CLIENT_CAPABILITIES_META, LOG_LEVEL_META } from "./meta-keys.ts";
import {
  listSessionResources,
  RESOURCE_TEMPLATES,
  readSessionResource,
} from "./session-resources.ts";
import { runToolCall, type ToldLevel, type ToolCall } from "./tool-call.ts";
import { INSTRUCTIONS } from "./tool-texts.ts";

/** Calls that run at once over all connections; a turn is one. */
const CALLS_MAX = 256;

/** As long as timers can: whoever is asked takes the time that it takes. */
const FORM_TIMEOUT_MS = 2 ** 31 - 1;

const TOOL_NAMES = new Set(MCP_TOOLS.map(({ name }) => name));

export interface McpServerOptions {
  readonly service: SessionService;
  /** What a host may show its model; the default says when to search, and what results are. */
  readonly instructions?: string;
  /** The version that clients are told. Default `0.0.0`. */
  readonly version?: string;
}

/** How a transport that answers each request on its own holds back a sender that is too fast. */
export type Backpressure = () => Promise<void>;

/** One session service, for any number of MCP connections. */
export class McpEndpoint {
  readonly #options: McpServerOptions;
  readonly #backpressure: Backpressure;
  readonly #rounds: ApprovalRounds;
  readonly #calls = new Set<Promise<unknown>>();

  constructor(options: McpServerOptions, backpressure: Backpressure = async () => {}) {
    this.#options = options;
    this.#backpressure = backpressure;
    this.#rounds = new ApprovalRounds(options.service);
  }

  /** A protocol server for one connection. */
  createServer({ era }: Partial<Pick<McpRequestContext, "era">> = {}): Server {
    const { service, instructions = INSTRUCTIONS, version = "0.0.0" } = this.#options;
    const server = new Server(
      { name: "rkat", version },
      { capabilities: { tools: {}, resources: {}, logging: {} }, instructions },
    );
    // A client that sets no level hears of all that happens but the deltas.
    let level: string = "info";
    server.setRequestHandler("logging/setLevel", ({ params }) => {
      level = params.level;
      return {};
    });
    server.setRequestHandler("tools/list", () => ({ tools: [...MCP_TOOLS] }));
    server.setRequestHandler("tools/call", ({ params }, context) => {
      const { name, arguments: args = {} } = params;
      if (!TOOL_NAMES.has(name)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name}".`);
      }
      if (this.#calls.size >= CALLS_MAX) {
        const text = `Too many calls at once: ${CALLS_MAX} are running. Try again later.`;
        throw new ProtocolError(ProtocolErrorCode.InternalError, text);
      }
      // In the 2026 era each request says what it wants to hear, and silence is a no.
      const asked = era === "modern" ? levelOf(context) : level;
      return this.#track(
        runToolCall(service, {
          name,
          args,
          meta: context.mcpReq._meta ?? {},
          signal: context.mcpReq.signal,
          wants: (told) => isWanted(told, asked),
          notify: (notification) => this.#notify(context, notification),
          ...(era === "modern" ? this.#askBetween(context) : askMeanwhile(server, context)),
        }),
      );
    });
    server.setRequestHandler("resources/list", () => listSessionResources(service));
    server.setRequestHandler("resources/templates/list", () => ({
      resourceTemplates: RESOURCE_TEMPLATES,
    }));
    server.setRequestHandler("resources/read", ({ params }) =>
      readSessionResource(service, params.uri),
    );
    return server;
  }

  /** Resolves when no call runs any more. */
  async settled(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  async #notify(context: ServerContext, notification: Notification): Promise<void> {
    await context.mcpReq.notify(notification);
    await this.#backpressure();
  }

  /** From 2026 on a server asks by its answer, and is asked again with what was said. */
  #askBetween({ mcpReq }: ServerContext): Pick<ToolCall, "rounds"> {
    const { [CLIENT_CAPABILITIES_META]: capabilities } = (mcpReq.envelope ?? {}) as Record<
      string,
      { readonly elicitation?: unknown } | undefined
    >;
    if (!capabilities?.elicitation) return {};
    return { rounds: { turns: this.#rounds, responses: mcpReq.inputResponses } };
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

function isWanted(told: ToldLevel, asked: string | undefined): boolean {
  return asked === "debug" || (asked === "info" && told === "info");
}
