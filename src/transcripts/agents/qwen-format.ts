import { join } from "node:path";
import { jsonText } from "../../core/json-values.ts";
import { withoutBlocks } from "../../text/quoting.ts";
import type { FoundFile } from "../found-file.ts";
import {
  branchTo,
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
  parentsIn,
} from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
  titleOf,
} from "../json-fields.ts";
import { answer, call, importedSession, prompt, result, summary, thinking } from "../parts.ts";
import { noteNoSession, readRecords } from "../read-records.ts";

/** The sessions of Qwen Code, one file a session: lines in a tree, as Claude Code has them, with messages as Gemini has them. */
export const qwenFormat: ImportFormat = {
  agent: "qwen",
  places: ({ home }) => [join(home, ".qwen", "projects"), join(home, ".qwen", "tmp")],
  mayBe: (path) => /(?:^|\/)chats\/[^/]+\.jsonl$/.test(path),
  recognises: ({ first, head, path }) =>
    first === undefined
      ? CHAT_FILE.test(path) && LOOKS_LIKE_IT.test(latin1.decode(head))
      : isLine(first),
  async *read(file, notes) {
    const outline = await outlineOf(file);
    if (!outline) return await noteNoSession(file, notes);
    const { id, kept, others, ...about } = outline;
    notes.otherBranch(others);
    const messages = async function* (): AsyncGenerator<ImportedMessage> {
      for await (const { value, line } of readRecords(file, notes)) {
        if (kept.has(textOf(value.uuid))) yield* partsOf(id, value, line, notes);
        else if (!isLine(value)) notes.unknown(nameOf(value.type) ?? "?");
      }
    };
    yield importedSession("qwen", id, messages(), about);
  },
};

/** Texts that hooks and the program put beside the words of a person. */
const INJECTED =
  /<(rkat-memory|system-reminder|qwen:(?:user-prompt-submit|session-start)-context)>/g;

const latin1 = new TextDecoder("latin1");
const CHAT_FILE = /(?:^|[/\\])chats[/\\][^/\\]+\.jsonl$/;
/** A line that is longer than the head. */
const LOOKS_LIKE_IT = /^\{[^\n]{0,400}"sessionId":/;

function isLine(value: Json): boolean {
  const isKnown = /^(?:user|assistant|tool_result|system)$/.test(textOf(value.type));
  const hasParts =
    "parts" in objectOf(value.message) ||
    "systemPayload" in value ||
    (value.type === "system" && "provenance" in value);
  return (
    isKnown && typeof value.uuid === "string" && typeof value.sessionId === "string" && hasParts
  );
}

async function outlineOf(file: FoundFile) {
  const entries: { readonly id: string; readonly parent: string | undefined }[] = [];
  const said = new Set<string>();
  let id: string | undefined;
  let last: string | undefined;
  let project: string | undefined;
  let branch: string | undefined;
  let model: string | undefined;
  let title: string | undefined;
  let startedAt: string | undefined;
  let updatedAt: string | undefined;
  for await (const { value } of readRecords(file)) {
    const uuid = nameOf(value.uuid);
    if (uuid === undefined || !/^(?:user|assistant|tool_result|system)$/.test(textOf(value.type)))
      continue;
    entries.push({ id: uuid, parent: nameOf(value.parentUuid) });
    if (value.type !== "system") said.add(uuid);
    last = uuid;
    id ??= nameOf(value.sessionId);
    project ??= nameOf(value.cwd);
    branch = nameOf(value.gitBranch) ?? branch;
    model ??= nameOf(value.model);
    startedAt ??= timeOf(value.timestamp);
    updatedAt = timeOf(value.timestamp) ?? updatedAt;
    if (value.type === "user" && isTyped(value))
      title ??= titleOf(contentText(objectOf(value.message).parts));
  }
  if (id === undefined || last === undefined) return undefined;
  const parents = parentsIn(entries);
  const kept = new Set(branchTo(last, (uuid) => parents.get(uuid)));
  const others = [...said].filter((uuid) => !kept.has(uuid)).length;
  return { id, kept, others, project, branch, model, title, startedAt, updatedAt };
}

function isTyped({ subtype, provenance }: Json): boolean {
  const isPersons = provenance === undefined || provenance === "user" || provenance === "real_user";
  return isPersons && (subtype === undefined || subtype === null || subtype === "user");
}

function* partsOf(
  session: string,
  value: Json,
  line: number,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const id = `qwen:${session}:${textOf(value.uuid)}`;
  const of = { time: timeOf(value.timestamp), line, group: id };
  const parts = listOf(objectOf(value.message).parts).map(objectOf);
  if (value.type === "system") {
    const { compressedHistory } = objectOf(objectOf(value.systemPayload));
    if (value.subtype === "chat_compression" && compressedHistory !== undefined) {
      const text = contentText(listOf(objectOf(listOf(compressedHistory)[0]).parts));
      if (text !== "") yield summary(id, text, of);
    }
    return;
  }
  if (value.type === "user") {
    const text = withoutBlocks(contentText(parts), INJECTED).trim();
    if (text !== "" && isTyped(value)) yield prompt(id, text, of);
    return;
  }
  for (const [index, part] of parts.entries()) {
    const place = index === 0 ? id : `${id}:${index}`;
    const asked = objectOf(part.functionCall);
    const done = objectOf(part.functionResponse);
    if (part.functionCall !== undefined) {
      yield call(
        place,
        { callId: nameOf(asked.id) ?? place, name: textOf(asked.name), args: asked.args },
        of,
      );
    } else if (part.functionResponse !== undefined) {
      const { output, error } = objectOf(done.response);
      const text = textOf(error) || textOf(output) || (jsonText(done.response) ?? "");
      yield result(
        place,
        { callId: nameOf(done.id) ?? place, text, isError: error !== undefined },
        of,
      );
    } else if (part.thought === true) {
      if (nameOf(part.text)) yield thinking(place, textOf(part.text), of);
    } else if (nameOf(part.text)) {
      if (value.type === "assistant") yield answer(place, textOf(part.text), of);
    } else if (Object.keys(part).length > 0 && part.text === undefined)
      notes.unknown(`part.${Object.keys(part)[0]}`);
  }
}
