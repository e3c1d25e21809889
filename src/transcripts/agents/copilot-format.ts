import { basename, dirname, join } from "node:path";
import { given } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
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
import { answer, call, importedSession, prompt, result, summary, thinking } from "../parts.ts";
import { noteNoSession, readRecords } from "../read-records.ts";

/**
 * The sessions of GitHub Copilot's command line, and the transcripts that Copilot Chat writes in the same form: events, one a
 * line.
 *
 *     session-state/<id>/events.jsonl                             before that session-state/<id>.jsonl
 *     GitHub.copilot-chat/transcripts/<id>.jsonl                  Copilot Chat, of a chat that VS Code has whole
 *
 * `session.snapshot_rewind` takes back all events after the one that it names.
 */
export const copilotFormat: ImportFormat = {
  agent: "copilot",
  places: ({ env, home }) => [env.COPILOT_HOME || join(home, ".copilot")],
  mayBe: (path) =>
    /(?:^|\/)(?:session-state\/[^/]+(?:\/events)?|events|GitHub\.copilot-chat\/transcripts\/[^/]+)\.jsonl$/.test(
      path,
    ),
  recognises: ({ first }) =>
    first !== undefined &&
    /^(?:session|user|assistant|system)\.\w+$/.test(textOf(first.type)) &&
    "data" in first,
  async *read(file, notes) {
    const outline = await outlineOf(file);
    if (!outline) return await noteNoSession(file, notes);
    const { id, taken, isChat, ...about } = outline;
    notes.otherBranch(taken.size);
    const agent = isChat ? "copilot-chat" : "copilot";
    const session = importedSession(agent, id, messagesOf(id, file, taken, notes), about);
    yield isChat ? printedOf(session) : session;
  },
};

interface Outline
  extends Pick<
    ImportedSession,
    "id" | "title" | "project" | "branch" | "model" | "startedAt" | "updatedAt"
  > {
  /** Lines that were taken back. */
  readonly taken: ReadonlySet<number>;
  /** Whether VS Code has the chat, too. */
  readonly isChat: boolean;
}

async function outlineOf(file: FoundFile): Promise<Outline | undefined> {
  let start: Json = {};
  let context: Json = {};
  let title: string | undefined;
  let firstPrompt: string | undefined;
  let model: string | undefined;
  let startedAt: string | undefined;
  let updatedAt: string | undefined;
  const events: { readonly id: string; readonly line: number; readonly isSaid: boolean }[] = [];
  const taken = new Set<number>();
  let hasEvents = false;
  for await (const { value, line } of readRecords(file)) {
    const type = textOf(value.type);
    const data = objectOf(value.data);
    const time = timeOf(value.timestamp);
    hasEvents ||= "data" in value;
    startedAt ??= time;
    updatedAt = time ?? updatedAt;
    if (type === "session.start" && start.sessionId === undefined) start = data;
    // Earlier versions say later which folder it is.
    if (type === "session.context_changed" || type === "session.resume")
      context = { ...objectOf(data.context ?? data), ...context };
    if (type === "session.title_changed") title = nameOf(data.title) ?? title;
    if (type === "user.message" && isTyped(value)) firstPrompt ??= textOf(data.content);
    model ??= nameOf(data.selectedModel) ?? nameOf(data.newModel) ?? nameOf(data.model);
    if (type === "session.snapshot_rewind") {
      const to = events.findIndex(({ id }) => id !== "" && id === data.upToEventId);
      if (to >= 0)
        for (const event of events.splice(to + 1)) if (event.isSaid) taken.add(event.line);
    } else
      events.push({
        id: textOf(value.id),
        line,
        isSaid: /^(?:user|assistant)\.message$/.test(type),
      });
  }
  if (!hasEvents) return undefined;
  const { cwd, gitRoot, branch } = { ...context, ...objectOf(start.context) };
  const name = basename(file.path, ".jsonl");
  return {
    id: nameOf(start.sessionId) ?? (name === "events" ? basename(dirname(file.path)) : name),
    taken,
    isChat: start.vscodeVersion !== undefined || CHAT_TRANSCRIPT.test(file.path),
    ...given({
      title: title ?? titleOf(firstPrompt ?? ""),
      project: nameOf(cwd) ?? nameOf(gitRoot),
      branch: nameOf(branch),
      model,
      startedAt: timeOf(start.startTime) ?? startedAt,
      updatedAt,
    }),
  };
}

const CHAT_TRANSCRIPT = /GitHub\.copilot-chat[/\\]transcripts[/\\]/;

/** Skills, sub-agents, terminals and Copilot itself write user messages too. */
function isTyped({ data, agentId }: Json): boolean {
  const { source, isAutopilotContinuation, parentToolCallId, content } = objectOf(data);
  if (/^\[Terminal [0-9a-f-]{36} notification: /.test(contentText(content))) return false;
  const isPersons = source === undefined || source === null || source === "" || source === "user";
  return (
    isPersons &&
    isAutopilotContinuation !== true &&
    parentToolCallId === undefined &&
    agentId === undefined
  );
}

async function* messagesOf(
  session: string,
  file: FoundFile,
  taken: ReadonlySet<number>,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  for await (const { value, line } of readRecords(file, notes)) {
    if (taken.has(line)) continue;
    yield* partsOf(session, value, line, notes);
  }
}

function* partsOf(
  session: string,
  value: Json,
  line: number,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const data = objectOf(value.data);
  const id = `copilot:${session}:${nameOf(value.id) ?? line}`;
  const of = { time: timeOf(value.timestamp), line };
  // A sub-agent's talk stands between the parent's.
  const isSubagents = value.agentId !== undefined || data.parentToolCallId !== undefined;
  switch (value.type) {
    case "user.message": {
      const text = contentText(data.content);
      if (!isTyped(value)) notes.otherBranch(1);
      else if (text !== "") yield prompt(id, text, of);
      return;
    }
    case "assistant.message": {
      if (isSubagents) return notes.otherBranch(1);
      const group = `copilot:${session}:${nameOf(data.messageId) ?? value.id ?? line}`;
      const [reasoning, text] = [textOf(data.reasoningText), contentText(data.content)];
      if (reasoning !== "") yield thinking(`${id}:reasoning`, reasoning, { ...of, group });
      if (text !== "") yield answer(id, text, { ...of, group });
      for (const request of listOf(data.toolRequests).map(objectOf)) {
        const callId = textOf(request.toolCallId);
        const asked = { callId, name: textOf(request.name), args: request.arguments };
        yield call(`copilot:${session}:call:${callId}`, asked, { ...of, group });
      }
      return;
    }
    case "tool.execution_complete": {
      if (isSubagents) return;
      const callId = textOf(data.toolCallId);
      const isError = data.success === false;
      const said = objectOf(isError ? (data.error ?? data.result) : data.result);
      const text = contentText(said.content) || contentText(said.message);
      yield result(
        `copilot:${session}:result:${callId}`,
        { callId, text, isError },
        { ...of, group: `results:${session}` },
      );
      return;
    }
    case "session.compaction_complete":
      if (nameOf(data.summaryContent)) yield summary(id, textOf(data.summaryContent), of);
      return;
    default:
      if (!SILENT.test(textOf(value.type))) notes.unknown(textOf(value.type) || "?");
  }
}

/** Events about the program, or about what other events say in full. */
const SILENT =
  /^(?:session\.|system\.|skill\.|hook\.|subagent\.|tool\.|assistant\.|user_input\.|permission\.|command\.|elicitation\.|external_tool\.|mcp\.|sampling\.|exit_plan_mode\.|auto_mode_switch\.|capabilities\.|abort$|pending_messages\.|model\.)/;
