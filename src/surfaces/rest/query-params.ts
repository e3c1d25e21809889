import { z } from "zod";
import { SessionError } from "../../core/errors.ts";
import { snakeCase } from "../../core/fields.ts";

/**
 * Reads a request from a query string: `limit=5&include_archived=true&label=env=test`.
 *
 * The schema gives each field its type. A text that does not fit stays a text, and
 * the service refuses it. A record can also be one field of JSON:
 * `labels={"env":"test"}`. A list repeats its field: `query=port&query=host`.
 *
 * @throws SessionError `INVALID_PARAMS` for a label without a value
 */
export function readQuery(schema: z.ZodObject, query: URLSearchParams): Record<string, unknown> {
  const kinds = new Map(
    Object.entries(schema.shape).map(([field, kind]) => [snakeCase(field), kindOf(kind)]),
  );
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const texts = query.getAll(name);
      const plural = `${name}s`;
      if (kinds.get(plural) === "record") return [plural, readPairs(name, texts)];
      const [text = ""] = texts;
      return [name, texts.length > 1 ? texts : readText(kinds.get(name), text)];
    }),
  );
}

/** The reverse of `readQuery`. */
export function writeQuery(params: Readonly<Record<string, unknown>>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) {
      query.append(name, typeof item === "object" ? JSON.stringify(item) : String(item));
    }
  }
  return query;
}

type Kind = "number" | "boolean" | "record" | "text";

/** The type of a field, optional or not. */
export function kindOf(schema: unknown): Kind {
  if (schema instanceof z.ZodOptional) return kindOf(schema.unwrap());
  if (schema instanceof z.ZodNumber) return "number";
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodRecord) return "record";
  return "text";
}

function readText(kind: Kind | undefined, text: string): unknown {
  if (kind === "number" && /^-?\d+(\.\d+)?(e[+-]?\d{1,3})?$/i.test(text)) return Number(text);
  if (kind === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  if (kind === "record") return readObject(text);
  return text;
}

function readObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readPairs(name: string, texts: readonly string[]): unknown {
  const pairs = texts.map((text) => {
    const pair = /^([^=]+)=(.*)$/s.exec(text);
    if (pair) return [pair[1], pair[2]];
    const message = `write it as ${name}=name=value; ${JSON.stringify(text.slice(0, 100))} has no value`;
    throw new SessionError("INVALID_PARAMS", { issues: [{ path: [name], message }] });
  });
  return Object.fromEntries(pairs);
}
