import { expect } from "vitest";
import { filesOf } from "./files-of.ts";

/** What both ways to forget make forgotten. */
const FORGOTTEN = "Ada asks for otter 3.";

/** No file of the folder has it any more. */
export function expectForgotten(folder: string, what: string): void {
  for (const [path, bytes] of filesOf(folder)) {
    const has = bytes.includes(FORGOTTEN);
    expect(has, `${what}: ${path} has the forgotten text`).toBe(false);
  }
}
