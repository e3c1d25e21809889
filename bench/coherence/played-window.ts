import { createHistoryWindow, estimateTokens, type MessageView } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import type { Spoken } from "./made-talk.ts";
import { inCopy, textsOf, type Way } from "./played-session.ts";

interface ChatMessage {
  readonly name: string;
  readonly content: string;
}

const VIEW: MessageView<ChatMessage> = {
  read: ({ name, content }) => ({ message: { role: "user", content }, speaker: name }),
  summary: (content) => ({ name: "", content }),
  shorten: (message) => message,
};

/** Messages between two looks at the window. */
const STEP = 10;

/** A chat in which only people speak, in the window of a program that listens. */
export class PlayedWindow {
  readonly #path: string;
  readonly #way: Way;
  readonly #summarise: (given: string) => string;
  #said: readonly ChatMessage[] = [];

  constructor(path: string, way: Way, summarise: (given: string) => string) {
    this.#path = path;
    this.#way = way;
    this.#summarise = summarise;
  }

  async play(spoken: readonly Spoken[]): Promise<void> {
    this.#said = spoken.map(({ speaker = "", text }) => ({ name: speaker, content: text }));
    const lengths = Array.from(
      { length: Math.floor(spoken.length / STEP) },
      (_, at) => STEP * (at + 1),
    );
    await this.#send(
      this.#path,
      lengths.map((length) => this.#said.slice(0, length)),
    );
  }

  /** What would be sent, if somebody asked something at the end. */
  async ask(query: string): Promise<{ readonly texts: string; readonly tokens: number }> {
    return await inCopy(this.#path, async (copy) => {
      const sent = await this.#send(copy, [[...this.#said, { name: "Zoe", content: query }]]);
      const texts = sent.map(({ content }) => content).join("\n");
      const messages = sent.map(({ content }) => ({ role: "user", content }) as const);
      return { texts, tokens: estimateTokens(messages) };
    });
  }

  async #send(
    path: string,
    histories: readonly (readonly ChatMessage[])[],
  ): Promise<readonly ChatMessage[]> {
    const { window: contextWindow, recallTokens } = this.#way;
    const stores = sqliteStores({ path, thread: "main" });
    const window = createHistoryWindow({
      view: VIEW,
      stores,
      chatId: "chat",
      contextWindow,
      summarize: async ({ messages }) => this.#summarise(messages.flatMap(textsOf).join("\n")),
      ...(recallTokens === undefined ? {} : { recallTokens }),
    });
    let sent: readonly ChatMessage[] = [];
    for (const history of histories) sent = (await window.apply(history)).messages;
    await window.close();
    await stores.close();
    return sent;
  }
}
