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

/** Google's streamGenerateContent. */
export const googleGenerateContent: Protocol = {
  path: /\/google\/v1beta\/models\/[^/]+:streamGenerateContent\?alt=sse$/,
  keyHeader: "x-goog-api-key",
  problemWith,
  events,
  errorBody: ({ status, message, code = "INTERNAL" }) => ({
    error: { code: status, message, status: code },
  }),
  contextTooLong: ({ tokens, most }) => ({
    status: 400,
    code: "INVALID_ARGUMENT",
    message: `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${most}).`,
  }),
  errorEvent: ({ message, code }) => ({ data: { error: { code: 503, message, status: code } } }),
};

function problemWith(body: Json, memory: ProtocolMemory): string | undefined {
  const contents = listOf(body.contents);
  if (contents.length === 0) return "contents is not specified";
  if (contents[0]?.role !== "user" || contents.at(-1)?.role !== "user") {
    return "Please ensure that multiturn requests begin and end with a user turn.";
  }
  return contents
    .flatMap((content, index) => [
      problemWithCalls(content, contents[index - 1], contents[index + 1]),
      problemWithParts(content, memory),
    ])
    .find((problem) => problem !== undefined);
}

function problemWithCalls(content: Json, before?: Json, after?: Json): string | undefined {
  const calls = partsWith(content, "functionCall");
  const responses = partsWith(content, "functionResponse");
  if (calls.length > 0 && before?.role !== "user") {
    return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  }
  const counts = [
    [calls.length, partsWith(after, "functionResponse").length],
    [partsWith(before, "functionCall").length, responses.length],
  ] as const;
  const isOdd = counts.some(([asked, answered]) => asked !== answered);
  return isOdd
    ? "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
    : undefined;
}

function problemWithParts(content: Json, memory: ProtocolMemory): string | undefined {
  const parts = listOf(content.parts);
  if (parts.length === 0) return "contents.parts must not be empty.";
  for (const part of parts) {
    const { text, functionCall, thoughtSignature } = part;
    if (text === "" && !thoughtSignature) return "contents.parts: required oneof field 'data'";
    if (functionCall && !isObject((functionCall as Json).args)) return "args: Invalid value";
    const named = (functionCall ?? part.functionResponse) as Json | undefined;
    if (named && !/^[A-Za-z_][\w.:-]{0,63}$/.test(String(named.name)))
      return "Invalid function name.";
    const isKnown =
      thoughtSignature === undefined ||
      thoughtSignature === "skip_thought_signature_validator" ||
      memory.signed(thoughtSignature);
    if (!isKnown) return "Thought signature is not valid.";
  }
  return undefined;
}

function partsWith(content: Json | undefined, key: string): readonly Json[] {
  return listOf(content?.parts).filter((part) => key in part);
}

function events(answer: CompleteAnswer, memory: ProtocolMemory): readonly ServerEvent[] {
  const { usage, toolCalls } = answer;
  const sign = (what: string) => ({ thoughtSignature: memory.sign(what) });
  // Gemini signs the first call of an answer, or its text.
  const isSigned = answer.reasoning !== undefined;
  const thoughts = pieces(answer.reasoning ?? "").map((text) => ({ text, thought: true }));
  const texts = pieces(answer.text ?? "").map((text) => ({ text }));
  const calls = toolCalls.map(({ id, name, args, rawArgs }, index) => ({
    // Gemini sends arguments as an object; what is broken comes as its text.
    functionCall: { id, name, args: rawArgs === JSON.stringify(args) ? args : rawArgs },
    ...(isSigned && index === 0 ? sign(name) : {}),
  }));
  const seal = isSigned && calls.length === 0 ? [{ text: "", ...sign("text") }] : [];
  return [
    ...[...thoughts, ...texts, ...seal, ...calls].map((part) => chunk([part])),
    chunk([], {
      finishReason: answer.stopReason ?? "STOP",
      usageMetadata: {
        promptTokenCount: usage.input,
        cachedContentTokenCount: usage.cacheRead,
        candidatesTokenCount: usage.output,
        totalTokenCount: usage.input + usage.output,
      },
    }),
  ];
}

function chunk(
  parts: readonly Json[],
  { finishReason, ...rest }: Json & { finishReason?: string } = {},
): ServerEvent {
  const content = { role: "model", parts };
  const candidate = { index: 0, content, ...(finishReason ? { finishReason } : {}) };
  return { data: { candidates: [candidate], ...rest } };
}
