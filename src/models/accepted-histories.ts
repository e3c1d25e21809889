import { createHash } from "node:crypto";
import {
  type AssistantBlock,
  type AssistantMessage,
  type BlockAssistantMessage,
  isSummary,
  type Message,
} from "../core/message.ts";
import { type Refusal, refusalOf } from "./provider-failure.ts";
import { blocksOf } from "./to-prompt.ts";

/**
 * Error texts of providers that do not take back what they signed or encrypted. It was damaged on its way, or another
 * key, organisation, cloud or version of the model reads it now than the one that wrote it.
 */
const SIGNATURE: readonly RegExp[] = [
  // Anthropic: "messages.1.content.0: Invalid `signature` in `thinking` block", "Invalid `data` in `redacted_thinking` block".
  /invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking/i,
  // Anthropic: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
  /thinking`? blocks in the latest assistant message cannot be modified/i,
  // OpenAI: the code, and "The encrypted content for item rs_… could not be verified."
  /invalid_encrypted_content|\bencrypted content\b/i,
  // OpenAI: "Item 'rs_…' of type 'reasoning' was provided without its required following item.", and
  // "Item 'fc_…' of type 'function_call' was provided without its required 'reasoning' item".
  /of type '\w+' was provided without/i,
  // Google: "Thought signature is not valid", "Corrupted thought signature."
  /\bthought.?signature\b/i,
];

/** Error texts of providers that cannot read an image or a file, or whose model takes none. */
const MEDIA: readonly RegExp[] = [
  // Anthropic: "Could not process image", "image exceeds 5 MB maximum", "image dimensions exceed max allowed size".
  /could not process (?:image|pdf|document)|\bimage (?:exceeds|dimensions exceed)/i,
  // Anthropic: "The PDF specified was not valid", "A maximum of 100 PDF pages may be provided".
  /\bpdf (?:specified was|pages may)/i,
  // OpenAI's codes, and "You uploaded an unsupported image", "The image data you provided does not represent a valid image".
  /image_parse_error|image_too_large|invalid_image|unsupported image|a valid image/i,
  // Google: "Unable to process input image", "Provided image is not valid".
  /process input image|image is not valid/i,
  // OpenRouter, vLLM, llama.cpp, Ollama, Mistral: "No endpoints found that support image input", "image input is not supported".
  /\bimage inputs?\b|\bsupport (?:for )?(?:images?|vision|multimodal|files?|pdfs?)\b/i,
  // Anthropic: "image.source.base64: The image was specified using the image/png media type, but …", "….media_type: Input should be …".
  // Others: "Invalid base64 image_url", "Base64 decoding failed".
  /\bbase64\b|\bprovided media type\b/i,
  // Google: "Unsupported MIME type: image/jpg". OpenAI: "Invalid MIME type. Only image types are supported."
  /\bMIME.?type\b/i,
  // An address that leads nowhere any more. Anthropic: "Unable to download the file." OpenAI: "Error while downloading https://…",
  // "Failed to download image". Google: "Cannot fetch content from the provided URL."
  /\b(?:unable to|failed to|cannot|error while|timeout while) (?:download|fetch)/i,
  // Anthropic: "Too many images and documents".
  /\btoo many (?:images|documents|files)\b/i,
  // DeepSeek: "unknown variant `image_url`, expected `text`".
  /unknown variant `(?:image|file)/i,
  // vLLM, SGLang: "At most 1 image(s) may be provided in one prompt."
  /\bat most \d+ (?:image|video|audio)/i,
];

const MEDIA_STATUSES: readonly (number | undefined)[] = [400, 404, 415, 422, 500];

/** The words of a package of the AI SDK about a file that it does not send: "'media type: text/csv' functionality not supported." */
const UNSENDABLE = /' functionality not supported\.$/;

const REFUSED: readonly (number | undefined)[] = [400, 403, 422];

/** A provider's filter of content. What it refuses once, it refuses in each later request. */
const FILTERED: readonly RegExp[] = [
  // Azure: "content_filter", "… triggering Azure OpenAI's content management policy"; Z.ai: "contentFilter".
  /content.?filter|content management policy/i,
  // OpenAI: "invalid_prompt", "… potentially violating our usage policy"; OpenRouter: "your input was flagged".
  /\binvalid_prompt\b|\busage polic|input was flagged/i,
  // Qwen, DeepSeek, Kimi, MiniMax.
  /data_?inspection_?failed|content exists risk|considered high risk|\bnew_sensitive\b/i,
];

/** Cerebras, Groq: "property 'reasoning_content' is unsupported". Mistral: "extra_forbidden". */
const isReasoningRefused = (text: string) =>
  /reasoning/i.test(text) && /unsupported|not permitted|extra_forbidden/i.test(text);

/** DeepSeek: "The `reasoning_content` in the thinking mode must be passed back". Kimi: "reasoning_content is missing". */
const isReasoningMissed = (text: string) =>
  /reasoning_content/i.test(text) && /must be passed back|missing/i.test(text);

/** Mistral: "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9." Its templates: "… strings with length 9!" */
const isOfIds = (text: string) => /\bcall ids?\b/i.test(text) && /\blength (?:of )?9\b/i.test(text);
const ID = /^[a-z0-9]{9}$/i;

/** In the place of reasoning that a server misses, of a call that another model made. */
const NO_REASONING = "(No reasoning is on record.)";
const REFUSED_HERE = "(What was here, the provider refused.)";

/**
 * Sends histories without what a model's provider has refused of them. Else each request of a session would be refused,
 * since its history keeps that.
 */
export class AcceptedHistories {
  /** The message that each model accepted in the place of another one. */
  readonly #instead = new WeakMap<Message, Map<string, Message>>();

  /**
   * Asks a model, and again without what it refuses. When no try is accepted, nothing is left out later. `provider` is
   * what the model's own reasoning has in its meta.
   */
  async send<Answer>(
    model: string,
    messages: readonly Message[],
    ask: (messages: readonly Message[]) => Promise<Answer>,
    provider = "",
  ): Promise<Answer> {
    let sent: readonly Message[] = messages.map(
      (message) => this.#instead.get(message)?.get(model) ?? message,
    );
    // The newest of the images and filtered messages goes alone at first: the older ones were accepted before.
    for (let most = 1, tries = 0; ; most = Infinity, tries += 1) {
      try {
        const answer = await ask(sent);
        this.#remember(model, messages, sent);
        return answer;
      } catch (error) {
        const next = withoutRefused(refusalOf(error), sent, most, provider);
        if (!next || tries === TRIES_MAX) throw error;
        sent = next;
      }
    }
  }

  #remember(model: string, messages: readonly Message[], sent: readonly Message[]): void {
    for (const [at, message] of messages.entries()) {
      const accepted = sent[at];
      if (accepted === undefined || accepted === message) continue;
      const byModel = this.#instead.get(message) ?? new Map<string, Message>();
      this.#instead.set(message, byModel.set(model, accepted));
    }
  }
}

/** More than there are kinds of refusals, against a server that takes nothing. */
const TRIES_MAX = 6;

/**
 * The messages without what this refusal is about, or with what it misses; undefined when it is about nothing in them.
 * The newest prompt stays: who sent it reads the refusal.
 */
function withoutRefused(
  { status, text }: Refusal,
  messages: readonly Message[],
  most: number,
  provider: string,
): readonly Message[] | undefined {
  const says = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(text));
  if (status === 400 && says(SIGNATURE)) return changed(messages, withoutSignatures);
  const newest = messages.findLastIndex(({ role }) => role === "user");
  if ((MEDIA_STATUSES.includes(status) && says(MEDIA)) || UNSENDABLE.test(text)) {
    return changed(messages, (each, at) => (at < newest ? withoutMedia(each) : undefined), most);
  }
  if (isOfIds(text)) return changed(messages, withShortIds);
  if (!REFUSED.includes(status)) return undefined;
  if (isReasoningRefused(text)) return changed(messages, withoutReasoning);
  if (isReasoningMissed(text)) return changed(messages, (each) => withReasoning(each, provider));
  if (!says(FILTERED)) return undefined;
  const isKept = (at: number) => at === newest || isAnswer(messages[at + 1]);
  return changed(messages, (each, at) => (isKept(at) ? undefined : withoutContent(each)), most);
}

/** The messages with the newest `most` of these changes; undefined when there are none. */
function changed(
  messages: readonly Message[],
  change: (message: Message, at: number) => Message | undefined,
  most = Infinity,
): readonly Message[] | undefined {
  const changes = messages.map(change);
  const places = new Set([...changes.keys()].filter((at) => changes[at]).slice(-most));
  if (places.size === 0) return undefined;
  return messages.map((message, at) => (places.has(at) && changes[at]) || message);
}

type OfAssistant = AssistantMessage | BlockAssistantMessage;

function isOfAssistant(message: Message | undefined): message is OfAssistant {
  return message?.role === "assistant" || message?.role === "block_assistant";
}

/** An answer says that the provider has accepted what stands before it, unless a filter ended the answer. */
function isAnswer(message: Message | undefined): boolean {
  return (
    isOfAssistant(message) && !("blocks" in message && message.stop_reason === "content_filter")
  );
}

/** An answer with other blocks; undefined when they are the same. */
function withBlocks(
  message: Message,
  change: (blocks: readonly AssistantBlock[]) => readonly AssistantBlock[],
): BlockAssistantMessage | undefined {
  if (!isOfAssistant(message)) return undefined;
  const before = blocksOf(message);
  const blocks = change(before);
  if (blocks.length === before.length && blocks.every((block, at) => block === before[at])) {
    return undefined;
  }
  const stop_reason = message.role === "block_assistant" ? message.stop_reason : "end_turn";
  return { role: "block_assistant", blocks, stop_reason };
}

function withoutSignatures(message: Message): Message | undefined {
  return withBlocks(message, (blocks) =>
    blocks.map((block) => {
      const { meta, ...data } = block.data;
      return meta === undefined ? block : ({ ...block, data } as AssistantBlock);
    }),
  );
}

function withoutReasoning(message: Message): Message | undefined {
  return withBlocks(message, (blocks) =>
    blocks.filter(({ block_type }) => block_type !== "reasoning"),
  );
}

function withReasoning(message: Message, provider: string): Message | undefined {
  const meta = { provider };
  const isOwn = ({ block_type, data }: AssistantBlock) =>
    block_type === "reasoning" && data.meta?.provider === provider && data.text.trim() !== "";
  return withBlocks(message, (blocks) =>
    blocks.some(isOwn)
      ? blocks
      : [{ block_type: "reasoning", data: { text: NO_REASONING, meta } }, ...blocks],
  );
}

function withShortIds(message: Message): Message | undefined {
  if (message.role !== "tool_results") {
    return withBlocks(message, (blocks) =>
      blocks.map((block) =>
        block.block_type !== "tool_use" || ID.test(block.data.id)
          ? block
          : { ...block, data: { ...block.data, id: shortId(block.data.id) } },
      ),
    );
  }
  if (message.results.every(({ tool_use_id }) => ID.test(tool_use_id))) return undefined;
  const results = message.results.map((result) => ({
    ...result,
    tool_use_id: shortId(result.tool_use_id),
  }));
  return { ...message, results };
}

function shortId(id: string): string {
  return ID.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}

/** With a note in the place of each image and file; undefined when there are none. */
function withoutMedia(message: Message): Message | undefined {
  if (message.role !== "user" || typeof message.content === "string") return undefined;
  if (message.content.every(({ type }) => type === "text")) return undefined;
  const content = message.content.map((block) => {
    if (block.type === "text") return block;
    const what = block.type === "image" ? "An image" : `The file ${block.filename ?? "of a user"}`;
    return { type: "text" as const, text: `(${what} was here, which the provider refused.)` };
  });
  return { ...message, content };
}

/** With a note in the place of a prompt or of results; undefined where it already is, and for summaries. */
function withoutContent(message: Message): Message | undefined {
  const content = REFUSED_HERE;
  if (message.role === "user") {
    return message.content === content || isSummary(message) ? undefined : { ...message, content };
  }
  if (message.role !== "tool_results") return undefined;
  if (message.results.every((result) => result.content === content)) return undefined;
  return { ...message, results: message.results.map((result) => ({ ...result, content })) };
}
