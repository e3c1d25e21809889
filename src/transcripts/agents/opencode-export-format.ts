import type { FoundFile } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  printedOf,
} from "../imported.ts";
import { type Json, listOf, nameOf, objectOf, textOf, timeOf, titleOf } from "../json-fields.ts";
import { messagesOf } from "../opencode/opencode-format.ts";
import { messageParts } from "../opencode/opencode-parts.ts";
import { callerOf, importedSession, wholeObject } from "../parts.ts";
import { readRecords } from "../read-records.ts";
import { NO_PROMPT } from "./claude-stream-format.ts";

/**
 * What `opencode export` prints: a session with its messages, with the ids that they have in opencode's database, so that both are
 * stored once. And what `opencode run --format json` prints: parts of answers, a line each, of which the last form counts.
 */
export const opencodeExportFormat: ImportFormat = {
  agent: "opencode",
  places: () => [],
  mayBe: (path) => /\.jsonl?$/.test(path),
  recognises: ({ first, head }) => {
    if (first && isRun(first)) return true;
    const { id } = objectOf(first?.info);
    if (first) return textOf(id).startsWith("ses_") && Array.isArray(first.messages);
    return /^\s*\{\s*"info"\s*:\s*\{[^{]*"id"\s*:\s*"ses_/.test(new TextDecoder().decode(head));
  },
  async *read(file, notes) {
    const [first] = await Array.fromAsync(firstRecords(file));
    if (first && isRun(first)) {
      const parts = new Map<string, Json>();
      let session = "";
      for await (const { value } of readRecords(file, notes)) {
        session ||= textOf(value.sessionID);
        const part = objectOf(value.part);
        if (nameOf(part.id)) parts.set(textOf(part.id), part);
        else if (!isRun(value)) notes.unknown(textOf(value.type) || "?");
      }
      yield runSession(session, [...parts.values()], file, notes);
      return;
    }
    const exported = await wholeObject(file, notes);
    if (exported) yield exportedSession(exported, file, notes);
  },
};

function isRun({ type, sessionID }: Json): boolean {
  return (
    /^(?:step_start|text|reasoning|tool_use|step_finish|error)$/.test(textOf(type)) &&
    textOf(sessionID).startsWith("ses_")
  );
}

async function* firstRecords(file: Parameters<ImportFormat["read"]>[0]): AsyncGenerator<Json> {
  for await (const { value } of readRecords(file)) {
    yield value;
    return;
  }
}

function exportedSession(
  { info, messages }: Json,
  file: FoundFile,
  notes: ImportNotes,
): ImportedSession {
  const about = objectOf(info);
  const id = textOf(about.id);
  const time = objectOf(about.time);
  const stored = listOf(messages).map((one) => {
    const own = objectOf(objectOf(one).info);
    return { id: textOf(own.id), info: own, parts: listOf(objectOf(one).parts).map(objectOf) };
  });
  const said = messagesOf(`opencode:${id}`, stored, about.revert, file, notes);
  return importedSession("opencode", id, said, {
    parent: callerOf("opencode", nameOf(about.parentID)),
    title: nameOf(about.title),
    project: nameOf(about.directory),
    model: nameOf(objectOf(about.model).id) ?? modelOfLast(stored),
    startedAt: timeOf(time.created),
    updatedAt: timeOf(time.updated),
  });
}

function modelOfLast(messages: readonly { readonly info: Json }[]): string | undefined {
  return messages.map(({ info }) => nameOf(info.modelID)).findLast((model) => model !== undefined);
}

/** The parts of one message have its id, as in the database. They stand in the order in which they were printed, results beside their calls. */
function runSession(
  id: string,
  parts: readonly Json[],
  file: FoundFile,
  notes: ImportNotes,
): ImportedSession {
  const text = parts.find(({ type }) => type === "text");
  const all = async function* (): AsyncGenerator<ImportedMessage> {
    notes.skip(file, undefined, NO_PROMPT);
    for (const part of parts) {
      const created = objectOf(part.time ?? objectOf(part.state).time).start;
      const info = { role: "assistant", time: { created } };
      yield* messageParts(info, [part], `opencode:${id}:${textOf(part.messageID)}`, notes);
    }
  };
  return printedOf(importedSession("opencode", id, all(), { title: titleOf(textOf(text?.text)) }));
}
