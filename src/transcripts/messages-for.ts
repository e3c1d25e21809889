import type { ImportedMessage, ImportedSession } from "./imported.ts";

/** The messages of a session. The prompts of a subagent are a model's, not a person's. */
export function messagesFor(
  parent: ImportedSession["parent"],
  messages: AsyncIterable<ImportedMessage>,
): AsyncIterable<ImportedMessage> {
  return parent?.relation === "subagent" ? promptsOfModel(messages) : messages;
}

async function* promptsOfModel(
  messages: AsyncIterable<ImportedMessage>,
): AsyncGenerator<ImportedMessage> {
  for await (const message of messages) {
    const { origin } = message;
    const isPrompt = origin.author === "user";
    yield isPrompt ? { ...message, origin: { ...origin, author: "model" } } : message;
  }
}
