import type { z } from "zod";
import { type defineTool, type JsonSchema, jsonSchemaOf, type Tool, toolOf } from "../core/tool.ts";

/**
 * A tool of rkat's own. Models send null for an argument that they leave out, so it takes null. Its schema does not say so:
 * that is sent with each request.
 */
export function ownTool<Input extends z.ZodType>(
  options: Parameters<typeof defineTool<Input>>[0],
): Tool {
  return toolOf(options, (input) => withoutNulls(jsonSchemaOf(input)));
}

function withoutNulls(schema: JsonSchema): JsonSchema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => [
    name,
    withoutNull(property),
  ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** `{ anyOf: [it, { type: "null" }] }` and `{ type: [it, "null"] }` as `it`. */
function withoutNull({ anyOf, type, ...rest }: JsonSchema): JsonSchema {
  const forms = Array.isArray(anyOf) ? anyOf.filter((form) => form.type !== "null") : [];
  const types = [type].flat().filter((each) => each !== "null" && each !== undefined);
  if (forms.length === 1) return { ...forms[0], ...rest };
  return {
    ...(forms.length > 0 ? { anyOf: forms } : {}),
    ...(types.length > 0 ? { type: types.length === 1 ? types[0] : types } : {}),
    ...rest,
  };
}
