import { z } from "zod";

/**
 * Names on the wire are in snake_case, names in the code in camelCase. What a
 * schema names is converted; what it only lets through (labels, metadata, the
 * arguments of a tool, messages) belongs to the user and keeps its keys.
 */
export function toWire(schema: z.ZodType, value: unknown): unknown {
  return walk(schema, value, (object, shape) =>
    Object.fromEntries(
      Object.entries(object).map(([key, item]) => [
        key in shape ? snakeCase(key) : key,
        key in shape ? toWire(shape[key] as z.ZodType, item) : item,
      ]),
    ),
  );
}

/** The other way. Keys that the schema does not name stay as they are, for it to refuse by name. */
export function fromWire(schema: z.ZodType, value: unknown): unknown {
  return walk(schema, value, (object, shape) => {
    const names = new Map(Object.keys(shape).map((key) => [snakeCase(key), key]));
    return Object.fromEntries(
      Object.entries(object).map(([key, item]) => {
        const name = names.get(key);
        return name === undefined ? [key, item] : [name, fromWire(shape[name] as z.ZodType, item)];
      }),
    );
  });
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type Shape = Readonly<Record<string, unknown>>;

function walk(
  schema: z.ZodType,
  value: unknown,
  convert: (object: Readonly<Record<string, unknown>>, shape: Shape) => unknown,
): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => walk(inner.element as z.ZodType, item, convert));
  }
  if (inner instanceof z.ZodObject && isPlainObject(value)) return convert(value, inner.shape);
  return value;
}

/** The schema without `optional`, `nullable` and `default` around it. */
function unwrap(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  ) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  return schema;
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
