import type { ImportedMessage, ImportNotes } from "../imported.ts";
import { contentText, type Json, listOf, nameOf, objectOf, textOf } from "../json-fields.ts";
import { answer, call, prompt, result, summary, thinking } from "./parts.ts";

/** Whether a person wrote it. */
export function isTypedEvent(event: Json): boolean {
  if (event.source !== "user") return false;
  return event.kind === "MessageEvent" || event.action === "message";
}

/** The messages of an event, of version 1 (by `kind`) or 0 (by `action` and `observation`). */
export function* eventParts(
  session: string,
  event: Json,
  index: number,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const own = typeof event.id === "number" ? `${event.id}` : (nameOf(event.id) ?? `at ${index}`);
  const id = `${session}:${own}`;
  if (typeof event.kind === "string") yield* newParts(id, session, event, time, notes);
  else yield* oldParts(id, session, event, time, notes);
}

function* newParts(
  id: string,
  session: string,
  event: Json,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const callId = textOf(event.tool_call_id) || id;
  const results = { time, group: `${session}:results:${textOf(event.action_id) || id}` };
  switch (event.kind) {
    case "MessageEvent": {
      const text = contentText(objectOf(event.llm_message).content);
      if (text === "") return;
      if (event.source === "user") yield prompt(id, text, { time });
      else yield answer(id, text, { time, group: id });
      return;
    }
    case "ActionEvent": {
      const of = { time, group: `${session}:${nameOf(event.llm_response_id) ?? id}` };
      const [thought, reasoning] = [contentText(event.thought), textOf(event.reasoning_content)];
      if (reasoning !== "") yield thinking(`${id}:reasoning`, reasoning, of);
      if (thought !== "") yield answer(`${id}:thought`, thought, of);
      const action = objectOf(event.action);
      const name = textOf(event.tool_name);
      if (action.kind === "FinishAction" || name === "finish") {
        const said = textOf(action.message);
        if (said !== "") yield answer(id, said, of);
        return;
      }
      const { arguments: args } = objectOf(objectOf(event.tool_call).function ?? event.tool_call);
      const { kind: _, ...given } = action;
      yield call(id, { callId, name, args: Object.keys(given).length > 0 ? given : args }, of);
      return;
    }
    case "ObservationEvent": {
      const { content, is_error, output, kind } = objectOf(event.observation);
      if (kind === "FinishObservation" || event.tool_name === "finish") return;
      const text = contentText(content) || textOf(output);
      yield result(id, { callId, text, isError: is_error === true }, results);
      return;
    }
    case "UserRejectObservation": {
      const reason = nameOf(event.rejection_reason);
      const text = `The user rejected permission to use this tool${reason === undefined ? "." : ` with the following feedback: ${reason}`}`;
      yield result(id, { callId, text, isError: true }, results);
      return;
    }
    case "AgentErrorEvent":
      yield result(id, { callId, text: textOf(event.error), isError: true }, results);
      return;
    case "Condensation":
    case "CondensationSummaryEvent":
      if (nameOf(event.summary)) yield summary(id, textOf(event.summary), { time });
      return;
    default:
      if (!SILENT_KINDS.has(textOf(event.kind))) notes.unknown(textOf(event.kind));
  }
}

const SILENT_KINDS = new Set(
  `SystemPromptEvent PauseEvent ConversationStateUpdateEvent CondensationRequest TokenEvent ConversationErrorEvent
  LLMCompletionLogEvent InterruptEvent StreamingDeltaEvent HookExecutionEvent ACPToolCallEvent`.split(
    /\s+/,
  ),
);

function* oldParts(
  id: string,
  session: string,
  event: Json,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const { action, observation, source } = event;
  const args = objectOf(event.args);
  if (typeof action === "string") {
    const thought = textOf(args.thought);
    const of = { time, group: id };
    if (action === "message") {
      const text = textOf(args.content) || textOf(event.message);
      if (text === "") return;
      if (source === "user") yield prompt(id, text, { time });
      else yield answer(id, text, of);
    } else if (action === "finish" || action === "reject") {
      const text =
        textOf(args.final_thought) ||
        thought ||
        textOf(objectOf(args.outputs).content) ||
        textOf(event.message);
      if (text !== "") yield answer(id, text, of);
    } else if (action === "think") {
      if (thought !== "") yield thinking(id, thought, of);
    } else if (!SILENT_ACTIONS.has(action) && source === "agent") {
      if (thought !== "") yield answer(`${id}:thought`, thought, of);
      const { thought: _, ...given } = args;
      yield call(id, { callId: id, name: action, args: given }, of);
    } else if (!SILENT_ACTIONS.has(action) && !USERS_ACTIONS.has(action))
      notes.unknown(`action.${action}`);
  } else if (typeof observation === "string") {
    if (SILENT_OBSERVATIONS.has(observation) || typeof event.cause !== "number" || event.cause < 0)
      return;
    if (observation === "user_rejected") {
      const text = "The user rejected permission to use this tool.";
      yield result(
        id,
        { callId: `${session}:${event.cause}`, text, isError: true },
        { time, group: id },
      );
      return;
    }
    const code =
      objectOf(objectOf(event.extras).metadata).exit_code ?? objectOf(event.extras).exit_code;
    const isError = observation === "error" || (typeof code === "number" && code > 0);
    yield result(
      id,
      { callId: `${session}:${event.cause}`, text: textOf(event.content), isError },
      { time, group: id },
    );
  } else if (listOf(Object.keys(event)).length > 0)
    notes.unknown("an event without action and observation");
}

const SILENT_ACTIONS = new Set(
  "system null change_agent_state start pause resume stop recall condensation condensation_request task_tracking".split(
    " ",
  ),
);
/** Actions of a person beside the conversation. */
const USERS_ACTIONS = new Set(
  "run read write edit browse browse_interactive run_ipython".split(" "),
);
const SILENT_OBSERVATIONS = new Set(
  "null agent_state_changed recall think agent_condensation success task_tracking".split(" "),
);
