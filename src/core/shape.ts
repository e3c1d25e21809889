import { isObject } from "./fields.ts";

/** Whether a value from outside has a form. Shapes are quicker than schemas, and say nothing of what is wrong. */
export type Shape = (value: unknown) => boolean;

export const isText: Shape = (value) => typeof value === "string";
export const isNumber: Shape = (value) => Number.isFinite(value);
export const isFlag: Shape = (value) => typeof value === "boolean";

export function listOf(isItem: Shape): Shape {
  return (value) => Array.isArray(value) && value.every(isItem);
}

export function recordOf(isItem: Shape): Shape {
  return (value) => isObject(value) && Object.values(value).every(isItem);
}

/** A value that may be missing. */
export function maybe(isValue: Shape): Shape {
  return (value) => value === undefined || isValue(value);
}

export function orNull(isValue: Shape): Shape {
  return (value) => value === null || isValue(value);
}

/** An object with these fields. Others are not looked at. */
export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
  const all = Object.entries(shapes);
  return (value) => isObject(value) && all.every(([name, isValue]) => isValue(value[name]));
}

/** An object whose field `name` says which of the shapes it has. */
export function byField(name: string, shapes: Readonly<Record<string, Shape>>): Shape {
  const all = new Map(Object.entries(shapes));
  return (value) => isObject(value) && (all.get(String(value[name]))?.(value) ?? false);
}
