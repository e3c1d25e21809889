import { SessionError } from "../core/errors.ts";

/**
 * Refuses what is no list of messages. `name` is what the host calls it.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireMessages(name: string, messages: unknown): void {
  if (!Array.isArray(messages)) throw notMessages(`${name} is ${kindOf(messages)}, not an array.`);
  const wrong = messages.findIndex((each) => typeof each !== "object" || each === null);
  if (wrong < 0) return;
  throw notMessages(`${name}[${wrong}] is ${kindOf(messages[wrong])}, not a message.`);
}

function notMessages(message: string): SessionError {
  const hint = "Pass the messages of the conversation, oldest first.";
  return new SessionError("INVALID_PARAMS", { message, hint });
}

function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a ${typeof value}`;
}
