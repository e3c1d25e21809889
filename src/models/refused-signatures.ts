import type { Message } from "../core/message.ts";

/**
 * Error texts of providers that do not take back what they signed or encrypted. It was damaged on its way, or another
 * key, organisation, cloud or version of the model reads it now than the one that wrote it.
 */
const REFUSED: readonly RegExp[] = [
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

/** Whether a provider's error means that it does not accept a signature of the history. */
export function isSignatureRefused(status: number | undefined, text: string): boolean {
  return status === 400 && REFUSED.some((pattern) => pattern.test(text));
}

/**
 * Notes the signed messages of a refused request, which are sent without their signatures from now on. Returns whether
 * there are any that were not noted yet: then another try may be accepted.
 */
export function noteRefused(messages: readonly Message[], refused: WeakSet<Message>): boolean {
  const signed = messages.filter((message) => isSigned(message) && !refused.has(message));
  for (const message of signed) refused.add(message);
  return signed.length > 0;
}

function isSigned(message: Message): boolean {
  return (
    message.role === "block_assistant" && message.blocks.some(({ data }) => data.meta !== undefined)
  );
}
