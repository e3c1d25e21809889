const CHATS_MAX = 200;

/** What belongs to a chat, by the key of the chat. The longest unused are dropped first. */
export class RecentChats<Chat> {
  readonly #chats = new Map<string, Chat>();

  get size(): number {
    return this.#chats.size;
  }

  of(key: string, open: () => Chat): Chat {
    const chat = this.#chats.get(key) ?? open();
    this.name(chat, key);
    return chat;
  }

  /** From now on the chat is found by this key too. */
  name(chat: Chat, key: string): void {
    this.#chats.delete(key);
    this.#chats.set(key, chat);
    for (const oldest of this.#chats.keys()) {
      if (this.#chats.size <= CHATS_MAX) break;
      this.#chats.delete(oldest);
    }
  }
}
