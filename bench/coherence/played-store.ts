import { createSessionService, estimateTokens, type SessionEvent, type SessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { AgentModel, PRICE, type WorkRequest } from "./agent-session.ts";
import type { Spoken } from "./made-talk.ts";
import { inCopy, isPaired, textsOf, type Way } from "./played-session.ts";

/** What a session's model was sent for each message that it answered, and what that cost. */
export interface PlayedTalk {
  readonly id: string;
  /** The place of each request's message in the session is its `turn`. */
  readonly requests: readonly WorkRequest[];
  readonly summaries: number;
  /** Tokens sent, of which those that the request before had at its beginning count a tenth. */
  readonly cost: number;
  readonly violations: number;
}

/** What the model was sent for a question. */
export interface AskedStore {
  readonly texts: string;
  readonly tokens: number;
  readonly recalled: boolean;
  readonly violations: number;
  /** The texts that one search of the whole store finds. */
  readonly found: string;
}

/** A store of its own, in which one session after the other is played. */
export class PlayedStore {
  readonly #path: string;
  readonly #way: Way;
  readonly #summarise: (given: string) => string;

  constructor(path: string, way: Way, summarise: (given: string) => string) {
    this.#path = path;
    this.#way = way;
    this.#summarise = summarise;
  }

  /** Plays a session. Who is not asked says it to the others, and is heard. */
  async play(spoken: readonly Spoken[]): Promise<PlayedTalk> {
    const { service, model, close } = this.#open(this.#path);
    try {
      const { sessionId } = await service.createSession({});
      for (const [place, { text, speaker, time, answer }] of spoken.entries()) {
        const who = speaker === undefined ? {} : { speaker };
        const origin = { ...who, time, author: "user" } as const;
        if (answer === undefined) {
          const message = { role: "user", content: text } as const;
          await service.appendMessages({ sessionId, messages: [message], origin });
          continue;
        }
        model.turn = place;
        model.replies = [{ text: answer, time }];
        await service.startTurn({ sessionId, prompt: text, origin });
      }
      const { requests, summaries, cost } = model;
      const violations = requests.filter(({ messages }) => !isPaired(messages)).length;
      return { id: sessionId, requests, summaries, cost, violations };
    } finally {
      // Memory and what was learned are whole before the next session begins.
      await close();
    }
  }

  /** Asks something in a copy of the store: in a session, or in one that was not there before. */
  async ask(prompt: string, session?: string): Promise<AskedStore> {
    return await inCopy(this.#path, async (copy) => {
      const { service, model, close } = this.#open(copy);
      const hits = await service.searchMemory({ query: prompt });
      const sessionId = session ?? (await service.createSession({})).sessionId;
      const events: SessionEvent[] = [];
      model.replies = [{ text: "I see." }];
      await service.startTurn(
        { sessionId, prompt },
        { onEvent: ({ payload }) => void events.push(payload) },
      );
      await close();
      const { messages = [] } = model.requests[0] ?? {};
      return {
        texts: messages.flatMap(textsOf).join("\n"),
        tokens: estimateTokens(messages),
        recalled: events.some(
          (event) => event.type === "memory_recalled" && event.records.length > 0,
        ),
        violations: isPaired(messages) ? 0 : 1,
        found: hits.map(({ content }) => content).join("\n"),
      };
    });
  }

  #open(path: string): Opened {
    const { window, recallTokens } = this.#way;
    const model = new AgentModel(window, this.#summarise);
    const stores = sqliteStores({ path, thread: "main" });
    const service = createSessionService({
      model,
      stores,
      compaction: {},
      recallFrom: "project",
      prices: { [model.id]: PRICE },
      ...(recallTokens === undefined ? {} : { recallTokens }),
    });
    const close = async () => {
      await service.close();
      await stores.close();
    };
    return { service, model, close };
  }
}

interface Opened {
  readonly service: SessionService;
  readonly model: AgentModel;
  close(): Promise<void>;
}
