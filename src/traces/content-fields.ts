import type { Attributes } from "@opentelemetry/api";
import { given } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { type AssistantBlock, contentText, type Message } from "../core/message.ts";
import type { TracedContents } from "../core/traces.ts";

/** What was said as OpenTelemetry's fields for it, which are JSON. Pictures and files are left out. */
export function contentFields(contents: TracedContents): Attributes {
  const { input, output, args, result, query } = contents;
  const system = input?.filter(({ role }) => role === "system") ?? [];
  const rest = input?.filter(({ role }) => role !== "system");
  return given({
    "gen_ai.system_instructions":
      system.length > 0 ? jsonText(system.flatMap((message) => partsOf(message))) : undefined,
    "gen_ai.input.messages": rest && jsonText(rest.map(messageOf)),
    "gen_ai.output.messages":
      output && jsonText([{ role: "assistant", parts: output.flatMap(blockParts) }]),
    "gen_ai.tool.call.arguments": args === undefined ? undefined : jsonText(args),
    "gen_ai.tool.call.result": result,
    "gen_ai.memory.query.text": query === undefined ? undefined : [query].flat().join("\n"),
  });
}

type Part = Readonly<Record<string, unknown>>;

const ROLES: Readonly<Partial<Record<Message["role"], string>>> = {
  block_assistant: "assistant",
  tool_results: "tool",
};

function messageOf(message: Message): Part {
  return { role: ROLES[message.role] ?? message.role, parts: partsOf(message) };
}

function partsOf(message: Message): readonly Part[] {
  switch (message.role) {
    case "system":
      return [textPart(message.content)];
    case "user":
      return [textPart(contentText(message.content))];
    case "assistant":
      return [
        ...(message.content === "" ? [] : [textPart(message.content)]),
        ...(message.tool_calls ?? []).map(({ id, name, args }) => callPart(id, name, args)),
      ];
    case "block_assistant":
      return message.blocks.flatMap(blockParts);
    case "tool_results":
      return message.results.map(({ tool_use_id, content }) => ({
        type: "tool_call_response",
        id: tool_use_id,
        response: content,
      }));
  }
}

function blockParts(block: AssistantBlock): readonly Part[] {
  switch (block.block_type) {
    case "text":
      return [textPart(block.data.text)];
    case "reasoning":
      return [{ type: "reasoning", content: block.data.text }];
    case "tool_use":
      return [callPart(block.data.id, block.data.name, block.data.args)];
  }
}

const textPart = (content: string): Part => ({ type: "text", content });
const callPart = (id: string, name: string, args: unknown): Part => ({
  type: "tool_call",
  id,
  name,
  arguments: args,
});
