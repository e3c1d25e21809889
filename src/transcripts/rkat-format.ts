import { hash } from "node:crypto";
import { errorText } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import { eventsFormat } from "./events-format.ts";
import type { FoundFile } from "./found-file.ts";
import type { ImportedMessage, ImportFormat, ImportNotes } from "./imported.ts";
import { nameOf, objectOf, textOf, timeOf, titleOf } from "./json-fields.ts";
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
    yield { id: `rkat:${id}`, agent: "rkat", nativeId: id, ...given(about), messages };
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
      // A prompt without an origin is what the user of that rkat typed.
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
