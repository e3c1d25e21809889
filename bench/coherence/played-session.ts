import { copyFileSync, rmSync } from "node:fs";
import {
  createSessionService,
  estimateTokens,
  indexableText,
  type LanguageModel,
  type Message,
  type ModelRequest,
  type Origin,
  type SessionEvent,
  type SessionService,
} from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";
import type { Exchange, Said } from "./talk.ts";

/** How a history is kept. */
export interface Way {
  /** Tokens of a window. */
  readonly window: number;
  /** Tokens that may come back by themselves in a turn; undefined for the default. */
  readonly recallTokens?: number;
}

/** What a model was sent in a turn, and what came back by itself. */
export interface Asked {
  /** The texts of the first request, with one space in place of each white space. */
  readonly texts: string;
  readonly tokens: number;
  readonly recalledTokens: number;
  /** Whether anything was recalled. */
  readonly recalled: boolean;
  readonly violations: number;
  /** The texts that one search for the prompt finds, if it was asked for. */
  readonly found: string;
}

/** A session in a file of its own, with a model that says what the script says. */
export class PlayedSession {
  readonly #path: string;
  readonly #way: Way;
  readonly #summarise: (given: string) => string;
  #sessionId = "";
  compactions = 0;
  violations = 0;

  constructor(path: string, way: Way, summarise: (given: string) => string) {
    this.#path = path;
    this.#way = way;
    this.#summarise = summarise;
  }

  /** Plays what was said into the session. Each exchange is a turn of the real loop. */
  async play(
    exchanges: Iterable<Exchange>,
    isOver = (_compactions: number, _turns: number) => false,
  ): Promise<void> {
    const opened = this.#open(this.#path);
    try {
      if (this.#sessionId === "") {
        ({ sessionId: this.#sessionId } = await opened.service.createSession({}));
      }
      let turns = 0;
      for (const exchange of exchanges) {
        await this.#playOne(opened, exchange);
        turns += 1;
        if (isOver(this.compactions, turns)) break;
      }
    } finally {
      await opened.close();
    }
  }

  async #playOne({ service, model, events }: Opened, { asked, answered }: Exchange): Promise<void> {
    const sessionId = this.#sessionId;
    const append = async (role: "user" | "assistant", { text, ...who }: Said) => {
      const origin: Origin = { ...who, author: "user" };
      await service.appendMessages({ sessionId, messages: [{ role, content: text }], origin });
    };
    for (const said of asked.slice(0, -1)) await append("user", said);
    const { text: prompt = "…", ...who } = asked.at(-1) ?? {};
    model.answer = answered[0] ?? { text: "…" };
    model.requests.length = 0;
    events.length = 0;
    await service.startTurn(
      { sessionId, prompt, origin: { ...who, author: "user" } },
      { onEvent: ({ payload }) => void events.push(payload) },
    );
    for (const said of answered.slice(1)) await append("assistant", said);
    this.compactions += events.filter(({ type }) => type === "compaction_completed").length;
    this.violations += model.requests.filter(({ messages }) => !isPaired(messages)).length;
  }

  /** Asks something in a copy of the session, and says what the model was sent. The session stays as it is. */
  async ask(prompt: string, searches = true): Promise<Asked> {
    return await inCopy(this.#path, async (copy) => {
      const { service, model, events, close } = this.#open(copy);
      const sessionId = this.#sessionId;
      const hits = searches ? await service.searchMemory({ query: prompt, sessionId }) : [];
      model.answer = { text: "I see." };
      await service.startTurn(
        { sessionId, prompt },
        { onEvent: ({ payload }) => void events.push(payload) },
      );
      await close();
      const [messages = []] = model.requests.map((request) => request.messages);
      const recalled = events.flatMap(recalledIn);
      return {
        texts: oneSpaced(messages.flatMap(textsOf).join("\n")),
        tokens: estimateTokens(messages),
        recalledTokens: recalled.reduce((sum, { tokens }) => sum + tokens, 0),
        recalled: recalled.some(({ records }) => records > 0),
        violations: model.requests.filter((request) => !isPaired(request.messages)).length,
        found: oneSpaced(hits.map(({ content }) => content).join("\n")),
      };
    });
  }

  #open(path: string): Opened {
    const { window, recallTokens } = this.#way;
    const model = new TalkModel(window);
    const stores = sqliteStores({ path, thread: "main" });
    const summarise = this.#summarise;
    const service = createSessionService({
      model,
      stores,
      compaction: {
        summarizer: scriptedModel(({ messages }) =>
          summarise(messages.flatMap(textsOf).join("\n")),
        ),
      },
      ...(recallTokens === undefined ? {} : { recallTokens }),
    });
    const close = async () => {
      await service.close();
      await stores.close();
    };
    return { service, model, events: [], close };
  }
}

/** Does something with a copy of a store's file. */
export async function inCopy<Result>(
  path: string,
  work: (copy: string) => Promise<Result>,
): Promise<Result> {
  const copy = `${path}.asked`;
  copyFileSync(path, copy);
  try {
    return await work(copy);
  } finally {
    for (const end of ["", "-wal", "-shm"]) rmSync(copy + end, { force: true });
  }
}

interface Opened {
  readonly service: SessionService;
  readonly model: TalkModel;
  readonly events: SessionEvent[];
  close(): Promise<void>;
}

/** Answers as the talk goes on, and keeps what it was sent. */
class TalkModel implements LanguageModel {
  readonly id = "bench/talk";
  readonly contextWindow: number;
  readonly requests: ModelRequest[] = [];
  answer: Said = { text: "…" };

  constructor(contextWindow: number) {
    this.contextWindow = contextWindow;
  }

  async *stream(request: ModelRequest): ReturnType<LanguageModel["stream"]> {
    this.requests.push(request);
    const { text, ...origin } = this.answer;
    yield { type: "block", block: { block_type: "text", data: { text } } };
    const usage = {
      input_tokens: estimateTokens(request.messages),
      output_tokens: 1,
      cache_creation_tokens: null,
      cache_read_tokens: null,
    };
    yield { type: "finish", stopReason: "end_turn", usage, origin };
  }
}

/** Whether this version of rkat recalls without being asked, and lets a caller say how much. */
export function canRecall(): boolean {
  try {
    const options = { model: scriptedModel([]), recallTokens: 0 };
    void createSessionService(options).close();
    return true;
  } catch {
    return false;
  }
}

/** A text with one space in place of each white space, so that lines that were indented are the same words. */
export function oneSpaced(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

export function textsOf(message: Message): readonly string[] {
  switch (message.role) {
    case "system":
      return [message.content];
    case "tool_results":
      return message.results.map(({ content }) => content);
    case "user":
      return typeof message.content === "string"
        ? [message.content]
        : message.content.map((block) => JSON.stringify(block));
    default:
      return [indexableText(message)];
  }
}

export function isPaired(messages: readonly Message[]): boolean {
  const calls = messages.flatMap((message) =>
    message.role === "block_assistant"
      ? message.blocks.flatMap((block) => (block.block_type === "tool_use" ? [block.data.id] : []))
      : [],
  );
  const results = messages.flatMap((message) =>
    message.role === "tool_results" ? message.results.map((result) => result.tool_use_id) : [],
  );
  return calls.sort().join() === results.sort().join();
}

/** What an event says was recalled. Versions without recall have no such event. */
function recalledIn(event: { readonly type: string }) {
  if (event.type !== "memory_recalled") return [];
  const { records, tokens } = event as { records?: readonly unknown[]; tokens?: number };
  return [{ records: records?.length ?? 0, tokens: tokens ?? 0 }];
}
