const CHATS_MAX = 1_000;

/** What belongs to a chat, by the key of the chat. The longest unused are dropped first. */
export class RecentChats<Chat> {
  readonly #chats = new Map<string, Chat>();
  readonly #open: (key: string) => Chat;
  readonly #most: number;

  constructor(open: (key: string) => Chat, most = CHATS_MAX) {
    this.#open = open;
    this.#most = most;
  }

  get size(): number {
    return this.#chats.size;
  }

  of(key: string): Chat {
    const chat = this.#chats.get(key) ?? this.#open(key);
    this.name(chat, key);
    return chat;
  }

  /** From now on the chat is found by this key too. */
  name(chat: Chat, key: string): void {
    this.#chats.delete(key);
    this.#chats.set(key, chat);
    for (const oldest of this.#chats.keys()) {
      if (this.#chats.size <= this.#most) break;
      this.#chats.delete(oldest);
    }
  }
}
