import { z } from "zod";
import type { Origin } from "../core/event.ts";
import { issuesOf, issuesText } from "../core/issues.ts";
import type { AssistantBlock, ContentBlock, Message, ToolUse } from "../core/message.ts";
import { origin } from "../core/operations/request-fields.ts";
import { type RecordedMessage, type TranscriptFormat, toolArguments } from "./imported.ts";

/** Plain chat: a line is `{"role", "content"}`, with tool calls and results as in OpenAI's API. */
export const chatFormat: TranscriptFormat = {
  recognises: (first) => "role" in first,
  reader: () => (line) => readLine(line),
};

const part = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["text", "input_text", "output_text"]), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({ type: z.literal("image"), media_type: z.string(), data: z.string() }),
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
]);

const call = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.unknown() }),
});

const lineSchema = z.object({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.union([z.string(), z.array(part)]).nullish(),
  tool_calls: z.array(call).nullish(),
  tool_call_id: z.string().nullish(),
  is_error: z.boolean().nullish(),
  name: z.string().nullish(),
  speaker: origin.shape.speaker.nullable(),
  session: origin.shape.session.nullable(),
  time: origin.shape.time.nullable(),
});

type Line = z.infer<typeof lineSchema>;

function readLine(value: unknown): RecordedMessage {
  const parsed = lineSchema.safeParse(value);
  if (!parsed.success) throw new Error(issuesText(issuesOf(parsed.error)));
  const line = parsed.data;
  const said = originOf(line);
  return {
    message: messageOf(line),
    ...(said ? { origin: said } : {}),
    ...(line.role === "tool" && line.name ? { toolName: line.name } : {}),
  };
}

function messageOf(line: Line): Message {
  const blocks = contentBlocks(line.content);
  switch (line.role) {
    case "system":
    case "developer":
      return { role: "system", content: plainText(blocks) };
    case "user":
      return { role: "user", content: typeof line.content === "string" ? line.content : blocks };
    case "assistant":
      return {
        role: "block_assistant",
        blocks: [
          ...textBlocks(blocks),
          ...(line.tool_calls ?? []).map(
            (item): AssistantBlock => ({ block_type: "tool_use", data: toolUse(item) }),
          ),
        ],
        stop_reason: "end_turn",
      };
    case "tool":
      return {
        role: "tool_results",
        results: [
          {
            tool_use_id: line.tool_call_id ?? "",
            content: plainText(blocks),
            is_error: line.is_error ?? false,
          },
        ],
      };
  }
}

function contentBlocks(content: Line["content"]): ContentBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return (content ?? []).map(contentBlock);
}

function contentBlock(item: z.infer<typeof part>): ContentBlock {
  switch (item.type) {
    case "refusal":
      return { type: "text", text: item.refusal };
    case "image":
      return item;
    case "image_url":
      return image(item.image_url.url);
    default:
      return { type: "text", text: item.text };
  }
}

/** An image that is not in the file becomes a text with its address. */
function image(url: string): ContentBlock {
  const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return media_type !== undefined && data !== undefined
    ? { type: "image", media_type, data }
    : { type: "text", text: url };
}

/** The text of messages that contain only text. */
function plainText(blocks: readonly ContentBlock[]): string {
  return blocks
    .map((block) => (block.type === "text" ? block.text : `[image: ${block.media_type}]`))
    .join("\n");
}

function textBlocks(blocks: readonly ContentBlock[]): AssistantBlock[] {
  return blocks.map((block) => ({ block_type: "text", data: { text: plainText([block]) } }));
}

function toolUse({ id, function: { name, arguments: args } }: z.infer<typeof call>): ToolUse {
  return { id: id ?? "", name, args: toolArguments(args) };
}

function originOf({ speaker, time, session }: Line): Origin | undefined {
  const said = {
    ...(speaker ? { speaker } : {}),
    ...(time ? { time } : {}),
    ...(session ? { session } : {}),
  };
  return Object.keys(said).length === 0 ? undefined : said;
}
