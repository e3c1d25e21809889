import { SUMMARY_PREFIX } from "../core/message.ts";

/** What `alternating` has to know of a host's messages. */
export interface HostRoles<HostMessage> {
  /** The text of a user's message, or its beginning; `undefined` for other messages. */
  userText(message: HostMessage): string | undefined;
  /** A message of the model that says `ANSWER`. */
  readonly answer: HostMessage;
}

export const ANSWER = "Noted.";

/** Room for the answers of a request, which no window counts. */
export const ANSWERS_TOKENS = 50;

/**
 * Puts an answer between user messages that a compaction brought together. Templates of many local
 * servers refuse two in a row:
 *
 *     C U A     →   C (Noted.) U A      C is the summary
 *
 * It depends on nothing but the messages, so a request begins as the one before it did. A history
 * without a summary stays as it is. The answers are only sent: no host keeps them.
 */
export function alternating<HostMessage>(
  messages: readonly HostMessage[],
  { userText, answer }: HostRoles<HostMessage>,
): readonly HostMessage[] {
  const texts = messages.map(userText);
  if (!texts.some((text) => text?.startsWith(SUMMARY_PREFIX))) return messages;
  return messages.flatMap((message, index) =>
    texts[index] !== undefined && texts[index - 1] !== undefined ? [answer, message] : [message],
  );
}
