import type { z } from "zod";
import { SessionError } from "../errors.ts";
import { issuesOf } from "../issues.ts";

/**
 * Returns the checked request, without fields that are `undefined`.
 *
 * @throws SessionError `INVALID_PARAMS`, which names the fields and what is wrong with them.
 */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): Given<z.output<Schema>> {
  const parsed = schema.safeParse(request);
  if (parsed.success) return withoutUndefined(parsed.data) as Given<z.output<Schema>>;
  const issues = issuesOf(parsed.error);
  const namesUser = issues.some(({ message }) => message.includes('key: "user"'));
  throw new SessionError("INVALID_PARAMS", { issues, ...(namesUser ? { hint: FOR_USER } : {}) });
}

const FOR_USER =
  "The user is not a part of the request: use `forUser`, a user's token, the header X-Rkat-User, or --user.";

/** The same type without `undefined` values. */
export type Given<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]: Given<Exclude<T[Key], undefined>> }
    : T;

function withoutUndefined(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, withoutUndefined(item)]),
  );
}
