import { hash } from "node:crypto";
import { jsonText } from "../../core/json-values.ts";
import type { ImportedMessage, ImportFormat, ImportNotes } from "../imported.ts";
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
import { answer, call, importedSession, instruction, prompt, result, thinking } from "../parts.ts";
import { readListedObjects } from "../read-objects.ts";

/** Trajectories in the interchange format ATIF, which Harbor and others write: an object with a list of steps. */
export const atifFormat: ImportFormat = {
  agent: "atif",
  places: () => [],
  mayBe: (path) => /\.json$/.test(path),
  recognises: ({ listed, head }) => {
    if (listed) return textOf(listed.schema_version).startsWith("ATIF-v");
    return (
      /^\s*[[{]/.test(latin1.decode(head)) &&
      /"schema_version"\s*:\s*"ATIF-v/.test(latin1.decode(head))
    );
  },
  async *read(file, notes) {
    for await (const { value } of readListedObjects(file.read(), file, notes)) {
      const steps = listOf(value.steps).map(objectOf);
      if (!textOf(value.schema_version).startsWith("ATIF-v")) {
        notes.skip(file, undefined, "it is not a trajectory in ATIF");
        continue;
      }
      const first = steps.find(({ source }) => source === "user");
      const native =
        nameOf(value.session_id) ??
        nameOf(value.trajectory_id) ??
        hash("sha1", jsonText(steps[0])).slice(0, 20);
      const agent = objectOf(value.agent);
      yield importedSession("atif", native, messagesOf(native, steps, notes), {
        title: titleOf(contentText(first?.message)),
        model: nameOf(agent.model_name),
        startedAt: timeOf(steps[0]?.timestamp),
        updatedAt: timeOf(steps.at(-1)?.timestamp),
      });
    }
  },
};

const latin1 = new TextDecoder("latin1");

async function* messagesOf(
  session: string,
  steps: readonly Json[],
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  for (const [index, step] of steps.entries()) {
    const id = `atif:${session}:${typeof step.step_id === "number" ? step.step_id : (nameOf(step.step_id) ?? `at ${index + 1}`)}`;
    const time = timeOf(step.timestamp);
    const text = contentText(step.message);
    switch (step.source) {
      case "user":
        if (text !== "") yield prompt(id, text, { time });
        break;
      case "system":
        if (text !== "") yield instruction(id, text, { time });
        break;
      case "agent":
        yield* agentParts(id, step, text, time);
        break;
      default:
        notes.unknown(`source.${textOf(step.source) || "?"}`);
    }
  }
}

function* agentParts(
  id: string,
  step: Json,
  text: string,
  time: string | undefined,
): Generator<ImportedMessage> {
  const of = { time, group: id };
  const reasoning = textOf(step.reasoning_content);
  if (reasoning !== "") yield thinking(`${id}:reasoning`, reasoning, of);
  if (text !== "") yield answer(id, text, of);
  const calls = listOf(step.tool_calls).map(objectOf);
  const idOf = (one: Json, at: number) => nameOf(one.tool_call_id) ?? `${id}:${at}`;
  for (const [at, one] of calls.entries()) {
    const callId = idOf(one, at);
    yield call(
      `${id}:call:${at}`,
      { callId, name: textOf(one.function_name), args: one.arguments },
      of,
    );
  }
  const results = listOf(objectOf(step.observation).results).map(objectOf);
  for (const [at, one] of results.entries()) {
    const callId = nameOf(one.source_call_id) ?? (calls[at] && idOf(calls[at], at));
    const said = contentText(one.content);
    if (callId !== undefined) yield result(`${id}:result:${at}`, { callId, text: said }, of);
    else if (said !== "") yield instruction(`${id}:result:${at}`, said, { time });
  }
}
