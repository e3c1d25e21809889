import { hash } from "node:crypto";
import { jsonText } from "../../core/json-values.ts";
import { type ImportedMessage, type ImportFormat, type ImportNotes, isLive } from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  titleOf,
} from "../json-fields.ts";
import { answer, call, importedSession, instruction, prompt, result, thinking } from "../parts.ts";
import { readListedObjects } from "../read-objects.ts";

/**
 * The trajectories of SWE-agent. `history` has what the model was sent: the demonstrations, which are left out, the first user
 * message with the issue, and then answers and observations. `trajectory` has the steps, of which some versions leave the last one
 * out of `history`. mini-swe-agent has the same in `messages`. They have no times.
 */
export const sweAgentFormat: ImportFormat = {
  agent: "swe-agent",
  places: () => [],
  mayBe: (path) => /\.traj(?:\.json)?$|\.json$/.test(path),
  recognises: ({ listed, head, path }) => {
    if (listed && isMini(listed)) return true;
    if (listed)
      return (
        Array.isArray(listed.history) && (/\.traj$/.test(path) || Array.isArray(listed.trajectory))
      );
    const text = latin1.decode(head);
    if (/\.traj\.json$/.test(path) && /^\s*\{\s*"info"\s*:/.test(text)) return true;
    return /\.traj$/.test(path) && /^\s*\{/.test(text) && /"trajectory"\s*:\s*\[/.test(text);
  },
  async *read(file, notes) {
    for await (const { value } of readListedObjects(file.read(), file, notes)) {
      const list = isMini(value) ? value.messages : value.history;
      const history = listOf(list).map(objectOf);
      if (!Array.isArray(list)) {
        notes.skip(file, undefined, "it is not a trajectory of SWE-agent");
        continue;
      }
      const shown = history.filter(({ is_demo }) => is_demo !== true);
      const demos = history.length - shown.length;
      if (demos > 0) notes.otherBranch(demos);
      // Its id is made of the first answer, too.
      const isBegun = shown.some(({ role }) => role === "assistant");
      if (!isBegun && isLive(file, Date.now(), notes)) continue;
      // While it is written, the history may only be behind.
      const behind = stepsBehind(history, value);
      const rest = behind.length > 0 && isLive(file, Date.now(), notes) ? [] : behind;
      const first = shown.find(({ role }) => role === "user");
      // Other runs have the same task.
      const run = ["system", "user", "assistant"].map((one) =>
        contentText(shown.find(({ role }) => role === one)?.content),
      );
      // An answer may be only a call.
      const called = shown.find(({ role }) => role === "assistant")?.tool_calls;
      const mini = isMini(value) ? [value.instance_id, called] : [];
      const native = hashOf([value.environment, value.replay_config, run, ...mini]);
      yield importedSession("swe-agent", native, messagesOf(native, [...shown, ...rest], notes), {
        title: titleOf(issueIn(contentText(first?.content))),
      });
    }
  },
};

function isMini({ trajectory_format, messages }: Json): boolean {
  return textOf(trajectory_format).startsWith("mini-swe-agent") && Array.isArray(messages);
}

/** The answer of the last step, where the history ends before it. */
function stepsBehind(history: readonly Json[], { trajectory }: Json): readonly Json[] {
  const { response, action } = objectOf(listOf(trajectory).at(-1));
  const content = textOf(response);
  const isThere = history.some(
    (message) =>
      message.role === "assistant" && contentText(message.content).trim() === content.trim(),
  );
  return content.trim() === "" || isThere ? [] : [{ role: "assistant", content, action }];
}

function hashOf(value: unknown): string {
  return hash("sha1", jsonText(value)).slice(0, 20);
}

const latin1 = new TextDecoder("latin1");

/** The template puts its own words before the issue. */
function issueIn(text: string): string {
  for (const tag of ["pr_description", "issue"]) {
    const start = text.indexOf(`<${tag}>`);
    const end = start < 0 ? -1 : text.indexOf(`</${tag}>`, start);
    if (end >= 0) {
      const inside = text.slice(start + tag.length + 2, end).trim();
      return inside.replace(/^Consider the following PR description:\s*/, "");
    }
  }
  const at = /\b(?:ISSUE|issue):[ \t]*\n/.exec(text);
  return at ? text.slice(at.index + at[0].length) : text;
}

async function* messagesOf(
  session: string,
  history: readonly Json[],
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const hasToolRole = history.some(({ role }) => role === "tool");
  let hasPrompt = false;
  let lastCall: string | undefined;
  for (const [index, message] of history.entries()) {
    const text = contentText(message.content);
    const id = `swe-agent:${session}:${index}:${hashOf(text)}`;
    switch (message.role) {
      case "system":
        if (text !== "") yield instruction(id, text, {});
        break;
      case "user":
        if (text === "") break;
        if (!hasPrompt) yield prompt(id, text, {});
        // Without native calls an observation is a user message.
        else if (!hasToolRole && lastCall !== undefined)
          yield result(id, { callId: lastCall, text }, { group: id });
        else yield instruction(id, text, {});
        hasPrompt = true;
        break;
      case "assistant": {
        const parts = [...answerParts(id, message, text)];
        lastCall = parts.map(callIn).findLast((one) => one !== undefined);
        yield* parts;
        break;
      }
      case "tool": {
        const [own] = listOf(message.tool_call_ids);
        const callId = nameOf(own) ?? nameOf(message.tool_call_id) ?? lastCall;
        if (callId !== undefined) yield result(id, { callId, text }, { group: id });
        break;
      }
      // The change that was handed in.
      case "exit":
        break;
      default:
        notes.unknown(`role.${textOf(message.role) || "?"}`);
    }
  }
}

function callIn({ message }: ImportedMessage): string | undefined {
  if (message.role !== "block_assistant") return undefined;
  const [block] = message.blocks;
  return block?.block_type === "tool_use" ? block.data.id : undefined;
}

function* answerParts(id: string, message: Json, text: string): Generator<ImportedMessage> {
  const of = { group: id };
  const thoughts = listOf(message.thinking_blocks)
    .map((block) => textOf(objectOf(block).thinking))
    .join("\n");
  if (thoughts !== "") yield thinking(`${id}:thinking`, thoughts, of);
  if (text !== "") yield answer(id, text, of);
  const calls = listOf(message.tool_calls).map(objectOf);
  for (const [at, one] of calls.entries()) {
    const { name, arguments: args } = objectOf(one.function);
    yield call(
      `${id}:call:${at}`,
      { callId: nameOf(one.id) ?? `${id}:call:${at}`, name: textOf(name), args },
      of,
    );
  }
  const action = nameOf(message.action)?.trim();
  if (calls.length === 0 && action) {
    yield call(
      `${id}:call`,
      { callId: `${id}:call`, name: "shell", args: { command: action } },
      of,
    );
  }
}
