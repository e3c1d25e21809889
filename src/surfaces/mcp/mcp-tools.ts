import type { Tool } from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { snakeCase } from "../../core/fields.ts";
import type { Capability, Operation } from "../../core/operations/operation.ts";
import { EITHER_OF } from "../../core/operations/request-fields.ts";
import { OPERATIONS, type OperationName } from "../../core/operations.ts";
import { withinTokens } from "../../core/tokens.ts";
import { nearestName } from "../../text/nearest-name.ts";
import { type ObjectSchema, resultSchema, wireSchema } from "../wire-schema.ts";
import { SESSION_EVENTS } from "./session-events.ts";
import { FIELD_DESCRIPTIONS } from "./tool-texts.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
const TOKENS_DEFAULT = 5_000;
const RESULT_TOKENS_MAX = 1_000;

/** Descriptions of some fields for a model, which pays for every result. */
const SEARCH_FIELDS: Readonly<Record<string, object>> = {
  limit: {
    maximum: undefined,
    default: LIMIT_DEFAULT,
    description: `Maximum number of results. Default ${LIMIT_DEFAULT}, at most ${LIMIT_MAX}.`,
  },
  max_tokens: {
    description: `Maximum tokens of all result texts together. Default about ${TOKENS_DEFAULT}.`,
  },
};

/**
 * What a coding agent needs: a server offers only these tools unless it is told otherwise. A model
 * pays for each word of a tool, so it sees only these fields, and no output schema.
 */
const DEFAULT_TOOLS = {
  searchMemory: ["query", "limit", "session_id", "since"],
  addMemory: ["content"],
  searchHistory: ["query", "limit", "session_id", "since"],
  listKnowledge: ["kind", "query", "limit"],
  read: ["session_id"],
  forgetMemory: ["ids"],
} as const satisfies Partial<Record<OperationName, readonly string[]>>;

const FIRST = Object.keys(DEFAULT_TOOLS) as OperationName[];

const NAMES = Object.keys(OPERATIONS) as OperationName[];

const ORDER = [...FIRST, ...NAMES.filter((name) => !FIRST.includes(name))];

/** The full schema of a message would cost a model too many tokens. The service checks messages. */
const MESSAGES = { type: "array", items: { type: "object" } };

/** The operation behind a tool. */
export const OPERATION_OF_TOOL: ReadonlyMap<string, OperationName> = new Map(
  ORDER.map((name) => [OPERATIONS[name].tool, name]),
);

interface OfferedTool {
  readonly tool: Tool;
  readonly needs: Capability | undefined;
  /** The tool as it is in the default set. */
  readonly short?: Tool;
}

type ToolOperation = Pick<
  Operation,
  | "description"
  | "tool"
  | "toolText"
  | "request"
  | "result"
  | "resultKey"
  | "beside"
  | "effect"
  | "streams"
  | "needs"
>;

/** The operations, and the events of a session. */
const TOOLS: readonly OfferedTool[] = [
  ...ORDER.map((name): OfferedTool => offered(OPERATIONS[name], name)),
  offered(SESSION_EVENTS, "sessionEvents"),
];

const TOOL_NAMES: readonly string[] = TOOLS.map(({ tool }) => tool.name);

/** Which tools a server offers. */
export interface ToolChoice {
  readonly names: ReadonlySet<string>;
  /** The tools show every field and an output schema, as programs want them. */
  readonly whole: boolean;
}

/**
 * The tools that these names stand for: `all`, `default` or the name of a tool.
 *
 * @throws SessionError `INVALID_CONFIG` for any other name.
 */
export function chosenTools(names: readonly string[] = ["default"]): ToolChoice {
  const whole = names.includes("all");
  const unknown = names.find((name) => ![...GROUPS, ...TOOL_NAMES].includes(name));
  if (unknown !== undefined || names.length === 0) throw noSuchTool(unknown);
  const isChosen = ({ tool, short }: OfferedTool) =>
    whole || names.includes(tool.name) || (names.includes("default") && short !== undefined);
  return { names: new Set(TOOLS.filter(isChosen).map(({ tool }) => tool.name)), whole };
}

const GROUPS: readonly string[] = ["all", "default"];

function noSuchTool(name: string | undefined): SessionError {
  const near = name === undefined ? undefined : nearestName(name, [...GROUPS, ...TOOL_NAMES]);
  const problem = name === undefined ? "No MCP tool is named." : `There is no MCP tool "${name}".`;
  return new SessionError("INVALID_CONFIG", {
    message: near === undefined ? problem : `${problem} Did you mean "${near}"?`,
    hint: `Choose all, default, or any of: ${TOOL_NAMES.join(", ")}.`,
  });
}

/** The chosen tools that can work with these capabilities. */
export function toolsFor(capabilities: readonly Capability[], chosen: ToolChoice): Tool[] {
  const works = ({ tool, needs }: OfferedTool) =>
    chosen.names.has(tool.name) && (needs === undefined || capabilities.includes(needs));
  return TOOLS.filter(works).map(({ tool, short = tool }) => (chosen.whole ? tool : short));
}

/** Why a tool cannot be called that is not offered. */
export function notOffered(name: string): string {
  if (!TOOL_NAMES.includes(name)) return `There is no tool "${name}".`;
  return `This server does not offer the tool "${name}". Start it with --tools default,${name} or --tools all.`;
}

function offered(operation: ToolOperation, name: OperationName | "sessionEvents"): OfferedTool {
  const tool = toolOf(operation, name);
  const fields: readonly string[] | undefined = (
    DEFAULT_TOOLS as Readonly<Record<string, readonly string[]>>
  )[name];
  if (!fields) return { tool, needs: operation.needs };
  const only = onlyWay(operation, fields);
  return { tool, needs: operation.needs, short: shortTool(tool, fields, only) };
}

/** The field without which a call says nothing, when the tool does not show the other one of two. */
function onlyWay({ request }: ToolOperation, fields: readonly string[]): readonly string[] {
  const either = EITHER_OF.get(request)?.fields.map(snakeCase) ?? [];
  const shown = either.filter((name) => fields.includes(name));
  return shown.length === 1 ? shown : [];
}

/** Says what a call of a tool in its short form lacks; undefined when it lacks nothing, or names another field itself. */
export function lackingIn(
  name: string,
  args: Readonly<Record<string, unknown>>,
  { whole }: ToolChoice,
): SessionError | undefined {
  const required = TOOLS.find(({ tool }) => tool.name === name)?.short?.inputSchema.required ?? [];
  if (whole || Object.keys(args).length > 0) return undefined;
  const issues = required.map((field) => ({ path: [field], message: "is missing" }));
  return issues.length > 0 ? new SessionError("INVALID_PARAMS", { issues }) : undefined;
}

function shortTool(
  { outputSchema: _, inputSchema, ...tool }: Tool,
  fields: readonly string[],
  only: readonly string[],
): Tool {
  const { type, properties = {} } = inputSchema;
  const required = only.length > 0 ? [...only] : inputSchema.required;
  const shown = Object.entries(properties).filter(([name]) => fields.includes(name));
  return {
    ...tool,
    inputSchema: { type, properties: Object.fromEntries(shown), ...(required ? { required } : {}) },
  };
}

function toolOf(operation: ToolOperation, name: OperationName | "sessionEvents"): Tool {
  const isSearch = name === "searchMemory" || name === "searchHistory";
  return {
    name: operation.tool,
    description: operation.toolText ?? operation.description,
    inputSchema: described(wireSchema(operation.request, "input"), isSearch) as Tool["inputSchema"],
    outputSchema: orFailure(
      isSearch ? searchOutput(resultSchema(operation)) : resultSchema(operation),
    ),
    annotations: {
      readOnlyHint: operation.effect === "reads",
      destructiveHint: operation.effect === "destroys",
      idempotentHint: operation.effect !== "adds",
      // A turn calls a model and its tools. Other operations only use the store.
      openWorldHint: operation.streams === true,
    },
  };
}

/** Allows a failure too: some clients check the structured result of a failed call against the schema. */
function orFailure({ type, properties, required = [] }: ObjectSchema): Tool["outputSchema"] {
  return {
    type,
    properties: {
      ...properties,
      code: { type: "string", description: "Failures only: a stable code." },
      message: { type: "string", description: "Failures only: what happened." },
      hint: { type: "string", description: "Failures only: what to do about it." },
      issues: { type: "array", items: { type: "object" } },
      retry_after_ms: { type: "number" },
      archived: { type: "boolean" },
    },
    anyOf: [{ required: [...required] }, { required: ["code", "message", "hint"] }],
  };
}

function described(schema: ObjectSchema, isSearch: boolean): ObjectSchema {
  const describe = ([name, property]: [string, object]) => {
    const description = FIELD_DESCRIPTIONS[name];
    const ofSearch = isSearch ? SEARCH_FIELDS[name] : {};
    const shown = name === "messages" || name === "context" ? MESSAGES : property;
    return [name, { ...shown, ...(description ? { description } : {}), ...ofSearch }];
  };
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(schema.properties ?? {}).map(describe)),
  };
}

interface Hit {
  readonly content: string;
  readonly score?: number;
  readonly match?: number;
}

/** The request with a model's default. */
export function withSearchDefault(request: Readonly<Record<string, unknown>>) {
  return { limit: LIMIT_DEFAULT, ...request };
}

/**
 * Cuts search results to the room that a model has. `cut` says what was left out.
 * With `max_tokens` the service has already kept to what the model asked for.
 */
export function withinSearchBudget(
  results: readonly Hit[],
  { max_tokens }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const first = results.slice(0, LIMIT_MAX);
  const kept =
    max_tokens === undefined ? withinTokens(first, TOKENS_DEFAULT, RESULT_TOKENS_MAX) : first;
  const cut = cutNote(
    results.length - kept.length,
    kept.filter((hit, index) => hit !== results[index]).length,
  );
  return { results: kept.map(withShortScore), ...(cut ? { cut } : {}) };
}

function cutNote(missing: number, shortened: number): string | undefined {
  const cut = [
    ...(missing > 0 ? [`${missing} more ${plural(missing)} left out`] : []),
    ...(shortened > 0 ? [`${shortened} ${plural(shortened)} cut short`] : []),
  ].join(", and ");
  if (cut === "") return undefined;
  return `${cut}. Ask a more exact question or for fewer results; session_read returns the whole text.`;
}

function plural(count: number): string {
  return count === 1 ? "result is" : "results are";
}

function withShortScore(hit: Hit): Hit {
  const { score, match } = hit;
  return {
    ...hit,
    ...(score === undefined ? {} : { score: inThousandths(score) }),
    ...(match === undefined ? {} : { match: inThousandths(match) }),
  };
}

function inThousandths(share: number): number {
  return Math.round(share * 1000) / 1000;
}

/** The schema of search results, with `cut`. */
function searchOutput(schema: ObjectSchema): ObjectSchema {
  const cut = { type: "string", description: "What was left out to keep the answer short." };
  return { ...schema, properties: { ...schema.properties, cut } };
}
