import { jsonText } from "../../core/json-values.ts";
import { NO_PROMPT } from "../agents/claude-stream-format.ts";
import {
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
  printedOf,
} from "../imported.ts";
import { contentText, type Json, nameOf, objectOf, textOf, titleOf } from "../json-fields.ts";
import { answer, call, importedSession, result, thinking } from "../parts.ts";
import { noteNoSession, readRecords } from "../read-records.ts";

/** What `codex exec --json` prints: items, without the prompt and without times. */
export const codexExecFormat: ImportFormat = {
  agent: "codex",
  places: () => [],
  mayBe: (path) => /\.jsonl?$/.test(path),
  recognises: ({ first }) =>
    first !== undefined && first.type === "thread.started" && typeof first.thread_id === "string",
  async *read(file, notes) {
    let id: string | undefined;
    let title: string | undefined;
    for await (const { value } of readRecords(file)) {
      id ??= nameOf(value.thread_id);
      const { type, text } = objectOf(value.item);
      if (type === "agent_message") title ??= titleOf(textOf(text));
    }
    if (id === undefined) return await noteNoSession(file, notes);
    const thread = id;
    const messages = async function* (): AsyncGenerator<ImportedMessage> {
      notes.skip(file, undefined, NO_PROMPT);
      let run = 0;
      for await (const { value, line } of readRecords(file, notes)) {
        // The numbers of items begin again in each run.
        if (value.type === "thread.started") run += 1;
        if (value.type === "item.completed") {
          yield* itemParts(`codex:${thread}:exec:${run}`, objectOf(value.item), line, notes);
        } else if (!SILENT.test(textOf(value.type))) notes.unknown(textOf(value.type) || "?");
      }
    };
    yield printedOf(importedSession("codex", thread, messages(), { title }));
  },
};

const SILENT =
  /^(?:thread\.started|turn\.(?:started|completed|failed)|item\.(?:started|updated)|error)$/;

function isAnswer({ type, item_type }: Json): boolean {
  return /^(?:agent|assistant)_message$/.test(textOf(type ?? item_type));
}

function* itemParts(
  run: string,
  item: Json,
  line: number,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const id = `${run}:${nameOf(item.id) ?? line}`;
  const of = { line, group: run };
  const asked = function* (name: string, args: unknown, text: string, isError: boolean) {
    yield call(id, { callId: id, name, args }, of);
    yield result(`${id}:result`, { callId: id, text, isError }, of);
  };
  if (isAnswer(item)) {
    if (nameOf(item.text)) yield answer(id, textOf(item.text), of);
    return;
  }
  switch (item.type ?? item.item_type) {
    case "reasoning":
      if (nameOf(item.text)) yield thinking(id, textOf(item.text), of);
      return;
    case "command_execution": {
      const isError =
        item.status === "failed" || (typeof item.exit_code === "number" && item.exit_code !== 0);
      yield* asked("shell", { command: item.command }, textOf(item.aggregated_output), isError);
      return;
    }
    case "file_change":
      yield* asked(
        "apply_patch",
        { changes: item.changes },
        textOf(item.status),
        item.status === "failed",
      );
      return;
    case "mcp_tool_call":
    case "collab_tool_call": {
      const { server, tool, error } = item;
      const name = [server === undefined ? "" : `mcp__${textOf(server)}`, textOf(tool)]
        .filter(Boolean)
        .join("__");
      const failure = typeof error === "string" ? error : textOf(objectOf(error).message);
      yield* asked(
        name,
        item.arguments,
        failure || contentText(objectOf(item.result).content),
        failure !== "" || item.status === "failed",
      );
      return;
    }
    case "web_search":
      yield call(id, { callId: id, name: "web_search", args: { query: item.query } }, of);
      return;
    case "todo_list":
    case "error":
      return;
    default:
      notes.unknown(`item.${textOf(item.type) || jsonText(item.item_type)}`);
  }
}
