import { z } from "zod";
import type { AllowedCalls, ToolPolicy } from "./approval.ts";
import { SessionError } from "./errors.ts";
import { isObject } from "./fields.ts";
import { issuesOf, issuesText } from "./issues.ts";
import { jsonText } from "./json-values.ts";
import {
  callback,
  duration,
  group,
  is,
  policy,
  requireOptions,
  someText,
  text,
} from "./options.ts";

/** A JSON Schema of a tool's arguments; its `type` is `object`. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool as a model knows it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

/**
 * A tool of an agent.
 *
 * Contract:
 * - `execute` gets the arguments as the model sent them. They are parsed JSON, and `execute` checks them.
 * - The model reads what it returns. `is_error` says that the call failed.
 * - When it throws, the model reads `{"error": code, "message": …}` and the turn goes on.
 * - It stops soon after `context.signal` aborts.
 */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Time limit of one call. Default: the agent's limit. */
  readonly timeoutMs?: number;
  /** The policy for calls when no setting names the tool. A function decides by the arguments. */
  readonly policy?: ToolPolicy | ((args: unknown) => ToolPolicy | undefined);
  /**
   * The calls that "always" allows after a call with these arguments. `undefined`: there is no
   * "always" for it. Without this method, "always" allows every call of the tool.
   */
  always?(args: unknown): AllowedCalls | undefined;
  execute(args: unknown, context: ToolContext): Promise<string | ToolOutput>;
}

export interface ToolOutput {
  readonly content: string;
  readonly is_error: boolean;
}

export interface ToolContext {
  readonly sessionId: string;
  /** The user that the session belongs to, if it was created for one. */
  readonly user?: string;
  readonly toolUseId: string;
  readonly signal: AbortSignal;
}

export type ToolErrorCode =
  | "tool_not_found"
  | "invalid_arguments"
  | "execution_failed"
  | "timeout"
  | "interrupted"
  | "denied";

/** A failure with a code for the model. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ToolErrorCode;
  constructor(code: ToolErrorCode, message: string, options?: { readonly cause?: unknown }) {
    if (typeof code !== "string" || typeof message !== "string") {
      const detail = "A ToolError has a code and a message, which are texts.";
      throw new SessionError("INVALID_PARAMS", { detail });
    }
    super(message, options);
    this.code = code;
  }
}

/**
 * Makes a tool from a zod schema of its arguments. When the schema refuses the arguments, the model
 * reads `invalid_arguments` and what was wrong.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function defineTool<Input extends z.ZodType>(options: {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  readonly timeoutMs?: number;
  readonly policy?: Tool["policy"];
  readonly always?: NonNullable<Tool["always"]>;
  /** `args` are what `policy` was given. */
  execute(input: z.output<Input>, context: ToolContext, args: unknown): Promise<unknown> | unknown;
}): Tool {
  requireOptions("defineTool", OPTIONS, options);
  const tool = toolOf(options);
  // A schema that JSON cannot say is refused here.
  jsonSchemaOf(options.input);
  return tool;
}

type ToolOptions<Input extends z.ZodType> = Parameters<typeof defineTool<Input>>[0];

/** The same for a tool of rkat's own, whose schema is made when a model is sent it. */
export function toolOf<Input extends z.ZodType>(
  options: ToolOptions<Input>,
  schemaOf: (input: z.ZodType) => JsonSchema = jsonSchemaOf,
): Tool {
  const { name, description, input } = options;
  let schema: JsonSchema | undefined;
  return {
    definition: {
      name,
      description,
      get input_schema() {
        schema ??= schemaOf(input);
        return schema;
      },
    },
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    ...(options.always === undefined ? {} : { always: options.always }),
    async execute(args, context) {
      const parsed = options.input.safeParse(args);
      if (!parsed.success) {
        throw new ToolError("invalid_arguments", issuesText(issuesOf(parsed.error)));
      }
      const result = await options.execute(parsed.data, context, args);
      return typeof result === "string" ? result : jsonText(result) || "null";
    },
  };
}

/** Whether a value is a schema of zod 4. */
export function isSchema(value: unknown): value is z.ZodType {
  return isObject(value) && isObject(value._zod) && typeof value.safeParse === "function";
}

const OPTIONS = group(
  {
    name: text,
    description: someText,
    input: is("a schema of zod 4", isSchema),
    timeoutMs: duration,
    policy: (value) => (typeof value === "function" ? [] : policy(value)),
    always: callback,
    execute: callback,
  },
  ["name", "description", "input", "execute"],
);

const JSON_SCHEMAS = new WeakMap<z.ZodType, JsonSchema>();

/** Made once for each schema: making it takes longer than all else that opens a service. */
export function jsonSchemaOf(input: z.ZodType): JsonSchema {
  const known = JSON_SCHEMAS.get(input);
  if (known) return known;
  const { $schema: _, ...made } = z.toJSONSchema(input, {
    io: "input",
    override: ({ jsonSchema }) => {
      // zod writes them for every integer. The schema is sent with each request.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  JSON_SCHEMAS.set(input, made);
  return made;
}
