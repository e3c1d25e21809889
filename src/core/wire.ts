import { z } from "zod";
import { SessionError } from "./errors.ts";

/**
 * Names on the wire are in snake_case, names in the code in camelCase. What a
 * schema names is converted; what it only lets through (labels, metadata, the
 * arguments of a tool, messages) belongs to the user and keeps its keys.
 *
 * @throws SessionError `INVALID_PARAMS` for a name as the wire has it: in the code it is none.
 */
export function toWire(schema: z.ZodType, value: unknown): unknown {
  return walk(schema, value, (object, shape) => {
    const names = new Set(Object.keys(shape).map(snakeCase));
    return Object.fromEntries(
      Object.entries(object).map(([key, item]) => {
        if (Object.hasOwn(shape, key))
          return [snakeCase(key), toWire(shape[key] as z.ZodType, item)];
        if (names.has(key)) throw unrecognized(key);
        return [key, item];
      }),
    );
  });
}

/**
 * The other way. Keys that the schema does not name stay as they are, for it to refuse by name.
 *
 * @throws SessionError `INVALID_PARAMS` for a name as the code has it: on the wire it is none.
 */
export function fromWire(schema: z.ZodType, value: unknown): unknown {
  return walk(schema, value, (object, shape) => {
    const names = new Map(Object.keys(shape).map((key) => [snakeCase(key), key]));
    return Object.fromEntries(
      Object.entries(object).map(([key, item]) => {
        const name = names.get(key);
        if (name === undefined && Object.hasOwn(shape, key)) {
          throw unrecognized(key);
        }
        return name === undefined ? [key, item] : [name, fromWire(shape[name] as z.ZodType, item)];
      }),
    );
  });
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function unrecognized(key: string): SessionError {
  return new SessionError("INVALID_PARAMS", { detail: `Unrecognized key: "${key}"` });
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
