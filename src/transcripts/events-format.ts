import { z } from "zod";
import type { DurableEvent } from "../core/event.ts";
import { issuesOf, issuesText } from "../core/issues.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import { contentSchema, messageSchema } from "../core/message-schema.ts";
import { origin } from "../core/requests.ts";
import type { TranscriptFormat } from "./recording.ts";

/**
 * rkat's own `events.jsonl`, the log of a session. Compactions are ignored, so the
 * recording is the whole conversation.
 */
export const eventsFormat: TranscriptFormat = {
  recognises: (first) => "event" in first,
  reader: () => {
    const assembler = new MessageAssembler();
    return (line) => {
      const stored = check(lineSchema, line);
      const schema = MESSAGE_EVENTS[stored.event.type];
      if (schema) check(schema, stored.event);
      const completed = assembler.push({ ...stored, event: stored.event as DurableEvent });
      if (!completed) return undefined;
      const time = completed.origin?.time ?? new Date(completed.timestampMs).toISOString();
      return { message: completed.message, origin: { ...completed.origin, time } };
    };
  },
};

/** The end of the year 9999. The ISO 8601 form of a later time has more digits, which no session takes. */
const TIMESTAMP_MAX = Date.UTC(10_000, 0) - 1;

const lineSchema = z.object({
  seq: z.int(),
  schema_version: z.literal(1),
  event_id: z.string(),
  timestamp_ms: z.int().min(0).max(TIMESTAMP_MAX),
  event: z.looseObject({ type: z.string() }),
});

const text = z.looseObject({ content: z.string() });

/** The events that messages are made of. Only these are checked in full. */
const MESSAGE_EVENTS: Readonly<Record<string, z.ZodType>> = {
  message_added: z.looseObject({ message: messageSchema, origin: origin.optional() }),
  run_started: z.looseObject({
    prompt: z.string(),
    content: contentSchema.optional(),
    origin: origin.optional(),
  }),
  reasoning_complete: text,
  text_complete: text,
  tool_call_requested: z.looseObject({ id: z.string(), name: z.string() }),
  turn_completed: z.looseObject({ stop_reason: z.string(), origin: origin.optional() }),
  tool_execution_completed: z.looseObject({
    id: z.string(),
    result: z.string(),
    is_error: z.boolean(),
  }),
};

function check<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(issuesText(issuesOf(parsed.error)));
}
