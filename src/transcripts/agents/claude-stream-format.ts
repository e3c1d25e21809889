import { wordSet } from "../../text/word-set.ts";
import { messageParts } from "../claude-code/claude-code-message-parts.ts";
import type { FoundFile } from "../found-file.ts";
import {
  type AgentName,
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
  printedOf,
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
import { answer as answerPart, importedSession } from "../parts.ts";
import { readObjects } from "../read-objects.ts";
import { noteNoSession } from "../read-records.ts";

/**
 * What `claude -p --output-format stream-json` prints, or with `--output-format json`: the same as a list, or only its result.
 * Without `--replay-user-messages` the prompt is not in it, which is reported. cursor-agent prints nearly the same, with the
 * prompt.
 */
export const claudeStreamFormat: ImportFormat = {
  agent: "claude-code",
  places: () => [],
  mayBe: (path) => /\.jsonl?$/.test(path),
  recognises: ({ listed: first }) =>
    first !== undefined &&
    typeof first.session_id === "string" &&
    TYPES.has(textOf(first.type)) &&
    !("sessionId" in first) &&
    !("data" in first),
  async *read(file, notes) {
    const outline = await outlineOf(file);
    if (!outline) return await noteNoSession(file, notes);
    const { id, agent, project, model, title, answer } = outline;
    const messages = messagesOf(file, notes, title !== undefined);
    const about = { title: title ?? answer, project, model };
    yield printedOf(importedSession(agent, id, messages, about));
  },
};

/** The report about a stream that has only the answers. */
export const NO_PROMPT = "the prompt is not in this stream, so only the answers are imported";

const TYPES = wordSet(
  "system assistant user result stream_event rate_limit_event tool_progress tool_use_summary auth_status control_request control_response keep_alive prompt_suggestion",
);

async function outlineOf(file: FoundFile) {
  let id: string | undefined;
  let agent: AgentName = "claude-code";
  let project: string | undefined;
  let model: string | undefined;
  let title: string | undefined;
  let answer: string | undefined;
  for await (const { value } of readObjects(file)) {
    id ??= nameOf(value.session_id);
    if (value.type === "system" && value.subtype === "init") {
      project ??= nameOf(value.cwd);
      model ??= nameOf(value.model);
      if (/^(?:login|env|flag)$/.test(textOf(value.apiKeySource))) agent = "cursor";
    }
    const { content } = objectOf(value.message);
    const texts = listOf(content).filter((block) => objectOf(block).type === "text");
    const text = typeof content === "string" ? content : contentText(texts);
    if (value.type === "user" && isTyped(value)) title ??= titleOf(text);
    if (value.type === "assistant" && nameOf(value.parent_tool_use_id) === undefined)
      answer ??= titleOf(text);
    answer ??= titleOf(resultIn(value));
  }
  return id === undefined ? undefined : { id, agent, project, model, title, answer };
}

/** The last answer once more, or the only one. */
function resultIn({ type, result, is_error }: Json): string {
  return type === "result" && is_error !== true ? textOf(result).trim() : "";
}

function isTyped({ parent_tool_use_id, isSynthetic, message, origin }: Json): boolean {
  const { kind } = objectOf(origin);
  const hasResult = listOf(objectOf(message).content).some(
    (block) => objectOf(block).type === "tool_result",
  );
  const isPersons = kind === undefined || kind === "human";
  return (
    nameOf(parent_tool_use_id) === undefined && isSynthetic !== true && !hasResult && isPersons
  );
}

async function* messagesOf(
  file: FoundFile,
  notes: ImportNotes,
  hasPrompt: boolean,
): AsyncGenerator<ImportedMessage> {
  if (!hasPrompt) notes.skip(file, undefined, NO_PROMPT);
  const blocks = new Map<string, number>();
  let isAnswered = false;
  for await (const { value, line } of readObjects(file, notes)) {
    const type = textOf(value.type);
    if (!TYPES.has(type)) notes.unknown(type || "?");
    const result = isAnswered ? "" : resultIn(value);
    if (result !== "") {
      const id = nameOf(value.uuid) ?? textOf(value.session_id);
      yield answerPart(`claude:${id}:result`, result, { line });
    }
    if (type !== "assistant" && type !== "user") continue;
    if (nameOf(value.parent_tool_use_id) !== undefined) {
      notes.otherBranch(1);
      continue;
    }
    const { content } = objectOf(value.message);
    const hasResult = listOf(content).some((block) => objectOf(block).type === "tool_result");
    if (type === "user" && !hasResult && !isTyped(value)) continue;
    const answer = type === "assistant" ? nameOf(objectOf(value.message).id) : undefined;
    const ordinal = answer === undefined ? 0 : (blocks.get(answer) ?? 0);
    if (answer !== undefined) blocks.set(answer, ordinal + 1);
    isAnswered ||= type === "assistant";
    const place = { answer, ordinal, isOpen: false, answeredBy: undefined };
    const uuid = nameOf(value.uuid) ?? `${textOf(value.session_id)}:${line}`;
    const stamped = { ...value, uuid, timestamp: timeOf(value.timestamp ?? value.timestamp_ms) };
    yield* messageParts({ value: stamped, line, place }, notes);
  }
}
