import {
  type CompleteAnswer,
  isJsonObject,
  type Json,
  listOf,
  type Protocol,
  type ProtocolMemory,
  pieces,
  type ServerEvent,
} from "./reply.ts";

/** OpenAI's Responses API, with nothing stored. */
export const openAiResponses: Protocol = {
  path: /\/openai\/v1\/responses$/,
  keyHeader: "authorization",
  problemWith,
  events,
  whole,
  errorBody: ({ message, code = "server_error" }) => ({
    error: { message, type: code, param: null, code },
  }),
  contextTooLong: () => ({
    status: 400,
    code: "context_length_exceeded",
    message:
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
  }),
  errorEvent: ({ message, code }) => ({
    event: "error",
    data: { type: "error", sequence_number: 1, error: { type: code, code, message, param: null } },
  }),
};

function problemWith(body: Json, memory: ProtocolMemory): string | undefined {
  const input = listOf(body.input);
  if (body.store !== false) return "this organization stores nothing; set store to false";
  if (!input.some(({ role }) => role === "user")) return "input: at least one message is required";
  return input
    .map((item, index) =>
      problemWithItem(item, input.slice(0, index), input.slice(index + 1), memory),
    )
    .find((problem) => problem !== undefined);
}

function problemWithItem(
  item: Json,
  before: readonly Json[],
  after: readonly Json[],
  memory: ProtocolMemory,
): string | undefined {
  switch (item.type) {
    case "item_reference":
      return `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`;
    case "reasoning":
      if (!memory.signed(item.encrypted_content))
        return "The encrypted content could not be verified.";
      return after[0] === undefined || after[0].role === "user"
        ? `Item '${item.id}' of type 'reasoning' was provided without its required following item.`
        : undefined;
    case "function_call": {
      if (!isJsonObject(item.arguments)) return "function_call.arguments: invalid JSON";
      if (!/^[\w-]{1,64}$/.test(String(item.name))) return "name: string does not match pattern";
      if (String(item.call_id).length > 64) return "call_id: string too long";
      const next = after.findIndex(({ type }) => type !== "function_call" && type !== "reasoning");
      const outputs = after.slice(next).filter(({ type }) => type === "function_call_output");
      return outputs.some(({ call_id }) => call_id === item.call_id)
        ? undefined
        : `No tool output found for function call ${item.call_id}.`;
    }
    case "function_call_output":
      return before.some(
        ({ type, call_id }) => type === "function_call" && call_id === item.call_id,
      )
        ? undefined
        : `No tool call found for function call output with call_id ${item.call_id}.`;
    default:
      return undefined;
  }
}

function responseOf(answer: CompleteAnswer): Json {
  const { usage } = answer;
  return {
    id: `resp_${answer.call}`,
    object: "response",
    created_at: 1,
    model: "gpt",
    status: answer.stopReason ? "incomplete" : "completed",
    incomplete_details: answer.stopReason ? { reason: answer.stopReason } : null,
    output: [],
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cacheRead },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  };
}

function whole(answer: CompleteAnswer, memory: ProtocolMemory): Json {
  return { ...responseOf(answer), output: itemsOf(answer, memory).map(({ done }) => done) };
}

function events(answer: CompleteAnswer, memory: ProtocolMemory): readonly ServerEvent[] {
  const items = itemsOf(answer, memory);
  const response = responseOf(answer);
  const all = [
    { type: "response.created", response: { ...response, status: "in_progress", usage: null } },
    ...items.flatMap(({ added, deltas, done }, output_index) => [
      { type: "response.output_item.added", output_index, item: added },
      ...deltas.map((delta) => ({ output_index, item_id: added.id, ...delta })),
      { type: "response.output_item.done", output_index, item: done },
    ]),
    {
      type: answer.stopReason ? "response.incomplete" : "response.completed",
      response: { ...response, output: items.map(({ done }) => done) },
    },
  ];
  return all.map((data, sequence_number) => ({
    event: data.type,
    data: { ...data, sequence_number },
  }));
}

interface Item {
  readonly added: Json;
  readonly deltas: readonly (Json & { readonly type: string })[];
  readonly done: Json;
}

function itemsOf(answer: CompleteAnswer, memory: ProtocolMemory): readonly Item[] {
  const { call } = answer;
  const items: Item[] = [];
  if (answer.reasoning !== undefined) items.push(reasoningItem(answer.reasoning, call, memory));
  if (answer.text !== undefined) items.push(messageItem(answer.text, call));
  for (const [index, { id: call_id, name, rawArgs }] of answer.toolCalls.entries()) {
    const added = {
      type: "function_call",
      id: `fc_${call}_${index}`,
      call_id,
      name,
      arguments: "",
    };
    items.push({
      added: { ...added, status: "in_progress" },
      deltas: [
        ...pieces(rawArgs).map((delta) => ({
          type: "response.function_call_arguments.delta",
          delta,
        })),
        { type: "response.function_call_arguments.done", arguments: rawArgs },
      ],
      done: { ...added, arguments: rawArgs, status: "completed" },
    });
  }
  return items;
}

function reasoningItem(text: string, call: number, memory: ProtocolMemory): Item {
  const added = { type: "reasoning", id: `rs_${call}`, summary: [] };
  const part = { type: "summary_text", text };
  const encrypted_content = memory.sign(text);
  return {
    added: { ...added, encrypted_content: null },
    deltas: [
      {
        type: "response.reasoning_summary_part.added",
        summary_index: 0,
        part: { ...part, text: "" },
      },
      ...pieces(text).map((delta) => ({
        type: "response.reasoning_summary_text.delta",
        summary_index: 0,
        delta,
      })),
      { type: "response.reasoning_summary_part.done", summary_index: 0, part },
    ],
    done: { ...added, summary: [part], encrypted_content },
  };
}

function messageItem(text: string, call: number): Item {
  const added = { type: "message", id: `msg_${call}`, role: "assistant", content: [] };
  const part = { type: "output_text", text, annotations: [] };
  return {
    added: { ...added, status: "in_progress" },
    deltas: [
      { type: "response.content_part.added", content_index: 0, part: { ...part, text: "" } },
      ...pieces(text).map((delta) => ({
        type: "response.output_text.delta",
        content_index: 0,
        delta,
      })),
    ],
    done: { ...added, content: [part], status: "completed" },
  };
}
