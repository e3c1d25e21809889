import { type EventEnvelope, isTransient } from "../../core/event.ts";

/** Written when there was nothing else to write for a while; readers skip it. */
export const HEARTBEAT = ": heartbeat\n\n";

/** An event as server-sent events have it. What is not in the log has no id to come back to. */
export function eventFrame(event: EventEnvelope): string {
  const id = isTransient(event.payload) ? "" : `id: ${event.seq}\n`;
  return id + frame(event.payload.type, event);
}

export function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
