import type { Message, UserMessage } from "../core/message.ts";

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
  // OpenAI: "Item 'rs_…' of type 'reasoning' was provided without its required following item."
  /of type 'reasoning' was provided without/i,
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
  // DeepSeek: "unknown variant `image_url`, expected `text`".
  /unknown variant `(?:image|file)/i,
];

const MEDIA_STATUSES: readonly (number | undefined)[] = [400, 404, 415, 422, 500];

/** A provider's refusal: the status of HTTP, and its code and message. */
export interface Refusal {
  readonly status: number | undefined;
  readonly text: string;
}

/**
 * The messages of histories that go out without what a provider refused of them. Else each request of a session would be
 * refused, since they stay in its history.
 */
export class RefusedParts {
  readonly #signed = new WeakSet<Message>();
  readonly #media = new WeakSet<Message>();

  /**
   * Notes what is to be left out of these messages after a refusal. Returns whether there is anything that was not: then
   * another try may be accepted. Of images and files, those of the newest prompt are not left out: who sent them is told.
   */
  note({ status, text }: Refusal, messages: readonly Message[], isFirst: boolean): boolean {
    if (status === 400 && SIGNATURE.some((pattern) => pattern.test(text))) {
      return addAll(messages.filter(isSigned), this.#signed);
    }
    if (!MEDIA_STATUSES.includes(status) || !MEDIA.some((pattern) => pattern.test(text)))
      return false;
    const prompt = messages.findLastIndex(({ role }) => role === "user");
    const earlier = messages.slice(0, prompt).filter(hasMedia);
    // The older ones were accepted before.
    return addAll(isFirst ? earlier.slice(-1) : earlier, this.#media);
  }

  isUnsigned(message: Message): boolean {
    return this.#signed.has(message);
  }

  isWithoutMedia(message: Message): boolean {
    return this.#media.has(message);
  }
}

function addAll(messages: readonly Message[], to: WeakSet<Message>): boolean {
  const added = messages.filter((message) => !to.has(message));
  for (const message of added) to.add(message);
  return added.length > 0;
}

function isSigned(message: Message): boolean {
  return (
    message.role === "block_assistant" && message.blocks.some(({ data }) => data.meta !== undefined)
  );
}

function hasMedia(message: Message): message is UserMessage {
  return (
    message.role === "user" &&
    typeof message.content !== "string" &&
    message.content.some(({ type }) => type !== "text")
  );
}
