import { type Json, listOf } from "./reply.ts";

/** A fault for which Anthropic and OpenAI refuse the schemas of a request's tools. */
export function problemWithTools(body: Json): string | undefined {
  return listOf(body.tools)
    .flatMap((tool) => {
      const { input_schema, parameters } = { ...tool, ...(tool.function as Json | undefined) };
      const schema = (input_schema ?? parameters) as Json | undefined;
      return schema ? [atTop(schema) ?? problemWithin(schema)] : [];
    })
    .find((problem) => problem !== undefined);
}

function atTop(schema: Json): string | undefined {
  if (schema.type !== "object") return "input_schema.type: Field required";
  if (!schema.properties) return "In context=(), object schema missing properties.";
  const refused = ["oneOf", "anyOf", "allOf", "enum", "const", "not"].find((key) => key in schema);
  return refused && `schema must have type 'object' and not have '${refused}' at the top level.`;
}

function problemWithin(schema: Json): string | undefined {
  const inner = Object.values((schema.properties ?? {}) as Json) as Json[];
  const { type, items, exclusiveMinimum, required } = schema;
  if (type === "array" && items === undefined) return "array schema missing items.";
  if (type === "any") return "'any' is not valid under any of the given schemas.";
  if (Array.isArray(items) || typeof exclusiveMinimum === "boolean" || required === true)
    return "JSON schema is invalid. It must match JSON Schema draft 2020-12";
  return [...inner, ...listOf(schema.anyOf), ...(items ? [items as Json] : [])]
    .map(problemWithin)
    .find((problem) => problem !== undefined);
}
