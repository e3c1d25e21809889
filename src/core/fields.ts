/**
 * Drops the fields that are undefined, for example
 * `{ limit, ...given({ after }) }`.
 *
 * Optional fields of requests and options are left out, never set to undefined.
 */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as never;
}

/** The wire's name for a field: `session_id` for `sessionId`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The reverse of `snakeCase`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Whether a value is a JSON object: not an array, and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value from outside has a form. Shapes are quicker than schemas, and say nothing of what is wrong. */
export interface Shape {
  (value: unknown): boolean;
  /** A value of this form, with what can be kept of one that lacks it; `undefined` when there is none. */
  readonly mend?: (value: unknown) => Mended | undefined;
}

interface Mended {
  readonly value: unknown;
}

/** The value, or the nearest one that has the form. */
export function mended(isValue: Shape, value: unknown): Mended | undefined {
  return isValue(value) ? { value } : isValue.mend?.(value);
}

function shape(isValue: (value: unknown) => boolean, mend: NonNullable<Shape["mend"]>): Shape {
  return Object.assign(isValue, { mend });
}

export const isText = text("");
export const isNumber = shape(Number.isFinite, () => ({ value: 0 }));
export const isFlag = shape(
  (value) => typeof value === "boolean",
  () => ({ value: false }),
);

/** A text; `usual` stands for one that is missing. */
export function text(usual: string): Shape {
  return shape(
    (value) => typeof value === "string",
    () => ({ value: usual }),
  );
}

export function listOf(isItem: Shape): Shape {
  return shape(
    (value) => Array.isArray(value) && value.every(isItem),
    (value) => {
      const items = (Array.isArray(value) ? value : []).map((item) => mended(isItem, item));
      return { value: items.flatMap((item) => (item ? [item.value] : [])) };
    },
  );
}

export function recordOf(isItem: Shape): Shape {
  return shape(
    (value) => isObject(value) && Object.values(value).every(isItem),
    (value) => {
      const entries = Object.entries(isObject(value) ? value : {});
      return { value: Object.fromEntries(entries.filter(([, item]) => isItem(item))) };
    },
  );
}

/** A value that may be missing. */
export function maybe(isValue: Shape): Shape {
  return shape(
    (value) => value === undefined || isValue(value),
    () => ({ value: undefined }),
  );
}

export function orNull(isValue: Shape): Shape {
  return shape(
    (value) => value === null || isValue(value),
    () => ({ value: null }),
  );
}

/** An object with these fields. Others are not looked at. */
export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
  const all = Object.entries(shapes);
  return shape(
    (value) => isObject(value) && all.every(([name, isValue]) => isValue(value[name])),
    (value) => {
      const known = isObject(value) ? value : {};
      const found = all.map(([name, isValue]) => [name, mended(isValue, known[name])] as const);
      if (found.some(([, field]) => !field)) return undefined;
      const fixed = Object.fromEntries(found.map(([name, field]) => [name, field?.value]));
      return { value: { ...known, ...fixed } };
    },
  );
}

/** An object whose field `name` says which of the shapes it has. */
export function byField(name: string, shapes: Readonly<Record<string, Shape>>): Shape {
  const all = new Map(Object.entries(shapes));
  const of = (value: unknown) => (isObject(value) ? all.get(String(value[name])) : undefined);
  return shape(
    (value) => of(value)?.(value) ?? false,
    (value) => of(value)?.mend?.(value),
  );
}
