import { hash } from "node:crypto";
import { z } from "zod";
import { errorText } from "../core/errors.ts";
import type { DurableEvent } from "../core/event.ts";
import { issuesOf, issuesText } from "../core/issues.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import { contentSchema, messageSchema } from "../core/message-schema.ts";
import { origin } from "../core/operations/request-fields.ts";
import type { FoundFile } from "./found-file.ts";
import type { ImportedMessage, ImportFormat, ImportNotes, TranscriptFormat } from "./imported.ts";
import { nameOf, objectOf, textOf, timeOf, titleOf } from "./json-fields.ts";
import { importedSession } from "./parts.ts";
import { readRecords } from "./read-records.ts";

/** The log of a session of rkat, as it is exported. Only a path that names it is read: rkat knows its own sessions. */
export const rkatFormat: ImportFormat = {
  agent: "rkat",
  places: () => [],
  mayBe: (path) => /(?:^|\/)events\.jsonl$/.test(path),
  recognises: ({ first }) =>
    first !== undefined && typeof first.event_id === "string" && "event" in first,
  async *read(file, notes) {
    const { id, ...about } = await outlineOf(file);
    const messages = messagesOf(file, notes);
    yield importedSession("rkat", id, messages, about);
  },
};

/** The first prompt says which session it is. */
async function outlineOf(file: FoundFile) {
  let startedAt: string | undefined;
  for await (const { value } of readRecords(file)) {
    const event = objectOf(value.event);
    startedAt ??= timeOf(value.timestamp_ms);
    const id = nameOf(event.session_id);
    if (event.type === "run_started" && id !== undefined) {
      return { id, startedAt, title: titleOf(textOf(event.prompt)) };
    }
  }
  return { id: hash("sha1", file.path), startedAt, title: undefined };
}

async function* messagesOf(file: FoundFile, notes: ImportNotes): AsyncGenerator<ImportedMessage> {
  const next = eventsFormat.reader();
  for await (const { value, line } of readRecords(file, notes)) {
    try {
      const read = next(value);
      if (!read) continue;
      const { message, origin } = read;
      const inMemory = message.role !== "system" && !("kind" in message);
      // A prompt without an origin was typed by the user of that rkat.
      const isTyped = message.role === "user" && objectOf(value.event).origin === undefined;
      yield {
        sourceId: `rkat:${textOf(value.event_id)}`,
        message,
        origin: { ...(isTyped ? { author: "user" } : {}), ...origin },
        ...(inMemory ? {} : { memory: false as const }),
        line,
      };
    } catch (error) {
      notes.skip(file, line, errorText(error));
    }
  }
}

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
