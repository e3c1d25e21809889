import { hash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { isObject } from "../../core/fields.ts";
import { wordSet } from "../../text/word-set.ts";
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
  parsedJson,
  textOf,
  timeOf,
  titleOf,
} from "../json-fields.ts";
import {
  answer,
  call,
  callerOf,
  importedSession,
  type PartOf,
  prompt,
  Repeats,
  result,
  summary,
  thinking,
} from "../parts.ts";
import { readListedObjects, readObjects } from "../read-objects.ts";
import { apiParts, textId } from "./cline-api-parts.ts";
import { typedIn } from "./cline-typed-words.ts";
import { editorFolders } from "./vscode-folders.ts";

/**
 * The tasks of Cline and of the programs made of it, one folder a task:
 *
 *     tasks/<id>/ui_messages.json                  what the person saw, with times, and never cut
 *     tasks/<id>/api_conversation_history.json     what the model is sent
 *
 * The first is read. The second is read where the first is missing. Texts have the same ids in both.
 */
export const clineFormat = clineFamily("cline", "saoudrizwan.claude-dev", (head) => !isRoo(head));

/** Roo Code and what came of it. */
export const rooFormat = clineFamily("roo", "rooveterinaryinc.roo-cline", isRoo);

/** Kilo Code until it was made of opencode. A task that was copied elsewhere cannot be told from one of Roo Code. */
export const kiloTaskFormat = clineFamily("kilo", "kilocode.kilo-code", ({ path }) =>
  /kilo-?code/i.test(path),
);

const ROO = /roo-?(?:cline|code)|zoo-?code/i;

/** Marks that only Roo Code writes: the mode of a task as an element, and the protocol of a request. As JSON, a line ends with `\\n`. */
const ROO_WRITES = /# Current Mode\\n<slug>|\\"apiProtocol\\":/;

/** A task that was copied elsewhere has no folder of Roo's above it. */
function isRoo({ path, head }: Pick<FileHead, "path" | "head">): boolean {
  return ROO.test(path) || ROO_WRITES.test(new TextDecoder().decode(head));
}

const TASK_FILE = /(?:^|[/\\])(ui_messages|api_conversation_history|claude_messages)\.json$/;
const NEW_FILE = /(?:^|[/\\])[^/\\]+\.messages\.json$/;

function clineFamily(
  agent: AgentName,
  extension: string,
  isIts: (head: FileHead) => boolean,
): ImportFormat {
  return {
    agent,
    places: (machine) => placesOf(agent, extension, machine),
    mayBe: (path) => TASK_FILE.test(path) || NEW_FILE.test(path),
    recognises: (head) => kindOf(head) !== undefined && isIts(head),
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
    if (prompt?.trim()) break;
  }
  const folder = basename(dirname(file.path));
  // A folder of tasks names each after its time or by a UUID. Another folder says nothing.
  const isTask = /^\d{10,16}$|^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(folder);
  const id = isTask ? folder : hash("sha1", prompt ?? "").slice(0, 20);
  const messages = kind === "ui" ? uiMessages : apiMessages;
  const about = {
    title: titleOf(prompt ?? ""),
    startedAt: startedAt ?? (isTask ? timeOf(Number(folder)) : undefined),
    formerId: agent === "cline" ? undefined : `${agent === "roo" ? "cline" : "roo"}:${id}`,
  };
  return importedSession(agent, id, messages(`${agent}:${id}`, file, notes), about);
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
    const about = {
      title: titleOf(messages.flatMap(typedIn)[0] ?? ""),
      parent: callerOf(agent, isChild ? id : undefined),
      startedAt: timeOf(messages[0]?.ts),
      updatedAt: timeOf(messages.at(-1)?.ts),
    };
    const said = newMessages(`${agent}:${native}`, messages, notes);
    yield importedSession(agent, native, said, about);
  }
}

async function* newMessages(
  session: string,
  messages: readonly Json[],
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const repeats = new Repeats();
  for (const [index, message] of messages.entries()) {
    yield* apiParts(session, message, index + 1, repeats, notes);
  }
}

/** Reads the messages of `ui_messages.json` one after the other: `{ ts, type: "say"|"ask", say|ask, text }`. */
class UiReader {
  readonly #session: string;
  readonly #notes: ImportNotes;
  readonly #repeats = new Repeats();
  #hasPrompt = false;
  /** The call that runs, and what it printed so far. */
  #open: { readonly callId: string; texts: string[]; isError: boolean; of: PartOf } | undefined;
  #last = "";

  constructor(session: string, notes: ImportNotes) {
    this.#session = session;
    this.#notes = notes;
  }

  *next(value: Json, line: number): Generator<ImportedMessage> {
    const kind = textOf(value.say) || textOf(value.ask);
    const text = textOf(value.text);
    const of = { time: timeOf(value.ts), line };
    if (OUTPUTS.has(kind)) return void this.#open?.texts.push(text);
    if (SILENT.has(kind)) return;
    yield* this.end();
    yield* this.#parts(kind, text.trim() === "" ? "" : text, value, of);
  }

  /** The message that is still open when the file ends. */
  *end(): Generator<ImportedMessage> {
    const open = this.#open;
    this.#open = undefined;
    const text = open?.texts.filter(Boolean).join("\n") ?? "";
    if (!open || (text === "" && !open.isError)) return;
    const { callId, isError, of } = open;
    yield result(`${callId}:result`, { callId, text, isError }, of);
  }

  *#parts(kind: string, text: string, value: Json, of: PartOf): Generator<ImportedMessage> {
    const id = (what: string, said: string) => textId(this.#session, what, said, this.#repeats);
    switch (kind) {
      case "task":
      case "text":
        if (text === "") return;
        if (this.#hasPrompt) yield* this.#answer(text, of);
        else yield prompt(id("user", text), text.trim(), of);
        this.#hasPrompt = true;
        return;
      case "user_feedback":
        if (text !== "") yield prompt(id("user", text), text.trim(), of);
        this.#last = "";
        return;
      case "completion_result":
        yield* this.#answer(text.replace(/HAS_CHANGES$/, ""), of);
        return;
      case "followup":
      case "plan_mode_respond":
      case "act_mode_respond":
      case "condense":
        yield* this.#answer(shownIn(text), of);
        return;
      case "reasoning":
        if (text !== "") yield thinking(id("thinking", text), text, of);
        return;
      case "condense_context":
      case "summarize_task": {
        const { summary: said } = objectOf(value.contextCondense);
        if (nameOf(said)) yield summary(id("summary", textOf(said)), textOf(said), of);
        return;
      }
      case "tool":
      case "command":
      case "use_mcp_server":
      case "browser_action_launch":
      case "browser_action":
      case "use_subagents":
      case "newTask": {
        if (text === "") return;
        const callId = id("call", text);
        this.#open = { callId, texts: [], isError: false, of };
        this.#last = "";
        yield call(callId, { callId, ...callOf(kind, text) }, of);
        return;
      }
      default:
        this.#notes.unknown(`${textOf(value.type) || "?"}.${kind || "?"}`);
    }
  }

  /** A completion stands there as said, and as asked about. Behind a call, the same words are said again. */
  *#answer(text: string, of: PartOf): Generator<ImportedMessage> {
    if (text === "" || text === this.#last) return;
    this.#last = text;
    yield answer(textId(this.#session, "answer", text, this.#repeats), text.trim(), of);
  }
}

const OUTPUTS = wordSet(
  "command_output mcp_server_response browser_action_result subtask_result subagent codebase_search_result",
);

/** The program's notes to the person, and those that only it uses. */
const SILENT =
  wordSet(`api_req_started api_req_finished api_req_retried api_req_retry_delayed api_req_failed api_req_deleted api_req_rate_limit_wait
  deleted_api_reqs checkpoint_created checkpoint_saved shell_integration_warning shell_integration_warning_with_suggestion error
  error_retry diff_error mistake_limit_reached resume_task resume_completed_task user_feedback_diff load_mcp_documentation
  mcp_server_request_started mcp_notification clineignore_error rooignore_error info task_progress auto_approval_max_req_reached
  sliding_window_truncation condense_context_error user_edit_todos image hook_status hook_output hook_output_stream
  generate_explanation conditional_rules_applied command_permission_denied subagent_usage report_bug command_output_done
  too_many_tools_warning tool_error invalid_api_key history_imported`);

/** A question is JSON in a text: `{"question":"…","options":[…]}`. */
function shownIn(text: string): string {
  const { question, response, suggest } = objectOf(parsedJson(text));
  return textOf(question) || textOf(response) || (suggest === undefined ? text : "");
}

function callOf(kind: string, text: string): { readonly name: string; readonly args: unknown } {
  const parsed = parsedJson(text);
  if (!isObject(parsed))
    return { name: kind === "command" ? "execute_command" : kind, args: { command: text } };
  const { tool, ...args } = parsed;
  if (kind === "use_mcp_server") {
    const name = [parsed.serverName, parsed.toolName].map(textOf).filter(Boolean).join("__");
    return { name: name === "" ? kind : `mcp__${name}`, args: parsed.arguments ?? parsed };
  }
  return { name: nameOf(tool) ?? kind, args };
}
