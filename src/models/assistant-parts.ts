import type {
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
} from "@ai-sdk/provider";
import type { AssistantBlock } from "../core/message.ts";
import { fromMeta, type ModelFamily } from "./model-family.ts";

type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart;

/**
 * The parts of an assistant message that are sent. Blank text is left out, and so is
 * reasoning that another model family signed, or that nothing follows (as in an answer
 * that was cut off).
 */
export function assistantParts(
  blocks: readonly AssistantBlock[],
  family: ModelFamily,
): AssistantPart[] {
  const parts = blocks
    .filter((block) => isSent(block, family))
    .map((block) => toPart(block, family));
  return parts.slice(0, parts.findLastIndex((part) => part.type !== "reasoning") + 1);
}

function isSent(block: AssistantBlock, family: ModelFamily): boolean {
  if (block.block_type === "tool_use") return true;
  const { text, meta } = block.data;
  const isBlank = text.trim() === "";
  const isOwn = meta?.provider === family.metaProvider;
  if (block.block_type === "text") {
    // Gemini signs empty texts, and wants them back.
    return !isBlank || (isOwn && text === "" && "thoughtSignature" in meta);
  }
  if (!isOwn) return false;
  return family.unsignedReasoning ? !isBlank : Object.keys(meta).length > 1;
}

function toPart({ block_type, data }: AssistantBlock, family: ModelFamily): AssistantPart {
  const options = fromMeta(family, data.meta);
  if (block_type !== "tool_use") return { type: block_type, text: data.text, ...options };
  const toolCallId = callId(data.id, family);
  const input = toolInput(data.args);
  return { type: "tool-call", toolCallId, toolName: data.name, input, ...options };
}

/** Anthropic and OpenAI refuse some ids of other providers (`functions.read:0`), so these are changed. */
function callId(id: string, { metaProvider }: ModelFamily): string {
  const isStrict = metaProvider === "anthropic" || metaProvider === "open_ai";
  if (!isStrict || /^[\w-]{1,64}$/.test(id)) return id;
  return id.replace(/[^\w-]/g, "_").slice(-64) || "call";
}

/** Arguments that are not an object, because the model's JSON was invalid, are wrapped in one. */
function toolInput(args: unknown): Record<string, unknown> {
  if (args === null || args === undefined) return {};
  if (typeof args === "object" && !Array.isArray(args)) return args as Record<string, unknown>;
  return { invalid_arguments: args };
}
