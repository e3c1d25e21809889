import { hash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { given } from "../../core/fields.ts";
import { headOf } from "../file-head.ts";
import type { FoundFile } from "../found-file.ts";
import {
  type AgentName,
  type FileHead,
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
  isLive,
  type Machine,
} from "../imported.ts";
import {
  contentText,
  type Json,
  nameOf,
  objectOf,
  textOf,
  timeOf,
  titleOf,
} from "../json-fields.ts";
import { readListedObjects, readObjects } from "../read-objects.ts";
import { apiParts, typedIn } from "./cline-api-parts.ts";
import { UiReader } from "./cline-ui-parts.ts";
import { Repeats } from "./parts.ts";
import { editorFolders } from "./vscode-folders.ts";

/**
 * The tasks of Cline and of the programs made of it, one folder a task:
 *
 *     tasks/<id>/ui_messages.json                  what the person saw, with times, and never cut
 *     tasks/<id>/api_conversation_history.json     what the model is sent
 *
 * The first is read. The second is read where the first is missing. Texts have the same ids in both.
 */
export const clineFormat = clineFamily(
  "cline",
  "saoudrizwan.claude-dev",
  (path) => !ROO.test(path),
);

/** Roo Code and what came of it. */
export const rooFormat = clineFamily("roo", "rooveterinaryinc.roo-cline", (path) => ROO.test(path));

const ROO = /roo-?(?:cline|code)|zoo-?code/i;

const TASK_FILE = /(?:^|[/\\])(ui_messages|api_conversation_history|claude_messages)\.json$/;
const NEW_FILE = /(?:^|[/\\])[^/\\]+\.messages\.json$/;

function clineFamily(
  agent: AgentName,
  extension: string,
  isIts: (path: string) => boolean,
): ImportFormat {
  return {
    agent,
    places: (machine) => placesOf(agent, extension, machine),
    mayBe: (path) => TASK_FILE.test(path) || NEW_FILE.test(path),
    recognises: (head) => kindOf(head) !== undefined && isIts(head.path),
    async *read(file, notes) {
      const kind = kindOf(await headOf(file));
      const folder = dirname(file.path);
      const isUi = ({ path }: { path: string }) =>
        dirname(path) === folder && basename(path) === "ui_messages.json";
      if (kind === "api" && [...file.others()].some(isUi)) return;
      if (kind === undefined) return notes.skip(file, undefined, "it is not a task of Cline");
      if (kind === "new") yield* readNew(agent, file, notes);
      else yield await sessionOf(agent, kind, file, notes);
    },
  };
}

function placesOf(agent: AgentName, extension: string, machine: Machine): readonly string[] {
  const inEditors = editorFolders(machine).map((folder) =>
    join(folder, "globalStorage", extension),
  );
  if (agent !== "cline") return inEditors;
  const { env, home } = machine;
  return [...inEditors, env.CLINE_DATA_DIR || join(home, ".cline", "data")];
}

type Kind = "ui" | "api" | "new";

/** A list of chat messages is Cline's if its name says so, or its first words. */
export function kindOf({
  path,
  listed: found,
  head,
}: Pick<FileHead, "path" | "listed" | "head">): Kind | undefined {
  const text = new TextDecoder().decode(head);
  if (found && !Array.isArray(found.messages)) {
    if (typeof found.ts === "number" && /^(?:say|ask)$/.test(textOf(found.type))) return "ui";
    const isChat = found.role === "user" && "content" in found;
    if (isChat && (TASK_FILE.test(path) || isClineText(contentText(found.content)))) return "api";
  }
  const isNew =
    /^\s*\{/.test(text) && /"agent"\s*:\s*"(?:lead|subagent|teammate)"/.test(text.slice(0, 4096));
  if (isNew && /"messages"\s*:/.test(text)) return "new";
  return !found && TASK_FILE.test(path) && /^\s*\[\s*\{"role"/.test(text) ? "api" : undefined;
}

function isClineText(text: string): boolean {
  return /^\s*<task>/.test(text) || /<environment_details>/.test(text);
}

async function sessionOf(
  agent: AgentName,
  kind: "ui" | "api",
  file: FoundFile,
  notes: ImportNotes,
) {
  let prompt: string | undefined;
  let startedAt: string | undefined;
  for await (const { value } of readObjects(file)) {
    startedAt ??= timeOf(value.ts);
    prompt =
      kind === "ui"
        ? value.say === "text" || value.say === "task"
          ? textOf(value.text)
          : undefined
        : typedIn(value)[0];
    if (prompt !== undefined && prompt !== "") break;
  }
  const folder = basename(dirname(file.path));
  // A folder of tasks names each after its time or by a UUID. Another folder says nothing.
  const isTask = /^\d{10,16}$|^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(folder);
  const id = isTask ? folder : hash("sha1", prompt ?? "").slice(0, 20);
  return {
    id: `${agent}:${id}`,
    agent,
    nativeId: id,
    ...given({
      title: titleOf(prompt ?? ""),
      startedAt: startedAt ?? (isTask ? timeOf(Number(folder)) : undefined),
    }),
    messages:
      kind === "ui"
        ? uiMessages(`${agent}:${id}`, file, notes)
        : apiMessages(`${agent}:${id}`, file, notes),
  };
}

async function* uiMessages(
  session: string,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const reader = new UiReader(session, notes);
  let last: Json = {};
  for await (const { value, line } of readListedObjects(file.read(), file, notes)) {
    last = value;
    if (value.partial === true && isLive(file, value.ts, notes)) break;
    yield* reader.next(value, line);
  }
  // More may be printed by a call that still runs.
  const rest = [...reader.end()];
  if (rest.length > 0 && !isLive(file, last.ts, notes)) yield* rest;
}

async function* apiMessages(
  session: string,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const repeats = new Repeats();
  for await (const { value, line } of readListedObjects(file.read(), file, notes)) {
    yield* apiParts(session, value, line, repeats, notes);
  }
}

/** The newer store: an object with the messages of one agent. */
async function* readNew(agent: AgentName, file: FoundFile, notes: ImportNotes) {
  for await (const { value } of readListedObjects(file.read(), file, notes)) {
    const messages = (Array.isArray(value.messages) ? value.messages : []).map(objectOf);
    const id = nameOf(value.sessionId) ?? basename(file.path).replace(/\.messages\.json$/, "");
    const isChild = value.agent !== "lead";
    const native = isChild ? `${id}.${basename(file.path).replace(/\.messages\.json$/, "")}` : id;
    const session = `${agent}:${native}`;
    const prompt = messages.flatMap(typedIn)[0];
    yield {
      id: session,
      agent,
      nativeId: native,
      ...given({
        title: titleOf(prompt ?? ""),
        parent: isChild ? ({ id: `${agent}:${id}`, relation: "subagent" } as const) : undefined,
        startedAt: timeOf(messages[0]?.ts),
        updatedAt: timeOf(messages.at(-1)?.ts),
      }),
      messages: newMessages(session, messages, isChild, notes),
    };
  }
}

async function* newMessages(
  session: string,
  messages: readonly Json[],
  isChild: boolean,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const repeats = new Repeats();
  for (const [index, message] of messages.entries()) {
    for (const part of apiParts(session, message, index + 1, repeats, notes)) {
      const isPrompt = part.origin.author === "user";
      yield isChild && isPrompt ? { ...part, origin: { ...part.origin, author: "model" } } : part;
    }
  }
}
