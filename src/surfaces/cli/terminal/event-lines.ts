import type { EventEnvelope } from "../../../core/event.ts";
import type { Output } from "./terminal.ts";

/**
 * What `--output jsonl` prints: events as they happen, one a line, and at last
 * a line that has a `type`, `result` or `error`. An event has none of its own:
 * its `payload` has.
 */
export function printEvent(output: Output, event: EventEnvelope): void {
  void output.write(`${JSON.stringify(event)}\n`);
}

export function printEnd(output: Output, type: "result" | "error", fields: unknown): Promise<void> {
  return output.write(`${JSON.stringify({ type, ...(fields as object) })}\n`);
}
