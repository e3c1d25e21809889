import { thousands } from "./thousands.ts";

/** "1 session", "2 sessions", "1 200 entries". */
export function plural(count: number, unit: string, units = `${unit}s`): string {
  return `${thousands(count)} ${count === 1 ? unit : units}`;
}
