import type { AssistantBlock, ContentBlock, Message } from "../../src/core/message.ts";
import { isObject, type Json, listOf } from "../support/provider-server/reply.ts";

/** The messages of a request to OpenAI's chat completions or responses, or to Anthropic's messages. */
export function sentMessages({ system, instructions, messages, input }: Json): Message[] {
  const prompt = textOf(system ?? instructions);
  const said = (messages ? listOf(messages) : listOf(input)).flatMap(readItem);
  return [
    ...(prompt === "" ? [] : [{ role: "system" as const, content: prompt }]),
    ...joined(said),
  ];
}

function readItem(item: Json): Message[] {
  const { type = "message", role, content } = item;
  if (type === "reasoning") return [answer([reasoning(item.summary)])];
  if (type === "function_call") return [answer([call(item.call_id, item.name, item.arguments)])];
  if (type === "function_call_output") return [result(item.call_id, item.output)];
  if (role === "tool") return [result(item.tool_call_id, content)];
  if (role === "assistant") return [answer([...blocksOf(content), ...callsOf(item)])];
  if (role !== "user") return [{ role: "system", content: textOf(content) }];
  // Anthropic has the results of tools in user messages, and what users say in a row in one.
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  const said: Message[] = [];
  for (const part of parts) {
    if (part.type === "tool_result") said.push(result(part.tool_use_id, part.content));
    else if (isText(part)) said.push({ role: "user", content: textOf([part]) });
    else said.push(withPicture(said.pop(), part));
  }
  return said;
}

/** Pieces of one answer, and results in a row, as one message each. */
function joined(pieces: readonly Message[]): Message[] {
  const messages: Message[] = [];
  for (const piece of pieces) {
    const last = messages.at(-1);
    if (last?.role === "tool_results" && piece.role === "tool_results") {
      messages[messages.length - 1] = { ...last, results: [...last.results, ...piece.results] };
    } else if (last?.role === "block_assistant" && piece.role === "block_assistant") {
      messages[messages.length - 1] = { ...last, blocks: [...last.blocks, ...piece.blocks] };
    } else messages.push(piece);
  }
  return messages;
}

function answer(blocks: readonly AssistantBlock[]): Message {
  return { role: "block_assistant", blocks, stop_reason: "end_turn" };
}

function blocksOf(content: unknown): readonly AssistantBlock[] {
  if (typeof content === "string") return content === "" ? [] : [text(content)];
  return listOf(content).flatMap((part) => {
    if (part.type === "thinking") return [reasoning(part.thinking)];
    if (part.type === "tool_use") return [call(part.id, part.name, part.input)];
    return [text(textOf([part]))];
  });
}

function callsOf({ tool_calls }: Json): readonly AssistantBlock[] {
  return listOf(tool_calls).map(({ id, function: called }) => {
    const { name, arguments: args } = isObject(called) ? called : {};
    return call(id, name, args);
  });
}

function text(said: string): AssistantBlock {
  return { block_type: "text", data: { text: said } };
}

function reasoning(thought: unknown): AssistantBlock {
  return { block_type: "reasoning", data: { text: textOf(thought) } };
}

function call(id: unknown, name: unknown, given: unknown): AssistantBlock {
  const args = typeof given === "string" ? JSON.parse(given || "{}") : given;
  return { block_type: "tool_use", data: { id: String(id), name: String(name), args } };
}

function result(id: unknown, output: unknown): Message {
  const one = { tool_use_id: String(id), content: textOf(output), is_error: false };
  return { role: "tool_results", results: [one] };
}

/** The picture in each protocol is base64, with the address of a data URL before it or without. */
function withPicture(message: Message | undefined, { image_url: url, source }: Json): Message {
  const { data = isObject(url) ? url.url : url } = isObject(source) ? source : {};
  const base64 = String(data).replace(/^data:.*,/, "");
  const picture: ContentBlock = { type: "image", media_type: "image/png", data: base64 };
  if (message?.role !== "user") return { role: "user", content: [picture] };
  const { content } = message;
  const parts: readonly ContentBlock[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return { role: "user", content: [...parts, picture] };
}

function isText({ type }: Json): boolean {
  return type === "text" || type === "input_text";
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => String(part.text ?? ""))
    .join("\n");
}
