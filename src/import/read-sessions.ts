import { errorText, SessionError } from "../core/errors.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import type {
  ImportedMessage,
  ImportedSession,
  ImportFormat,
  ImportNotes,
  RecordedMessage,
} from "../transcripts/imported.ts";
import type { DiskFile } from "./disk-file.ts";
import { recogniseFile } from "./find-transcripts.ts";
import {
  charactersOf,
  groupParts,
  isMemoryTools,
  isPartOf,
  joinParts,
  MemoryToolFilter,
} from "./read-message.ts";

/** A session in a transcript file, before it is read whole. */
export interface FoundSession {
  readonly file: DiskFile;
  readonly format: ImportFormat;
  readonly session: Omit<ImportedSession, "messages">;
  readonly messages: number;
  /** About how long its texts are. */
  readonly characters: number;
}

/** The sessions in files, one after the other. Nothing is stored, and only one message is held. */
export async function* findSessions(
  files: readonly DiskFile[],
  formats: readonly ImportFormat[],
  signal?: AbortSignal,
): AsyncGenerator<FoundSession> {
  for (const file of files) {
    const format = await reading(file, () => recogniseFile(file, formats));
    if (!format) continue;
    const sessions = format.read(file, NO_NOTES)[Symbol.asyncIterator]();
    for (;;) {
      const next = await reading(file, () => sessions.next());
      if (next.done) break;
      const { messages: parts, ...session } = next.value;
      if (isMemoryTools(session)) continue;
      let messages = 0;
      let characters = 0;
      let last: ImportedMessage | undefined;
      for await (const part of parts) {
        signal?.throwIfAborted();
        if (!last || !isPartOf(part, last)) messages += 1;
        characters += charactersOf(part.message);
        last = part;
      }
      if (messages > 0) yield { file, format, session, messages, characters };
    }
  }
}

/**
 * Reads a session whole, as an import would store it: parts are joined, repeated ones are left out, and
 * credentials are replaced.
 */
export async function readSession({ file, format, session }: FoundSession): Promise<{
  readonly messages: readonly RecordedMessage[];
  /** Lines that could not be read. */
  readonly skipped: number;
}> {
  let skipped = 0;
  const notes = { ...NO_NOTES, skip: () => (skipped += 1) };
  for await (const { id, messages } of format.read(file, notes)) {
    if (id !== session.id) continue;
    const parts: ImportedMessage[] = [];
    const seen = new Set<string>();
    for await (const part of messages) {
      const ids = [part.sourceId, ...(part.alias === undefined ? [] : [part.alias])];
      if (ids.some((one) => seen.has(one))) continue;
      for (const one of ids) seen.add(one);
      parts.push(part);
    }
    const filter = new MemoryToolFilter();
    return { messages: groupParts(parts).map((group) => messageOf(group, filter)), skipped };
  }
  return { messages: [], skipped };
}

function messageOf(group: ReturnType<typeof groupParts>[number], filter: MemoryToolFilter) {
  const [{ origin, boundary }] = group;
  const message = redactMessage(filter.without(joinParts(group)));
  return {
    message,
    origin,
    ...(boundary ? { boundary } : {}),
  };
}

const NO_NOTES: ImportNotes = {
  skip() {},
  unknown() {},
  otherBranch() {},
  unfinished() {},
  readOn() {},
};

async function reading<Result>(file: DiskFile, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SessionError) throw error;
    throw new SessionError("INVALID_PARAMS", {
      message: `${file.path} cannot be read: ${errorText(error).replace(/\.$/, "")}.`,
      hint: "Check the file and its permissions.",
      cause: error,
    });
  }
}
