import { InvalidArgumentError } from "commander";
import type { SettingKind } from "../../../config/setting-kind.ts";

/** Reads a flag's value as a setting of this kind. */
export function flagOf<Value>(kind: SettingKind<Value>): (text: string) => Value {
  return (text) => {
    const value = kind.readText(text);
    if (value === undefined) throw new InvalidArgumentError(`It must be ${kind.allowed}.`);
    return value;
  };
}

/** Reads a whole number from `min` up to `max`. */
export function countFlag(max: number, min = 0): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Reads a number from 0 to 1. */
export function shareFlag(text: string): number {
  if (/^\d*\.?\d+$/.test(text) && Number(text) <= 1) return Number(text);
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}

/** Collects a flag that may be repeated. */
export function listFlag(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
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
