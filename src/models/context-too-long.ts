/** The error texts of providers for a request that is too long for the model. */
const TOO_LONG: readonly RegExp[] = [
  // OpenAI's code (also Groq, Azure, DeepSeek), llama.cpp's, Z.ai's, Anthropic's for bytes, OpenAI's for one long text.
  /context_length_exceeded|exceed_context_size|model_context_window_exceeded|request_too_large|string_above_max_length/i,
  // Anthropic: "prompt is too long: 205361 tokens > 200000 maximum"; Bedrock: "Input is too long for requested model".
  /(prompt|input) (is )?too long/i,
  // The other order of the first pair below.
  /context window exceeds/i,
  /context[ -](window|limit|length|size)( has been| was)? exceeded/i,
  // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral: "maximum context length is 131072 tokens"; xAI: "maximum prompt length is".
  /maximum (context|prompt) length/i,
  // Groq: "Please reduce the length of the messages or completion"; vLLM: "… of the input prompt".
  /reduce the length of the (messages|input|prompt)/i,
  // LM Studio, in several versions.
  /when context the overflows|greater than the context length/i,
  // Together, vLLM: "is longer than the model's context length", "… than the maximum model length of 4096".
  /longer than the (model'?s context|maximum model) length/i,
  // Poolside; Kimi; DashScope; ds4; vLLM, when nothing is left for the answer.
  /maximum allowed input length|exceeded model token limit|range of input length should be/i,
  /but the configured context size is|max_tokens must be at least 1, got -/i,
];

/** Two texts in this order, with at most `within` characters of the line between them. */
interface Pair {
  /** Finds both. The first one is the group. */
  readonly pattern: RegExp;
  readonly within: number;
}

/**
 * More such texts. Each half is looked for once, because `a.{0,100}b` reads a hundred characters behind
 * every `a`.
 */
const TOO_LONG_PAIRS: readonly Pair[] = [
  // OpenAI, Anthropic with max_tokens, llama.cpp, Ollama, MiniMax: "exceeds the context window", "exceed context limit", …
  { pattern: /(exceed(?:s|ed)?\b)|\bcontext[ -](?:window|limit|length|size)/gi, within: 60 },
  // Google: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)".
  { pattern: /((?:input|prompt) token count)|exceeds the (?:maximum|limit)/gi, within: 100 },
  // LM Studio.
  { pattern: /(n_keep\b)|n_ctx/gi, within: 100 },
];

function hasPair(text: string, { pattern, within }: Pair): boolean {
  let end = -1;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (match[1] !== undefined) end = pattern.lastIndex;
    else if (end >= 0 && match.index - end <= within && isOneLine(text, end, match.index)) {
      return true;
    }
  }
  return false;
}

function isOneLine(text: string, start: number, end: number): boolean {
  return !/[\n\r\u2028\u2029]/.test(text.slice(start, end));
}

/** Rate limits. Waiting helps, and a shorter history may not. */
const RATE_LIMIT = /rate.?limit|per.?min(ute)?\b|\bTPM\b|throttl|too many requests|quota/i;

/** Whether a provider's error means that the request is too long for the model. */
export function isContextTooLong(status: number | undefined, text: string): boolean {
  if (status === 429) return false;
  // "Payload too large": only a shorter request helps.
  if (status === 413) return true;
  if (RATE_LIMIT.test(text)) return false;
  return (
    TOO_LONG.some((pattern) => pattern.test(text)) ||
    TOO_LONG_PAIRS.some((pair) => hasPair(text, pair))
  );
}
