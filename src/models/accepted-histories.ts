import type {
  AssistantBlock,
  BlockAssistantMessage,
  Message,
  UserMessage,
} from "../core/message.ts";
import { type Refusal, refusalOf } from "./provider-failure.ts";

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
];

const MEDIA_STATUSES: readonly (number | undefined)[] = [400, 404, 415, 422, 500];

/**
 * Sends histories without what a model's provider has refused of them. Else each request of a session would be refused,
 * since its history keeps that.
 */
export class AcceptedHistories {
  /** The message that each model accepted in the place of another one. */
  readonly #instead = new WeakMap<Message, Map<string, Message>>();

  /** Asks a model, and again without what it refuses. When no try is accepted, nothing is left out later. */
  async send<Answer>(
    model: string,
    messages: readonly Message[],
    ask: (messages: readonly Message[]) => Promise<Answer>,
  ): Promise<Answer> {
    let sent = messages.map((message) => this.#instead.get(message)?.get(model) ?? message);
    // Of images, the newest alone at first: the older ones were accepted before.
    for (let mediaMax = 1; ; mediaMax = Infinity) {
      try {
        const answer = await ask(sent);
        this.#remember(model, messages, sent);
        return answer;
      } catch (error) {
        const shorter = withoutRefused(refusalOf(error), sent, mediaMax);
        if (!shorter) throw error;
        sent = shorter;
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

/**
 * The messages without what this refusal is about; undefined when it is about nothing in them. The images and files of
 * the newest prompt stay: who sent them reads the refusal.
 */
function withoutRefused({ status, text }: Refusal, messages: readonly Message[], mediaMax: number) {
  const says = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(text));
  if (status === 400 && says(SIGNATURE)) {
    if (!messages.some(isSigned)) return undefined;
    return messages.map((message) => (isSigned(message) ? withoutSignatures(message) : message));
  }
  if (!MEDIA_STATUSES.includes(status) || !says(MEDIA)) return undefined;
  const newest = messages.findLastIndex(({ role }) => role === "user");
  const refused = messages.slice(0, Math.max(newest, 0)).filter(hasMedia).slice(-mediaMax);
  if (refused.length === 0) return undefined;
  const without = new Map<Message, Message>(refused.map((each) => [each, withoutMedia(each)]));
  return messages.map((message) => without.get(message) ?? message);
}

function isSigned(message: Message): message is BlockAssistantMessage {
  return (
    message.role === "block_assistant" && message.blocks.some(({ data }) => data.meta !== undefined)
  );
}

function withoutSignatures(message: BlockAssistantMessage): BlockAssistantMessage {
  const blocks = message.blocks.map((block) => {
    const { meta: _, ...data } = block.data;
    return { ...block, data } as AssistantBlock;
  });
  return { ...message, blocks };
}

function hasMedia(message: Message): message is UserMessage {
  return (
    message.role === "user" &&
    typeof message.content !== "string" &&
    message.content.some(({ type }) => type !== "text")
  );
}

/** With a note in the place of each image and file. */
function withoutMedia({ content, ...message }: UserMessage): UserMessage {
  if (typeof content === "string") return { ...message, content };
  const texts = content.map((block) => {
    if (block.type === "text") return block;
    const what = block.type === "image" ? "An image" : `The file ${block.filename ?? "of a user"}`;
    return { type: "text" as const, text: `(${what} was here, which the provider refused.)` };
  });
  return { ...message, content: texts };
}
