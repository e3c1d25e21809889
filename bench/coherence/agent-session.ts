import {
  createSessionService,
  defineTool,
  estimateTokens,
  type LanguageModel,
  type Message,
  type ModelRequest,
  type SessionService,
  type ToolUse,
} from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import type { AgentRun } from "../hosts/agent-run.ts";
import { inCopy, isPaired, oneSpaced, textsOf, type Way } from "./played-session.ts";

/** A request for a step of an agent's work. */
export interface WorkRequest {
  readonly messages: readonly Message[];
  /** The turn that it belongs to. */
  readonly turn: number;
}

/** What an agent's session was sent, and what it cost. */
export interface AgentWork {
  readonly requests: readonly WorkRequest[];
  readonly summaries: number;
  /** Tokens sent, of which those that the request before had at its beginning count a tenth. */
  readonly cost: number;
  readonly violations: number;
}

/** An agent at work, in a store of its own: a model that says what the script says, and a tool that reads. */
export class AgentSession {
  readonly #path: string;
  readonly #way: Way;
  readonly #run: AgentRun;
  readonly #summarise: (given: string) => string;
  #sessionId = "";

  constructor(path: string, way: Way, run: AgentRun, summarise: (given: string) => string) {
    this.#path = path;
    this.#way = way;
    this.#run = run;
    this.#summarise = summarise;
  }

  /** Has all turns of the conversation. */
  async work(say: (turn: number) => Promise<void>): Promise<AgentWork> {
    const { turns } = this.#run;
    const opened = this.#open(this.#path);
    const { service, model } = opened;
    try {
      ({ sessionId: this.#sessionId } = await service.createSession({}));
      for (const [turn, { prompt, steps, answer }] of turns.entries()) {
        if (turn % 10 === 0) await say(turn);
        model.turn = turn;
        model.replies = [...steps.map(({ text, calls }) => ({ text, calls })), { text: answer }];
        await service.startTurn({ sessionId: this.#sessionId, prompt });
      }
    } finally {
      await opened.close();
    }
    const { requests, summaries, cost } = model;
    const violations = requests.filter(({ messages }) => !isPaired(messages)).length;
    return { requests, summaries, cost, violations };
  }

  /** Asks something in a copy of the session: the texts of the request for it, and those that one search finds. */
  async ask(prompt: string): Promise<{ readonly texts: string; readonly found: string }> {
    return await inCopy(this.#path, async (copy) => {
      const { service, model, close } = this.#open(copy);
      const sessionId = this.#sessionId;
      const hits = await service.searchHistory({ query: prompt, sessionId, limit: 10 });
      model.replies = [{ text: "I see." }];
      await service.startTurn({ sessionId, prompt });
      await close();
      const texts = (model.requests[0]?.messages ?? []).flatMap(textsOf).join("\n");
      return {
        texts: oneSpaced(texts),
        found: oneSpaced(hits.map(({ content }) => content).join("\n")),
      };
    });
  }

  #open(path: string): Opened {
    const { window, recallTokens } = this.#way;
    const outputs = new Map(
      this.#run.turns.flatMap(({ steps }) =>
        steps.flatMap(({ calls }) => calls.map(({ path, output }) => [path, output] as const)),
      ),
    );
    const read = defineTool({
      name: "read",
      description: "Reads a file.",
      input: z.object({ path: z.string() }),
      execute: async ({ path }) => outputs.get(path) ?? "There is no such file.",
    });
    const model = new AgentModel(window, this.#summarise);
    const stores = sqliteStores({ path, thread: "main" });
    const service = createSessionService({
      model,
      stores,
      compaction: {},
      tools: [read],
      systemPrompt: this.#run.instructions,
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

/** What most providers ask, in relation to each other. */
export const PRICE = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1 };

interface Opened {
  readonly service: SessionService;
  readonly model: AgentModel;
  close(): Promise<void>;
}

/** An answer of the script, and when it was given. */
interface Reply {
  readonly text: string;
  readonly calls?: AgentRun["turns"][number]["steps"][number]["calls"];
  readonly time?: string;
}

/** Says what the script says, writes the summaries, and counts as a provider with a cache does. */
export class AgentModel implements LanguageModel {
  readonly id = "bench/agent";
  readonly contextWindow: number;
  readonly requests: WorkRequest[] = [];
  turn = 0;
  replies: Reply[] = [];
  summaries = 0;
  cost = 0;
  readonly #summarise: (given: string) => string;
  #cached: readonly string[] = [];

  constructor(contextWindow: number, summarise: (given: string) => string) {
    this.contextWindow = contextWindow;
    this.#summarise = summarise;
  }

  async *stream({ messages }: ModelRequest): ReturnType<LanguageModel["stream"]> {
    const sent = messages.map((message) => JSON.stringify(message));
    const same = sent.findIndex((text, index) => text !== this.#cached[index]);
    const cached = estimateTokens(same < 0 ? messages : messages.slice(0, same));
    this.#cached = sent;
    const input = estimateTokens(messages);
    this.cost += input - 0.9 * cached;
    const { text, calls = [], time } = this.#replyTo(messages);
    if (text !== "") yield { type: "block", block: { block_type: "text", data: { text } } };
    for (const { id, path } of calls) {
      const data: ToolUse = { id, name: "read", args: { path } };
      yield { type: "block", block: { block_type: "tool_use", data } };
    }
    yield {
      type: "finish",
      stopReason: calls.length > 0 ? "tool_use" : "end_turn",
      usage: {
        input_tokens: input,
        output_tokens: 1 + estimateTokens([{ role: "assistant", content: text }]),
        cache_creation_tokens: null,
        cache_read_tokens: cached,
      },
      ...(time === undefined ? {} : { origin: { time } }),
    };
  }

  #replyTo(messages: readonly Message[]): Reply {
    const last = messages.at(-1);
    if (last?.role === "user" && textsOf(last).some((text) => SUMMARY_REQUEST.test(text))) {
      this.summaries += 1;
      return { text: this.#summarise(messages.flatMap(textsOf).join("\n")) };
    }
    this.requests.push({ messages: [...messages], turn: this.turn });
    return this.replies.shift() ?? { text: "The script is at its end." };
  }
}

/** What the prompt for a summary begins with. */
const SUMMARY_REQUEST = /CONTEXT COMPACTION/;
