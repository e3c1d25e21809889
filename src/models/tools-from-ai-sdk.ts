import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { callback, positive, recordOf, requireOptions, withFields } from "../core/options.ts";
import { isSchema, type JsonSchema, jsonSchemaOf, type Tool, ToolError } from "../core/tool.ts";

/** The part of a tool of the AI SDK that rkat uses. */
export interface AiSdkToolLike {
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly needsApproval?: unknown;
  readonly execute?: unknown;
}

export interface AiSdkToolsOptions {
  /** Time limit of one call. Default: the agent's limit. */
  readonly timeoutMs?: number;
}

type Validate = (input: unknown) => unknown;

/**
 * Tools of the AI SDK as tools of rkat, by their names:
 *
 *     createSessionService({ model: fromAiSdk(model), tools: aiSdkTools({ refund }) })
 *
 * A tool with `needsApproval` asks before each call, unless its function says `false` at once.
 *
 * @throws SessionError `INVALID_PARAMS` when a tool has no `execute`, or no schema that rkat can read
 */
export function aiSdkTools(
  tools: Readonly<Record<string, AiSdkToolLike>>,
  { timeoutMs }: AiSdkToolsOptions = {},
): readonly Tool[] {
  const one = withFields({ execute: callback }, ["execute", "inputSchema"]);
  requireOptions("aiSdkTools", recordOf(one), tools);
  if (timeoutMs !== undefined) requireOptions("aiSdkTools", positive, timeoutMs);
  return Object.entries(tools).map(([name, tool]) => ({
    ...toolOf(name, tool),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }));
}

function toolOf(name: string, tool: AiSdkToolLike): Tool {
  const { schema, validate } = readSchema(name, tool.inputSchema);
  const execute = tool.execute as (input: unknown, options: object) => unknown;
  const { description, needsApproval } = tool;
  const policy = policyOf(needsApproval);
  return {
    definition: {
      name,
      description: typeof description === "string" ? description : "",
      input_schema: schema,
    },
    ...(policy ? { policy } : {}),
    async execute(args, { toolUseId: toolCallId, signal: abortSignal }) {
      const input = await validate(args);
      const result = await lastOf(execute(input, { toolCallId, abortSignal, messages: [] }));
      return typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
    },
  };
}

/** What is not exactly `false` needs approval. */
function policyOf(needsApproval: unknown): Tool["policy"] {
  if (needsApproval === undefined || needsApproval === false) return undefined;
  if (typeof needsApproval !== "function") return "ask";
  return (args) =>
    needsApproval(args, { toolCallId: "", messages: [] }) === false ? undefined : "ask";
}

function readSchema(
  name: string,
  given: unknown,
): { readonly schema: JsonSchema; readonly validate: Validate } {
  const schema: unknown = typeof given === "function" ? given() : given;
  if (isSchema(schema)) {
    return { schema: jsonSchemaOf(schema), validate: (input) => checked(schema.safeParse(input)) };
  }
  const { jsonSchema, validate } = isObject(schema) ? schema : {};
  if (isObject(jsonSchema) && typeof jsonSchema.then !== "function") {
    if (typeof validate !== "function") return { schema: jsonSchema, validate: (input) => input };
    return { schema: jsonSchema, validate: async (input) => checked(await validate(input)) };
  }
  throw new SessionError("INVALID_PARAMS", {
    message: `The tool ${name} has an inputSchema that rkat cannot read.`,
    hint: "Give it as a schema of zod 4, or as jsonSchema({ … }) of the AI SDK.",
  });
}

/** The value of a schema's answer. The model reads why there is none. */
function checked(answer: unknown): unknown {
  const { success, value, data, error } = isObject(answer) ? answer : {};
  if (success === true) return value ?? data;
  throw new ToolError("invalid_arguments", error instanceof Error ? error.message : String(error));
}

/** A tool may yield preliminary results. The last one counts. */
async function lastOf(result: unknown): Promise<unknown> {
  const value = await result;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) last = each;
  return last;
}
