import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import { providerSchema } from "../../core/provider-schema.ts";

/** Marks a tool that can be called as a task only. */
export const AS_TASK = "rkat/as-task";

/**
 * Mends a server's answer so that its client takes it: a tool or a block that is not as the protocol says costs only itself.
 * Blocks become their text. Media leave their type.
 */
export function mendedAnswer(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message)) return message;
  const { tools, content, structuredContent, isError } = message.result;
  if (Array.isArray(tools)) {
    return { ...message, result: { ...message.result, tools: tools.map(mendedTool) } };
  }
  if (content === undefined && structuredContent === undefined) return message;
  const texts = (Array.isArray(content) ? content : [content ?? []]).map(blockText);
  const said = texts.filter((text) => text !== "").join("\n");
  const text = saysAll(said, structuredContent)
    ? said
    : `${said}\n${jsonText(structuredContent)}`.trim();
  const result = { content: [{ type: "text", text }], isError: Boolean(isError) };
  return { ...message, result: { ...message.result, ...result, structuredContent: undefined } };
}

/** Whether a result's text has its fields, too, as it should. Some packages give a text as one field, `result`. */
function saysAll(said: string, fields: unknown): boolean {
  if (!isObject(fields)) return fields === undefined || said !== "";
  const [first, ...others] = Object.keys(fields);
  const isOne = said !== "" && others.length === 0 && first === "result";
  return isOne || said.length >= jsonText(fields).length / 2;
}

/** A tool without a readable name has none, and one without a schema takes no arguments. */
function mendedTool(tool: unknown): object {
  const { name, title, description, inputSchema, execution } = isObject(tool) ? tool : {};
  return {
    name: textOf(name),
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof description === "string" ? { description } : {}),
    inputSchema: providerSchema(inputSchema),
    _meta: { [AS_TASK]: isObject(execution) && execution.taskSupport === "required" },
  };
}

function blockText(block: unknown): string {
  if (!isObject(block)) return textOf(block);
  const { type, text, resource, name, uri, mimeType } = block;
  if (type === "text") return textOf(text);
  if (type === "resource_link") return `[${textOf(name)}: ${textOf(uri)}]`;
  if (!isObject(resource)) return `[${textOf(mimeType) || textOf(type)}]`;
  const at = textOf(resource.uri);
  if (isText(resource.text)) return `[${at}]\n${resource.text}`;
  return `[${textOf(resource.mimeType) || "data"}: ${at}]`;
}

function textOf(value: unknown): string {
  return isText(value) ? value : "";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
