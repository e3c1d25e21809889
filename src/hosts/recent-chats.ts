const CHATS_MAX = 1_000;

/** What belongs to a chat, for the chats that were used last. */
export class RecentChats<Chat> {
  readonly #chats = new Map<string, Chat>();
  readonly #open: (id: string) => Chat;

  constructor(open: (id: string) => Chat) {
    this.#open = open;
  }

  of(id: string): Chat {
    const chat = this.#chats.get(id) ?? this.#open(id);
    this.#chats.delete(id);
    this.#chats.set(id, chat);
    for (const oldest of this.#chats.keys()) {
      if (this.#chats.size <= CHATS_MAX) break;
      this.#chats.delete(oldest);
    }
    return chat;
  }
}
