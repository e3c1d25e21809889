import { expect, test } from "vitest";
import { isContextTooLong } from "./context-too-long.ts";

/** Messages that providers have been seen to send, word for word. */
test.each([
  ["Anthropic", "prompt is too long: 205361 tokens > 200000 maximum"],
  [
    "Anthropic",
    "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again",
  ],
  ["Anthropic", "request_too_large Request exceeds the maximum size"],
  ["Bedrock", "Input is too long for requested model."],
  [
    "OpenAI",
    "This model's maximum context length is 4097 tokens. However, you requested 4203 tokens (3703 in the messages, 500 in the completion). Please reduce the length of the messages or completion.",
  ],
  [
    "OpenAI",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
  ],
  ["OpenAI", "context_length_exceeded invalid_request_error"],
  [
    "Google",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  ],
  ["Groq", "Please reduce the length of the messages or completion."],
  [
    "Mistral",
    "Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
  ],
  [
    "DeepSeek",
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
  ],
  [
    "OpenRouter",
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 537812 tokens",
  ],
  ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens"],
  [
    "vLLM",
    "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
  ],
  ["vLLM", "max_tokens must be at least 1, got -186."],
  ["vLLM", "The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
  ["llama.cpp", "the request exceeds the available context size, try increasing it"],
  ["llama.cpp", "exceed_context_size_error"],
  ["llama-cpp-python", "Requested tokens (2285) exceed context window of 2048"],
  ["Ollama", "the input length exceeds the context length"],
  ["Ollama", "prompt too long; exceeded max context length by 4096 tokens"],
  [
    "LM Studio",
    "Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough.",
  ],
  ["LM Studio", "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"],
  [
    "LM Studio",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
  ],
  [
    "Together",
    "The input (265330 tokens) is longer than the model's context length (262144 tokens).",
  ],
  ["a gateway", "Input length (265330) exceeds model's maximum context length (262144)."],
  ["Poolside", "Input length 131393 exceeds the maximum allowed input length of 131040 tokens."],
  ["Kimi", "Your request exceeded model token limit: 262144 (requested: 300000)"],
  ["MiniMax", "invalid params, context window exceeds limit"],
  ["DashScope", "Range of input length should be [1, 129024]"],
  ["Copilot", "prompt token count of 145000 exceeds the limit of 128000"],
])("%s says: %s", (_, message) => {
  expect(isContextTooLong(400, message)).toBe(true);
  expect(isContextTooLong(undefined, message)).toBe(true);
});

test.each([
  [429, "This model's maximum context length is 8192 tokens."],
  [
    400,
    "Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 15000. Please reduce the length of the messages.",
  ],
  [400, "ThrottlingException: prompt is too long a wait, too many requests"],
  [400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"],
  [400, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after"],
  [500, "Internal server error"],
])('%i with "%s" is something else', (status, message) => {
  expect(isContextTooLong(status, message)).toBe(false);
});

test("nothing but a shorter request gets past a payload that is too large", () => {
  expect(isContextTooLong(413, "Request Entity Too Large")).toBe(true);
});

test.each([
  [60, true],
  [61, false],
])("a limit that is %i characters behind the word is meant: %s", (characters, isMeant) => {
  const text = `exceeds${" ".repeat(characters)}context window`;
  expect(isContextTooLong(400, text)).toBe(isMeant);
  expect(isContextTooLong(400, `n_keep n_keep ${text.replace(" ", "\n")} n_keep`)).toBe(false);
});
