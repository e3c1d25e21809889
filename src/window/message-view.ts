import type { Message } from "../core/message.ts";

/**
 * The reader of another loop's messages, and the writer of the two kinds of message that rkat adds there.
 *
 *     const view: MessageView<ChatMessage> = {
 *       read: ({ role, content }) => ({ message: { role, content } }),
 *       summary: (text) => ({ role: "user", content: text }),
 *       shorten: (message) => message, // these messages have no tool output
 *     };
 *
 * Contract:
 * - `read` depends on nothing but the message, and changes nothing.
 * - `summary` makes a user message, and `read` gives its text back unchanged.
 * - `shorten` makes a copy. `read` gives the new outputs back, and everything else as before.
 */
export interface MessageView<HostMessage extends object> {
  read(message: HostMessage): ViewedMessage;

  /**
   * The host's own id of a message, if it has one that is never used for other content. Without an id,
   * messages are the same when they are one object, or when what `read` shows is the same.
   */
  id?(message: HostMessage): string | undefined;

  /** A new message of the host with the text of a summary. */
  summary(text: string): HostMessage;

  /** A copy of a message with these tool outputs, by the id of the tool call. */
  shorten(message: HostMessage, outputs: ReadonlyMap<string, string>): HostMessage;
}

/** The parts of a host's message that rkat can read. */
export interface ViewedMessage {
  /**
   * The message, or the piece of one. Pieces of one answer (reasoning, text, calls) are joined, and so
   * are tool results in a row. Without it, the message stays and leaves with the one before it.
   */
  readonly message?: Message;
  /** The name of the person who wrote it, if the host has it. It stands beside the words that a compaction keeps. */
  readonly speaker?: string;
  /** Estimated tokens of the parts that `message` does not show: a quarter of the bytes of their JSON. */
  readonly opaqueTokens?: number;
  /** The message stays and leaves with the one after it, as reasoning does with the answer or the calls that it led to. */
  readonly joins?: "next";
  /**
   * Ids of the calls that a provider runs by itself, for each call and each result that `message` does not show. The
   * result may come in a later answer: the two stay and leave together.
   */
  readonly ownCalls?: readonly string[];
  /** It never leaves: a provider put it in the place of what was said before, in a form that only the provider can read. */
  readonly stays?: true;
}
