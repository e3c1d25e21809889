import {
  type CompleteAnswer,
  isJsonObject,
  type Json,
  listOf,
  type Protocol,
  pieces,
  type ServerEvent,
} from "./reply.ts";

/** OpenAI's chat completions as local servers speak them, whose templates are strict. */
export const openAiCompatibleChat: Protocol = {
  path: /\/compatible\/v1\/chat\/completions$/,
  keyHeader: "authorization",
  problemWith,
  events,
  whole,
  errorBody: ({ message, code = "server_error" }) => ({
    error: { message, type: code, param: null, code },
  }),
  contextTooLong: () => ({
    status: 400,
    code: "exceed_context_size_error",
    message: "the request exceeds the available context size, try increasing it",
  }),
  errorEvent: ({ message, code }) => ({ data: { error: { message, type: code, code } } }),
};

/** The same from OpenAI itself, which wants each call answered and allows any order of roles. */
export const openAiChat: Protocol = {
  ...openAiCompatibleChat,
  path: /\/openai\/v1\/chat\/completions$/,
  problemWith: ({ messages }) =>
    listOf(messages)
      .map((message, index, all) =>
        problemWithCalls(message, all.slice(0, index), all.slice(index)),
      )
      .find((problem) => problem !== undefined),
  contextTooLong: ({ tokens, most }) => ({
    status: 400,
    code: "context_length_exceeded",
    message: `This model's maximum context length is ${most} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
  }),
};

function problemWith(body: Json): string | undefined {
  const messages = listOf(body.messages);
  const said = messages.filter(({ role }) => role !== "system");
  if (said.length === 0) return "messages must not be empty";
  if (messages.findLastIndex(({ role }) => role === "system") > 0) {
    return "System message must be at the beginning.";
  }
  if (said[0]?.role !== "user" || said.at(-1)?.role === "assistant") {
    return "Conversation roles must alternate user/assistant/user/assistant/...";
  }
  return said
    .map((message, index) => problemWithMessage(message, index, said))
    .find((problem) => problem !== undefined);
}

function problemWithMessage(message: Json, index: number, said: readonly Json[]) {
  const before = said[index - 1];
  if (message.role !== "tool" && message.role === before?.role)
    return "Conversation roles must alternate";
  if (message.role === "user") {
    return isEmpty(message.content) ? "user content must not be empty" : undefined;
  }
  const calls = listOf(message.tool_calls);
  if (message.role === "assistant" && calls.length === 0) {
    return isEmpty(message.content) ? "assistant content must not be empty" : undefined;
  }
  return problemWithCalls(message, said.slice(0, index), said.slice(index));
}

function problemWithCalls(message: Json, before: readonly Json[], [, ...after]: readonly Json[]) {
  if (message.role === "tool") {
    const asked = before.findLast(({ role }) => role !== "tool");
    return listOf(asked?.tool_calls).some(({ id }) => id === message.tool_call_id)
      ? undefined
      : "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'";
  }
  const calls = listOf(message.tool_calls);
  if (calls.length === 0) return undefined;
  if (calls.some((call) => !/^[\w-]{1,64}$/.test(String((call.function as Json).name)))) {
    return "function.name: string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'";
  }
  const broken = calls.some((call) => !isJsonObject((call.function as Json).arguments));
  if (broken) return "invalid tool call arguments";
  const results = after.slice(0, calls.length);
  const answered = calls.every(({ id }) =>
    results.some(({ role, tool_call_id }) => role === "tool" && tool_call_id === id),
  );
  return answered
    ? undefined
    : "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
}

function isEmpty(content: unknown): boolean {
  return typeof content === "string" ? content.trim() === "" : listOf(content).length === 0;
}

function usageOf({ usage }: CompleteAnswer): Json {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
  };
}

function endOf({ stopReason, toolCalls }: CompleteAnswer): string {
  return stopReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop");
}

function whole(answer: CompleteAnswer): Json {
  const { reasoning, text = null, toolCalls } = answer;
  const tool_calls = toolCalls.map(({ id, name, rawArgs }) => ({
    id,
    type: "function",
    function: { name, arguments: rawArgs },
  }));
  const message = {
    role: "assistant",
    content: text,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
  };
  return {
    ...aboutOf(answer),
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: endOf(answer) }],
    usage: usageOf(answer),
  };
}

function events(answer: CompleteAnswer): readonly ServerEvent[] {
  const { toolCalls } = answer;
  const about = { ...aboutOf(answer), object: "chat.completion.chunk" };
  const chunk = (delta: Json, finish_reason: string | null = null): ServerEvent => ({
    data: { ...about, choices: [{ index: 0, delta, finish_reason }] },
  });
  return [
    chunk({ role: "assistant", content: "" }),
    ...pieces(answer.reasoning ?? "").map((reasoning_content) => chunk({ reasoning_content })),
    ...pieces(answer.text ?? "").map((content) => chunk({ content })),
    ...toolCalls.flatMap(({ id, name, rawArgs }, index) => [
      chunk({
        tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }],
      }),
      ...pieces(rawArgs).map((args) =>
        chunk({ tool_calls: [{ index, function: { arguments: args } }] }),
      ),
    ]),
    chunk({}, endOf(answer)),
    { data: { ...about, choices: [], usage: usageOf(answer) } },
    { data: "[DONE]" },
  ];
}

function aboutOf({ call }: CompleteAnswer): Json {
  return { id: `chatcmpl-${call}`, created: 1, model: "local" };
}
