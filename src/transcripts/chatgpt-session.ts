import { isObject } from "../core/fields.ts";
import {
  branchTo,
  type ImportedMessage,
  type ImportedSession,
  type ImportNotes,
} from "./imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  parsedJson,
  textOf,
  timeOf,
  titleOf,
} from "./json-fields.ts";
import { answer, call, importedSession, instruction, prompt, result, thinking } from "./parts.ts";

/**
 * A conversation of a ChatGPT export, the branch that the user saw last:
 *
 *     mapping: { node: { parent, message } }       current_node ► parent ► … ► root
 *
 * `children` is not used: it is missing or wrong in some exports.
 */
export function chatgptSession(
  conversation: Json,
  notes: ImportNotes,
): ImportedSession | undefined {
  const id = nameOf(conversation.conversation_id) ?? nameOf(conversation.id);
  if (id === undefined) return undefined;
  const nodes = new Map(Object.entries(objectOf(conversation.mapping)).filter(hasObject));
  const leaf = leafOf(conversation, nodes);
  const branch = leaf === undefined ? [] : branchTo(leaf, (node) => parentOf(nodes, node));
  const shown = branch.flatMap((node) => {
    const message = messageIn(nodes.get(node));
    return message ? [{ ...message, id: nameOf(message.id) ?? node }] : [];
  });
  notes.otherBranch(countShown(nodes) - shown.length);
  const model = nameOf(conversation.default_model_slug) ?? modelOf(shown);
  const startedAt = timeOf(conversation.create_time);
  return importedSession("chatgpt", id, messagesOf(id, shown, startedAt, notes), {
    title: nameOf(conversation.title) ?? promptIn(shown),
    model,
    startedAt,
    updatedAt: timeOf(conversation.update_time),
  });
}

type Nodes = ReadonlyMap<string, Json>;

function hasObject(entry: [string, unknown]): entry is [string, Json] {
  return isObject(entry[1]);
}

function parentOf(nodes: Nodes, node: string): string | undefined {
  const parent = nameOf(nodes.get(node)?.parent);
  return parent !== undefined && nodes.has(parent) ? parent : undefined;
}

/** Without a current node it is the newest one that has no other after it. */
function leafOf({ current_node }: Json, nodes: Nodes): string | undefined {
  const current = nameOf(current_node);
  if (current !== undefined && nodes.has(current)) return current;
  const parents = new Set([...nodes.values()].map(({ parent }) => parent));
  let newest: { readonly id: string; readonly time: number } | undefined;
  for (const [id, node] of nodes) {
    if (parents.has(id)) continue;
    const created = objectOf(node.message).create_time;
    const time = typeof created === "number" ? created : 0;
    if (!newest || time >= newest.time) newest = { id, time };
  }
  return newest?.id;
}

/** The message of a node, unless ChatGPT did not show it. */
function messageIn(node: Json | undefined): Json | undefined {
  const message = node?.message;
  if (!isObject(message) || message.weight === 0) return undefined;
  const { is_visually_hidden_from_conversation, is_user_system_message } = objectOf(
    message.metadata,
  );
  return is_visually_hidden_from_conversation === true || is_user_system_message === true
    ? undefined
    : message;
}

function countShown(nodes: Nodes): number {
  return [...nodes.values()].filter((node) => messageIn(node) !== undefined).length;
}

/** How the first prompt begins, for a conversation without a title. */
function promptIn(shown: readonly Json[]): string | undefined {
  const prompt = shown.find(({ author }) => objectOf(author).role === "user");
  const said = listOf(objectOf(prompt?.content).parts).filter(
    (part) => typeof part === "string" || typeof objectOf(part).text === "string",
  );
  return titleOf(contentText(said));
}

function modelOf(shown: readonly Json[]): string | undefined {
  const models = shown.map(({ metadata }) => nameOf(objectOf(metadata).model_slug));
  return models.findLast((model) => model !== undefined);
}

async function* messagesOf(
  session: string,
  shown: readonly (Json & { readonly id: string })[],
  startedAt: string | undefined,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  let time = startedAt;
  /** Calls without a result yet, by the tool. */
  let open: { readonly id: string; readonly tool: string }[] = [];
  for (const record of shown) {
    const { id } = record;
    time = timeOf(record.create_time) ?? time;
    const { role, name } = objectOf(record.author);
    const text = textIn(record, notes);
    const place = `chatgpt:${session}:${id}`;
    if (text === undefined || text === "") continue;
    switch (role) {
      case "user":
        open = [];
        yield prompt(place, text, { time });
        break;
      case "system":
        yield instruction(place, text, { time });
        break;
      case "assistant": {
        const tool = nameOf(record.recipient) ?? "all";
        if (isThinking(record)) yield thinking(place, text, { time });
        else if (tool === "all") {
          const shown = withoutCitations(text);
          if (shown !== "") yield answer(place, shown, { time });
        } else {
          open.push({ id, tool });
          yield call(place, { callId: id, name: tool, args: argumentsIn(text) }, { time });
        }
        break;
      }
      case "tool": {
        const tool = nameOf(name) ?? "tool";
        const at = open.findIndex((one) => sameTool(one.tool, tool));
        const [asked] = at < 0 ? [] : open.splice(at, 1);
        // ChatGPT hides some calls. A result needs one.
        if (!asked) yield call(`${place}:call`, { callId: id, name: tool, args: {} }, { time });
        const isError = objectOf(record.content).content_type === ERROR;
        yield result(place, { callId: asked?.id ?? id, text, isError }, { time });
        break;
      }
      default:
        notes.unknown(`role ${textOf(role)}`);
    }
  }
}

const ERROR = "system_error";

function isThinking({ content }: Json): boolean {
  const type = objectOf(content).content_type;
  return type === "thoughts" || type === "reasoning_recap";
}

/** `browser` answers a call of `browser.search`. */
function sameTool(called: string, answered: string): boolean {
  return called.split(".", 1)[0] === answered.split(".", 1)[0];
}

function argumentsIn(text: string): unknown {
  return text.trimStart().startsWith("{") ? text : { input: text };
}

/** Marks between characters of private use, which ChatGPT shows as links, and `【4†source】` of earlier versions. */
const CITATION =
  / ?\ue200(\w{1,40})\ue202?([^\ue200\ue201]{0,4000})\ue201| ?【\d{1,6}(?::\d{1,6})?†[^】\n]{0,200}】/g;

/** The text without the marks of its sources. The name of an entity stays. */
function withoutCitations(text: string): string {
  return text.replace(CITATION, (mark: string, kind?: string, inside = "") => {
    if (kind !== "entity") return "";
    const name = listOf(parsedJson(inside))[1];
    return typeof name === "string" ? `${mark.startsWith(" ") ? " " : ""}${name}` : "";
  });
}

/** Undefined for parts that are no text of the conversation. */
function textIn({ content, metadata }: Json, notes: ImportNotes): string | undefined {
  const { content_type, ...fields } = objectOf(content);
  switch (content_type) {
    case "text":
    case "multimodal_text":
      return [contentText(fields.parts), ...attachmentNames(metadata)].filter(Boolean).join("\n");
    case "code":
    case "execution_output":
      return textOf(fields.text);
    case "thoughts":
      return listOf(fields.thoughts)
        .map((thought) => {
          const { summary, content: whole } = objectOf(thought);
          return [textOf(summary), textOf(whole)].filter(Boolean).join("\n");
        })
        .join("\n");
    case "reasoning_recap":
      return textOf(fields.content);
    case "tether_quote":
      return [fields.title, fields.url, fields.text].map(textOf).filter(Boolean).join("\n");
    case "tether_browsing_display":
      return [fields.summary, fields.result].map(textOf).filter(Boolean).join("\n");
    case ERROR:
      return [fields.name, fields.text].map(textOf).filter(Boolean).join(": ");
    case "computer_output":
      return "[screenshot]";
    // The user's settings for all conversations, and ChatGPT's memories: no part of this one.
    case "user_editable_context":
    case "model_editable_context":
      return undefined;
    default:
      notes.unknown(`content ${textOf(content_type) || "?"}`);
      return undefined;
  }
}

function attachmentNames(metadata: unknown): readonly string[] {
  return listOf(objectOf(metadata).attachments).flatMap((attachment) => {
    const { name, mime_type } = objectOf(attachment);
    const isImage = textOf(mime_type).startsWith("image/");
    return nameOf(name) === undefined || isImage ? [] : [`[file: ${name}]`];
  });
}
