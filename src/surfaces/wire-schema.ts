import { z } from "zod";
import { snakeCase } from "../core/wire.ts";

/** A JSON Schema of an object. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly [key: string]: unknown;
}

/**
 * The JSON Schema of what a schema's values are on the wire: the names that
 * `toWire` gives them, and none of zod's own marks.
 */
export function wireSchema(schema: z.ZodType, io: "input" | "output"): ObjectSchema {
  const { $schema: _, ...wire } = z.toJSONSchema(schema, {
    io,
    override({ zodSchema, jsonSchema }) {
      // What every whole number is bounded by tells a reader nothing.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // A reader of results lets through what a later version adds.
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
