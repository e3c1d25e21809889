import { z } from "zod";
import { isDeeperThan, NESTING_MAX } from "./json-values.ts";
import type { Message, UserMessage } from "./message.ts";

const meta = z.looseObject({ provider: z.string() });
const text = z.object({ text: z.string(), meta: meta.optional() });
const toolUse = z.object({
  id: z.string(),
  name: z.string(),
  args: z.unknown(),
  meta: meta.optional(),
});

type Content = z.ZodType<UserMessage["content"]>;

const blocks = z.array(
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({ type: z.literal("image"), media_type: z.string(), data: z.string() }),
    z.object({
      type: z.literal("file"),
      media_type: z.string(),
      data: z.string(),
      filename: z.string().optional(),
    }),
  ]),
);

export const contentSchema = z.union([z.string(), blocks]) as z.ZodType as Content;

/** The content of a prompt, which is not empty. */
export const promptSchema = z.union([
  z.string().min(1, "must not be empty"),
  blocks.min(1, "must not be empty"),
]) as z.ZodType as Content;

const known = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: z.string() }),
  z.object({
    role: z.literal("user"),
    content: contentSchema,
    kind: z.literal("compaction_summary").optional(),
  }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    tool_calls: z.array(toolUse).optional(),
  }),
  z.object({
    role: z.literal("block_assistant"),
    blocks: z.array(
      z.discriminatedUnion("block_type", [
        z.object({ block_type: z.literal("text"), data: text }),
        z.object({ block_type: z.literal("reasoning"), data: text }),
        z.object({ block_type: z.literal("tool_use"), data: toolUse }),
      ]),
    ),
    stop_reason: z.enum([
      "end_turn",
      "tool_use",
      "max_tokens",
      "stop_sequence",
      "content_filter",
      "cancelled",
      "pause_turn",
    ]),
  }),
  z.object({
    role: z.literal("tool_results"),
    results: z.array(
      z.object({
        tool_use_id: z.string(),
        content: z.string(),
        is_error: z.boolean().default(false),
      }),
    ),
  }),
]);

/** Checks a message from outside: a file, a wire, a caller's array. */
export const messageSchema = known.refine(
  (message) => !isDeeperThan(NESTING_MAX, message),
  `it is nested more than ${NESTING_MAX} levels deep`,
) as z.ZodType as z.ZodType<Message>;
