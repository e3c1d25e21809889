import {
  type CompleteAnswer,
  isObject,
  type Json,
  listOf,
  type Protocol,
  type ProtocolMemory,
  pieces,
  type ServerEvent,
} from "./reply.ts";

/** Anthropic's Messages API. */
export const anthropicMessages: Protocol = {
  path: /\/anthropic\/v1\/messages(\?beta=true)?$/,
  keyHeader: "x-api-key",
  problemWith,
  events,
  whole,
  errorBody: ({ message, code = "api_error" }) => ({
    type: "error",
    error: { type: code, message },
    request_id: "req_1",
  }),
  contextTooLong: ({ tokens, most }) => ({
    status: 400,
    code: "invalid_request_error",
    message: `prompt is too long: ${tokens} tokens > ${most} maximum`,
  }),
  errorEvent: ({ message, code }) =>
    named({ type: "error", error: { type: code, message }, request_id: "req_1" }),
};

function problemWith(body: Json, memory: ProtocolMemory): string | undefined {
  if (!(Number(body.max_tokens) > 0)) return "max_tokens: Field required";
  const messages = listOf(body.messages);
  if (messages.length === 0) return "messages: at least one message is required";
  if (listOf(body.system).some(isBlankText)) return "system: text content blocks must be non-empty";
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role';
  const last = messages.at(-1);
  if (last?.role !== "user" && !endsPaused(last)) {
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  }
  const ids = messages.flatMap((message) => idsOf(message, "tool_use", "id"));
  if (new Set(ids).size < ids.length) return "messages: `tool_use` ids must be unique";
  return messages
    .map((message, index) => problemWithMessage(message, messages[index - 1], messages[index + 1]))
    .concat(messages.flatMap((message) => problemsWithBlocks(message, memory)))
    .find((problem) => problem !== undefined);
}

function problemWithMessage(message: Json, before?: Json, after?: Json): string | undefined {
  if (message.role === before?.role) return "messages: roles must alternate";
  if (message.role === "assistant") {
    const missing = idsOf(message, "tool_use", "id").filter(
      (id) => !idsOf(after, "tool_result", "tool_use_id").includes(id),
    );
    if (missing.length > 0) {
      return `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}`;
    }
    if (listOf(message.content).at(-1)?.type === "thinking") {
      return "The final block in an assistant message cannot be `thinking`.";
    }
    return undefined;
  }
  const results = idsOf(message, "tool_result", "tool_use_id");
  const unknown = results.filter((id) => !idsOf(before, "tool_use", "id").includes(id));
  if (unknown.length > 0)
    return `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unknown}`;
  const types = listOf(message.content).map(({ type }) => type);
  return types.lastIndexOf("tool_result") >= results.length
    ? "`tool_result` blocks must come first"
    : undefined;
}

function problemsWithBlocks(message: Json, memory: ProtocolMemory): (string | undefined)[] {
  const { content } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  if (blocks.length === 0) return ["messages: content must be non-empty"];
  return blocks.map((block) => {
    if (isBlankText(block)) return "text content blocks must contain non-whitespace text";
    switch (block.type) {
      case "tool_use":
        if (!isObject(block.input)) return "tool_use.input: Input should be a valid dictionary";
        if (!/^[\w-]{1,128}$/.test(String(block.name))) return "tool_use.name: invalid pattern";
        return /^[\w-]+$/.test(String(block.id)) ? undefined : "tool_use.id: invalid pattern";
      case "tool_result":
        return block.is_error === true && isBlankResult(block.content)
          ? "tool_result: content cannot be empty if `is_error` is true"
          : undefined;
      case "thinking":
        return memory.signed(block.signature)
          ? undefined
          : "Invalid `signature` in `thinking` block";
      case "redacted_thinking":
        return memory.signed(block.data)
          ? undefined
          : "Invalid `data` in `redacted_thinking` block";
      default:
        return undefined;
    }
  });
}

/** Only an answer that ends so may be sent back to be gone on with. */
function endsPaused(message: Json | undefined): boolean {
  const last = listOf(message?.content).at(-1);
  return typeof last?.text === "string" && last.text.includes("[paused]");
}

function isBlankResult(content: unknown): boolean {
  return typeof content === "string" ? content.trim() === "" : listOf(content).every(isBlankText);
}

function isBlankText(block: Json): boolean {
  return block.type === "text" && String(block.text).trim() === "";
}

function idsOf(message: Json | undefined, type: string, key: string): unknown[] {
  return listOf(message?.content).flatMap((block) => (block.type === type ? [block[key]] : []));
}

const MESSAGE = { type: "message", role: "assistant", model: "claude" };

function inputOf({ usage }: CompleteAnswer): Json {
  return {
    input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
  };
}

function endOf({ stopReason, toolCalls }: CompleteAnswer): Json {
  const stop_reason = stopReason ?? (toolCalls.length > 0 ? "tool_use" : "end_turn");
  return { stop_reason, stop_sequence: null };
}

function whole(answer: CompleteAnswer, memory: ProtocolMemory): Json {
  const content = blocksOf(answer, memory).map(({ start, deltas }) =>
    deltas.reduce(grown, start.type === "tool_use" ? { ...start, input: "" } : start),
  );
  return {
    ...MESSAGE,
    id: `msg_${answer.call}`,
    content: content.map((block) =>
      block.type === "tool_use" ? { ...block, input: JSON.parse(String(block.input)) } : block,
    ),
    ...endOf(answer),
    usage: { ...inputOf(answer), output_tokens: answer.usage.output },
  };
}

/** A block with one delta of it added. */
function grown(block: Json, { type: _, partial_json, ...delta }: Json): Json {
  const [[name, piece] = []] = Object.entries({
    ...delta,
    ...(partial_json === undefined ? {} : { input: partial_json }),
  });
  return name === undefined ? block : { ...block, [name]: `${block[name] ?? ""}${piece}` };
}

function events(answer: CompleteAnswer, memory: ProtocolMemory): readonly ServerEvent[] {
  const input = inputOf(answer);
  return [
    named({
      type: "message_start",
      message: {
        ...MESSAGE,
        id: `msg_${answer.call}`,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...input, output_tokens: 1 },
      },
    }),
    named({ type: "ping" }),
    ...blocksOf(answer, memory).flatMap(({ start, deltas }, index) => [
      named({ type: "content_block_start", index, content_block: start }),
      ...deltas.map((delta) => named({ type: "content_block_delta", index, delta })),
      named({ type: "content_block_stop", index }),
    ]),
    named({
      type: "message_delta",
      delta: endOf(answer),
      usage: { ...input, output_tokens: answer.usage.output },
    }),
    named({ type: "message_stop" }),
  ];
}

function blocksOf(answer: CompleteAnswer, memory: ProtocolMemory) {
  const blocks: { start: Json; deltas: Json[] }[] = [];
  if (answer.redactedReasoning) {
    const data = memory.sign("redacted");
    blocks.push({ start: { type: "redacted_thinking", data }, deltas: [] });
  }
  if (answer.reasoning !== undefined) {
    const deltas = pieces(answer.reasoning).map((thinking) => ({
      type: "thinking_delta",
      thinking,
    }));
    const signature = { type: "signature_delta", signature: memory.sign(answer.reasoning) };
    const start = { type: "thinking", thinking: "", signature: "" };
    blocks.push({ start, deltas: [...deltas, signature] });
  }
  if (answer.text !== undefined) {
    const deltas = pieces(answer.text).map((text) => ({ type: "text_delta", text }));
    blocks.push({ start: { type: "text", text: "" }, deltas });
  }
  for (const { id, name, rawArgs } of answer.toolCalls) {
    const deltas = pieces(rawArgs).map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
    blocks.push({ start: { type: "tool_use", id, name, input: {} }, deltas });
  }
  return blocks;
}

function named(data: Json): ServerEvent {
  return { event: String(data.type), data };
}
