import { InvalidArgumentError } from "commander";
import type { SettingKind } from "../../config/setting-kind.ts";

/** Reads a flag's value as a setting of this kind. */
export function flagOf<Value>(kind: SettingKind<Value>): (text: string) => Value {
  return (text) => {
    const value = kind.readText(text);
    if (value === undefined) throw new InvalidArgumentError(`It must be ${kind.allowed}.`);
    return value;
  };
}

/** Reads a whole number from 0, up to `max`. */
export function countFlag(max: number): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${max}.`);
  };
}

/** Collects `--label k=v` flags. */
export function labelFlag(
  text: string,
  labels: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("It must be name=value.");
  return { ...labels, [name]: value };
}

/** The fields that have a value: what a request leaves out, it must not name. */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as never;
}
