import { isObject } from "../../core/fields.ts";
import type { ImportedMessage, ImportNotes } from "../imported.ts";
import { type Json, nameOf, objectOf, parsedJson, textOf, timeOf } from "../json-fields.ts";
import { textId } from "./cline-api-parts.ts";
import { answer, call, type PartOf, prompt, Repeats, result, summary, thinking } from "./parts.ts";

/** Reads the messages of `ui_messages.json` one after the other: `{ ts, type: "say"|"ask", say|ask, text }`. */
export class UiReader {
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
    yield* this.#parts(kind, text, value, of);
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
        yield call(callId, { callId, ...callOf(kind, text) }, of);
        return;
      }
      default:
        this.#notes.unknown(`${textOf(value.type) || "?"}.${kind || "?"}`);
    }
  }

  /** A completion stands there as said, and as asked about. */
  *#answer(text: string, of: PartOf): Generator<ImportedMessage> {
    if (text === "" || text === this.#last) return;
    this.#last = text;
    yield answer(textId(this.#session, "answer", text, this.#repeats), text.trim(), of);
  }
}

const OUTPUTS = new Set(
  "command_output mcp_server_response browser_action_result subtask_result subagent codebase_search_result".split(
    " ",
  ),
);

/** The program's notes to the person, and those that only it uses. */
const SILENT = new Set(
  `api_req_started api_req_finished api_req_retried api_req_retry_delayed api_req_failed api_req_deleted api_req_rate_limit_wait
  deleted_api_reqs checkpoint_created checkpoint_saved shell_integration_warning shell_integration_warning_with_suggestion error
  error_retry diff_error mistake_limit_reached resume_task resume_completed_task user_feedback_diff load_mcp_documentation
  mcp_server_request_started mcp_notification clineignore_error rooignore_error info task_progress auto_approval_max_req_reached
  sliding_window_truncation condense_context_error user_edit_todos image hook_status hook_output hook_output_stream
  generate_explanation conditional_rules_applied command_permission_denied subagent_usage report_bug command_output_done
  too_many_tools_warning tool_error invalid_api_key history_imported`.split(/\s+/),
);

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
