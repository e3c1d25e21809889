import type { MemoryEntry } from "../core/memory-store.ts";
import { contentText, isSummary } from "../core/message.ts";
import { hashOf } from "../knowledge/hash-of.ts";
import { heldAfter } from "../knowledge/lasting-wishes.ts";
import type { MessageView } from "./message-view.ts";

/** The standing instructions that hold in a chat's history, as entries that the chat of another agent can begin with. */
export function demandsIn<HostMessage extends object>(
  history: readonly HostMessage[],
  view: Pick<MessageView<HostMessage>, "read">,
  sessionId: string,
): readonly MemoryEntry[] {
  const said = history.flatMap((each) => {
    const { message } = view.read(each);
    const isUsers = message?.role === "user" && !isSummary(message);
    return isUsers ? [{ text: contentText(message.content) }] : [];
  });
  return heldAfter(said).map(({ text: content }) => ({
    id: `demand:${hashOf([sessionId, content])}`,
    content,
    sessionId,
    turn: null,
    kind: "message",
    role: "user",
  }));
}
