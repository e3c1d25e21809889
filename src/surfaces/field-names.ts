import { z } from "zod";
import { SessionError } from "../core/errors.ts";
import { snakeCase } from "../core/wire.ts";

/** A failure that speaks of `maxTokens` speaks of `max_tokens` to whoever wrote that. */
export function inWireNames(error: SessionError, request: z.ZodObject): SessionError {
  return renamed(error, request, (name) => [name, snakeCase(name)]);
}

/** The other way, for who calls a remote service as if it were here. */
export function inCodeNames(error: SessionError, request: z.ZodObject): SessionError {
  return renamed(error, request, (name) => [snakeCase(name), name]);
}

function renamed(
  error: SessionError,
  request: z.ZodObject,
  rename: (name: string) => readonly [from: string, to: string],
): SessionError {
  if (error.code !== "INVALID_PARAMS") return error;
  const message = fieldNames(request)
    .map(rename)
    .filter(([from, to]) => from !== to)
    .reduce(
      (text, [from, to]) => text.replaceAll(new RegExp(`\\b${from}\\b`, "g"), to),
      error.message,
    );
  const { hint } = error;
  return new SessionError("INVALID_PARAMS", { message, hint, cause: error });
}

/** The names of a schema's fields, however deep. */
function fieldNames(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodOptional) return fieldNames(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return fieldNames(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, field]) => [
    name,
    ...fieldNames(field as z.ZodType),
  ]);
}
