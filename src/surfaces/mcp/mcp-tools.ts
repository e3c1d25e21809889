import type { Tool } from "@modelcontextprotocol/server";
import type { Capability } from "../../core/session-service.ts";
import { OPERATIONS, type Operation, type OperationName } from "../operations.ts";
import { type ObjectSchema, resultSchema, wireSchema } from "../wire-schema.ts";
import { SEARCH_FIELDS, searchOutput } from "./search-budget.ts";
import { SESSION_EVENTS } from "./session-events.ts";
import { FIELD_DESCRIPTIONS, TOOL_DESCRIPTIONS } from "./tool-texts.ts";

/** A model sees these first, because most hosts use no others. */
const FIRST: readonly OperationName[] = ["searchMemory", "searchHistory"];

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
}

type ToolOperation = Pick<
  Operation,
  "tool" | "request" | "result" | "resultKey" | "effect" | "streams" | "needs"
>;

/** The operations, and the events of a session. */
const TOOLS: readonly OfferedTool[] = [
  ...ORDER.map((name): OfferedTool => offered(OPERATIONS[name], name)),
  offered(SESSION_EVENTS, "sessionEvents"),
];

export const TOOL_NAMES: ReadonlySet<string> = new Set(TOOLS.map(({ tool }) => tool.name));

/** The tools that can work with these capabilities. */
export function toolsFor(capabilities: readonly Capability[]): Tool[] {
  const works = ({ needs }: OfferedTool) => needs === undefined || capabilities.includes(needs);
  return TOOLS.filter(works).map(({ tool }) => tool);
}

function offered(operation: ToolOperation, name: OperationName | "sessionEvents"): OfferedTool {
  return { tool: toolOf(operation, name), needs: operation.needs };
}

function toolOf(operation: ToolOperation, name: OperationName | "sessionEvents"): Tool {
  const isSearch = name === "searchMemory" || name === "searchHistory";
  return {
    name: operation.tool,
    description: TOOL_DESCRIPTIONS[name],
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
