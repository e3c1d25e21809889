import { z } from "zod";
import { snakeCase } from "../core/fields.ts";
import type { Operation } from "../core/operations/operation.ts";

/** A JSON Schema of an object. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly [key: string]: unknown;
}

/**
 * The JSON Schema of a value on the wire: with the names that `toWire` gives, without zod's own marks.
 * The `exact` one also has what no reader needs: the bounds that every integer has, and patterns.
 */
export function wireSchema(
  schema: z.ZodType,
  io: "input" | "output",
  { exact = false } = {},
): ObjectSchema {
  const { $schema: _, ...wire } = z.toJSONSchema(schema, {
    io,
    override({ zodSchema, jsonSchema }) {
      if (!exact) {
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        delete jsonSchema.pattern;
      }
      // A later version may add fields to results.
      if (jsonSchema.additionalProperties === false && io === "output") {
        delete jsonSchema.additionalProperties;
      }
      if (!(zodSchema instanceof z.ZodObject)) return;
      const { properties = {}, required } = jsonSchema;
      jsonSchema.properties = Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [snakeCase(name), property]),
      );
      if (required) jsonSchema.required = required.map(snakeCase);
    },
  });
  return wire as ObjectSchema;
}

/** The JSON Schema of an operation's result on the wire, which is always an object. */
export function resultSchema({
  result,
  resultKey,
  beside,
}: Pick<Operation, "result" | "resultKey" | "beside">): ObjectSchema {
  const value = result.type === "undefined" ? { const: true } : wireSchema(result, "output");
  if (resultKey === undefined) return value as ObjectSchema;
  const others = beside ? wireSchema(beside, "output").properties : {};
  return { type: "object", properties: { [resultKey]: value, ...others }, required: [resultKey] };
}
