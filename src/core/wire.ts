import { z } from "zod";
import { SessionError } from "./errors.ts";
import { isObject, snakeCase } from "./fields.ts";
import { type Issue, unrecognizedKey, withMeant } from "./issues.ts";

/**
 * Names are snake_case on the wire and camelCase in the code. A schema says
 * which names are ours; the user's own keys (labels, metadata, the arguments of
 * a tool, messages) are never changed.
 *
 * @throws SessionError `INVALID_PARAMS` for a name of ours in snake_case.
 */
export function toWire(schema: z.ZodType, value: unknown): unknown {
  return convert(schema, value, TO_WIRE, []);
}

/**
 * The reverse of `toWire`. Keys that the schema does not have are left for it to refuse.
 *
 * @throws SessionError `INVALID_PARAMS` for a name of ours in camelCase.
 */
export function fromWire(schema: z.ZodType, value: unknown): unknown {
  return convert(schema, value, FROM_WIRE, []);
}

/** The failure with the wire's names for the fields that it blames. */
export function errorToWire(schema: z.ZodType, error: SessionError): SessionError {
  return withFieldNames(schema, error, TO_WIRE);
}

/** The failure with the code's names for the fields that it blames. */
export function errorFromWire(schema: z.ZodType, error: SessionError): SessionError {
  return withFieldNames(schema, error, FROM_WIRE);
}

/** From which names to which, each made of the code's. */
interface Direction {
  from(name: string): string;
  to(name: string): string;
}

const same = (name: string) => name;
const TO_WIRE: Direction = { from: same, to: snakeCase };
const FROM_WIRE: Direction = { from: snakeCase, to: same };

type Path = Issue["path"];

function convert(schema: z.ZodType, value: unknown, direction: Direction, path: Path): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    const element = inner.element as z.ZodType;
    return value.map((item, index) => convert(element, item, direction, [...path, index]));
  }
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return value;
  const names = Object.keys(inner.shape);
  const byKey = new Map(names.map((name) => [direction.from(name), name]));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const name = byKey.get(key);
      if (name !== undefined) {
        return [direction.to(name), convert(inner.shape[name], item, direction, [...path, key])];
      }
      // The converted name would pass as the right one.
      const meant = names.find((name) => direction.to(name) === key);
      if (meant !== undefined) throw unrecognized(path, key, direction.from(meant));
      return [key, item];
    }),
  );
}

/** The same failure as for any other key that the schema does not have. */
function unrecognized(path: Path, key: string, meant: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    issues: [{ path, message: unrecognizedKey(key, meant) }],
  });
}

function withFieldNames(
  schema: z.ZodType,
  error: SessionError,
  direction: Direction,
): SessionError {
  if (!error.issues) return error;
  const issues = error.issues.map(({ path, message }) => ({
    path: renamePath(schema, path, direction),
    message: withMeant(message, (name) =>
      renamed(fieldsAt(schema, path, direction), name, direction),
    ),
  }));
  return new SessionError(error.code, { issues, hint: error.hint, cause: error });
}

function renamePath(schema: z.ZodType, path: Path, direction: Direction): Path {
  const [key, ...rest] = path;
  if (key === undefined) return path;
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) {
    return [key, ...renamePath(inner.element as z.ZodType, rest, direction)];
  }
  if (!(inner instanceof z.ZodObject)) return path;
  const name = Object.keys(inner.shape).find((name) => direction.from(name) === key);
  if (name === undefined) return path;
  return [direction.to(name), ...renamePath(inner.shape[name], rest, direction)];
}

function renamed(names: readonly string[], name: string, direction: Direction): string {
  const found = names.find((each) => direction.from(each) === name);
  return found === undefined ? name : direction.to(found);
}

/** The names of the fields that the object at a path can have, as the code spells them. */
export function fieldsAt(
  schema: z.ZodType,
  [key, ...rest]: Path,
  direction: Direction = TO_WIRE,
): readonly string[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) {
    return key === undefined ? [] : fieldsAt(inner.element as z.ZodType, rest, direction);
  }
  if (!(inner instanceof z.ZodObject)) return [];
  const names = Object.keys(inner.shape);
  if (key === undefined) return names;
  const name = names.find((each) => direction.from(each) === key);
  return name === undefined ? [] : fieldsAt(inner.shape[name], rest, direction);
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
