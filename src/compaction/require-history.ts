import { SessionError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";

/** The field that every message of a role has, and what may be in it. */
const FIELDS: Record<
  Message["role"],
  { readonly name: string; readonly text: boolean; readonly list: boolean }
> = {
  system: { name: "content", text: true, list: false },
  user: { name: "content", text: true, list: true },
  assistant: { name: "content", text: true, list: false },
  block_assistant: { name: "blocks", text: false, list: true },
  tool_results: { name: "results", text: false, list: true },
};

/**
 * Refuses what is not a history, such as messages in another library's shape.
 * It looks at each message's outside only; `messageSchema` looks deeper.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireHistory(messages: unknown): asserts messages is readonly Message[] {
  if (!Array.isArray(messages)) refuse("messages has to be an array.");
  for (const [index, message] of messages.entries()) {
    if (typeof message !== "object" || message === null) {
      refuse(`messages[${index}] is not an object.`);
    }
    const role = String(message.role);
    const field = Object.hasOwn(FIELDS, role) ? FIELDS[role as Message["role"]] : undefined;
    if (!field) {
      refuse(`messages[${index}].role is "${role}"; it may be ${Object.keys(FIELDS).join(", ")}.`);
    }
    const value: unknown = message[field.name];
    if ((field.text && typeof value === "string") || (field.list && Array.isArray(value))) continue;
    const allowed = [field.text ? "a text" : "", field.list ? "an array" : ""].filter(Boolean);
    refuse(`messages[${index}].${field.name} has to be ${allowed.join(" or ")}.`);
  }
}

function refuse(message: string): never {
  throw new SessionError("INVALID_PARAMS", { message });
}
