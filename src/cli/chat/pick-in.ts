import { notPicked, PICK_QUESTION, pickedIn } from "../terminal/ask.ts";
import type { Conversation } from "./conversation.ts";

/** Asks for numbers of a list until they are some of it. Returns the positions. */
export async function pickIn(chat: Conversation, count: number): Promise<readonly number[]> {
  for (;;) {
    const typed = await chat.screen.read({ text: chat.style.cyan(PICK_QUESTION) });
    const picked = typed.type === "text" ? pickedIn(typed.text, count) : [];
    if (picked) return picked;
    await chat.screen.note(notPicked(count).trimEnd());
  }
}
