const CHATS_MAX = 1_000;

/** What belongs to a chat, by what the chat is known by, for those that were used last. */
export class RecentChats<Chat> {
  readonly #chats = new Map<string, Chat>();
  readonly #open: () => Chat;

  constructor(open: () => Chat) {
    this.#open = open;
  }

  of(key: string): Chat {
    const chat = this.#chats.get(key) ?? this.#open();
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
