import { basename, join } from "node:path";
import { isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import { wordSet } from "../../text/word-set.ts";
import type { FoundFile } from "../found-file.ts";
import { type ImportedMessage, type ImportFormat, type ImportNotes, isLive } from "../imported.ts";
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
import { answer, call, importedSession, prompt, result, thinking, wholeObject } from "../parts.ts";
import { readRecords } from "../read-records.ts";
import { editorFolders } from "./vscode-folders.ts";

/**
 * The chats of GitHub Copilot Chat in VS Code: one object with a list of requests, as VS Code stores and exports it, or a log of
 * changes to such an object:
 *
 *     {"kind":0,"v":{…}}                          the object
 *     {"kind":1,"k":["requests",0,"…"],"v":…}     a value of it is set
 *     {"kind":2,"k":["requests"],"v":[…],"i":3}   a list is cut to `i` values, and gets those of `v`
 */
export const copilotChatFormat: ImportFormat = {
  agent: "copilot-chat",
  places: (machine) =>
    editorFolders(machine).flatMap((folder) => [
      join(folder, "workspaceStorage"),
      join(folder, "globalStorage", "emptyWindowChatSessions"),
    ]),
  mayBe: (path) => /(?:^|\/)(?:chatSessions|emptyWindowChatSessions)\/[^/]+\.jsonl?$/.test(path),
  recognises: ({ first, head }) => {
    if (first?.kind === 0 && isObject(first.v)) return "requests" in first.v;
    if (first) return Array.isArray(first.requests) && hasChatFields(first);
    const text = new TextDecoder().decode(head);
    return /^\s*\{/.test(text) && /"requests"\s*:\s*\[/.test(text) && CHAT_FIELD.test(text);
  },
  async *read(file, notes) {
    /** Requests of a log that have their result, and not yet the end of their text. */
    const ending = new Set<unknown>();
    const chat = /\.jsonl$/.test(file.path)
      ? await loggedChat(file, ending, notes)
      : await wholeObject(file, notes);
    if (!chat) return;
    const requests = listOf(chat.requests).map(objectOf);
    const native =
      nameOf(chat.sessionId) ??
      nameOf(requests[0]?.requestId) ??
      basename(file.path).replace(/\.jsonl?$/, "");
    const prompts = requests.filter(isTyped).map(promptOf);
    const messages = messagesOf(native, requests, ending, file, notes);
    yield importedSession("copilot-chat", native, messages, {
      title: nameOf(chat.customTitle) ?? titleOf(prompts[0] ?? ""),
      startedAt: timeOf(chat.creationDate) ?? timeOf(requests[0]?.timestamp),
      updatedAt: timeOf(chat.lastMessageDate),
      model: nameOf(requests[0]?.modelId),
    });
  },
};

const CHAT_FIELD = /"(?:responderUsername|requesterUsername|initialLocation)"\s*:/;

function hasChatFields(value: Json): boolean {
  return ["responderUsername", "requesterUsername", "initialLocation", "sessionId"].some(
    (name) => name in value,
  );
}

const LIST_MAX = 100_000;

/** Follows the log of changes. A change at a place that is not there is counted. */
async function loggedChat(
  file: FoundFile,
  ending: Set<unknown>,
  notes: ImportNotes,
): Promise<Json | undefined> {
  let chat: Record<string, unknown> | undefined;
  for await (const { value, line } of readRecords(file, notes)) {
    if (value.kind === 0) {
      chat = { ...objectOf(value.v) };
      continue;
    }
    const path = listOf(value.k);
    const isKnown = value.kind === 1 || value.kind === 2 || value.kind === 3;
    if (!isKnown) notes.unknown(`kind.${jsonText(value.kind)}`);
    else if (!chat || path.length === 0 || !changed(chat, path, value)) {
      notes.skip(file, line, "it changes a place that is not there");
    } else noteEnding(ending, path);
  }
  return chat;
}

/** VS Code writes what changed in the order of its fields, so a request's `response` comes behind its `result`. */
function noteEnding(ending: Set<unknown>, [list, index, field]: readonly unknown[]): void {
  if (list !== "requests") return;
  if (index === undefined) ending.clear();
  else if (field === "result") ending.add(index);
  else if (field === undefined || field === "response") ending.delete(index);
}

function changed(
  chat: Record<string, unknown>,
  path: readonly unknown[],
  { kind, v, i }: Json,
): boolean {
  let holder: unknown = chat;
  for (const key of path.slice(0, -1)) holder = valueAt(holder, key);
  const last = path.at(-1);
  if (kind === 2) {
    const list = valueAt(holder, last);
    if (list !== undefined && !Array.isArray(list)) return false;
    const items: unknown[] = list ?? [];
    if (typeof i === "number") items.length = Math.min(items.length, Math.max(0, Math.trunc(i)));
    if (Array.isArray(v) && items.length + v.length <= LIST_MAX) items.push(...v);
    return setAt(holder, last, items);
  }
  return setAt(holder, last, kind === 3 ? undefined : v);
}

function valueAt(holder: unknown, key: unknown): unknown {
  if (Array.isArray(holder)) return typeof key === "number" ? holder[key] : undefined;
  return isObject(holder) && typeof key === "string" && Object.hasOwn(holder, key)
    ? holder[key]
    : undefined;
}

function setAt(holder: unknown, key: unknown, value: unknown): boolean {
  if (Array.isArray(holder)) {
    if (typeof key !== "number" || !(key >= 0 && key <= holder.length) || !Number.isInteger(key))
      return false;
    holder[key] = value;
    return true;
  }
  if (!isObject(holder) || typeof key !== "string" || key === "__proto__") return false;
  (holder as Record<string, unknown>)[key] = value;
  return true;
}

function isTyped(request: Json): boolean {
  return request.isSystemInitiated !== true;
}

function promptOf({ message }: Json): string {
  return typeof message === "string" ? message : textOf(objectOf(message).text);
}

async function* messagesOf(
  session: string,
  requests: readonly Json[],
  ending: ReadonlySet<unknown>,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  for (const [index, request] of requests.entries()) {
    if (
      request.isHidden === true ||
      (request.shouldBeRemovedOnSend !== undefined && request.shouldBeRemovedOnSend !== false)
    ) {
      notes.otherBranch(1);
      continue;
    }
    const id = `copilot-chat:${session}:${nameOf(request.requestId) ?? index}`;
    const time = timeOf(request.timestamp);
    const text = promptOf(request);
    if (isTyped(request) && text !== "") yield prompt(id, text, { time });
    const { completedAt } = objectOf(request.modelState);
    const hasEnd = request.result !== undefined || completedAt !== undefined;
    // An answer that is being written grows in place.
    const isDone = index < requests.length - 1 || (hasEnd && !ending.has(index));
    if (isDone || !isLive(file, completedAt ?? request.timestamp, notes))
      yield* answerOf(id, request, notes);
  }
}

/** Parts of a response that say nothing, or are the editor's. */
const SILENT =
  wordSet(`progressMessage progressTask progressTaskSerialized progressTaskResult warning undoStop codeblockUri textEditGroup notebookEditGroup
  command confirmation references codeCitation mcpServersStarting prepareToolInvocation extensions pullRequest elicitation
  elicitationSerialized elicitation2 treeData multiDiffData reference usedContext questionCarousel hook workspaceEdit
  disabledClaudeHooks externalToolInvocationUpdate`);

function* answerOf(id: string, request: Json, notes: ImportNotes): Generator<ImportedMessage> {
  const results = objectOf(objectOf(objectOf(request.result).metadata).toolCallResults);
  const completed = objectOf(request.modelState).completedAt;
  const of = { time: timeOf(completed) ?? timeOf(request.timestamp), group: id };
  const pending: ImportedMessage[] = [];
  let said = "";
  let count = 0;
  const next = () => {
    count += 1;
    return `${id}:answer:${count}`;
  };
  function* flush(): Generator<ImportedMessage> {
    const text = withoutEmptyFences(said);
    if (text !== "") yield answer(next(), text, of);
    said = "";
  }
  for (const part of listOf(request.response)) {
    const { kind, value, content, ...rest } = objectOf(part);
    switch (kind) {
      case undefined:
        said += typeof part === "string" ? part : textOf(value) || textOf(objectOf(value).value);
        break;
      case "markdownContent":
      case "markdownVuln":
        said += textOf(content) || textOf(objectOf(content).value);
        break;
      case "inlineReference":
        said += nameOf(rest.name) ?? referenceName(rest.inlineReference);
        break;
      case "thinking": {
        yield* flush();
        const text = Array.isArray(value) ? value.map(textOf).join("") : textOf(value);
        if (text !== "") yield thinking(next(), text, of);
        break;
      }
      case "toolInvocationSerialized":
      case "toolInvocation": {
        yield* flush();
        const callId = nameOf(rest.toolCallId) ?? next();
        const args = objectOf(rest.toolSpecificData);
        yield call(`${id}:call:${callId}`, { callId, name: textOf(rest.toolId), args }, of);
        const output = resultText(results[callId]) || resultText(rest.resultDetails);
        pending.push(
          result(
            `${id}:result:${callId}`,
            { callId, text: output },
            { ...of, group: `${id}:results` },
          ),
        );
        break;
      }
      default:
        if (!SILENT.has(textOf(kind))) notes.unknown(`response.${textOf(kind) || "?"}`);
    }
  }
  // The answer after the calls is of the same message: the results come between.
  const last = withoutEmptyFences(said);
  yield* pending;
  if (last !== "")
    yield answer(next(), last, { ...of, group: pending.length > 0 ? `${id}:end` : id });
}

/** An edit stands between two fences, and is the editor's. */
function withoutEmptyFences(text: string): string {
  return text.replace(/^```\w*\n\s*```$/gm, "").trim();
}

function referenceName(reference: unknown): string {
  const { name, path, fsPath, uri } = objectOf(reference);
  const where = textOf(path) || textOf(fsPath) || textOf(objectOf(uri).path);
  return nameOf(name) ?? basename(where);
}

function resultText(value: unknown): string {
  if (value === undefined || value === null) return "";
  const { content, output } = objectOf(value);
  const parts = listOf(content ?? output).map(
    (part) => textOf(objectOf(part).value) || contentText(part),
  );
  return parts.filter(Boolean).join("\n");
}
