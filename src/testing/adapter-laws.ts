import assert from "node:assert/strict";
import {
  type ContentBlock,
  contentText,
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { looksRecalled } from "../core/recalled.ts";
import { estimateTokens } from "../core/tokens.ts";
import { expects, type Law, lawsOf, RandomWords } from "./law.ts";

/** A conversation for a loop to have, with a model that says what is written here. */
export interface LoopScript {
  readonly instructions: string;
  readonly turns: readonly LoopTurn[];
  readonly contextWindow: number;
  /** Tokens that the provider really takes, when it refuses requests that `contextWindow` allows. */
  readonly refusedAbove?: number;
  /** The outcome of a request for a summary. */
  readonly summaries: "written" | "failing";
}

/** The laws have turns with a prompt, steps and an answer only. Random conversations have the rest too. */
export interface LoopTurn {
  readonly prompt: string;
  /** A picture in the prompt: a PNG as base64. */
  readonly image?: string;
  /** A system message before the prompt, in the middle of the history. */
  readonly system?: string;
  /** The number of turns that the user takes back before this one, in a loop whose application keeps the list. */
  readonly takesBack?: number;
  /** The user words the prompt before this one in another way, and keeps what came after it. */
  readonly rewords?: string;
  /** Answers with calls of the tool `read`, whose output is written here too. */
  readonly steps: readonly LoopStep[];
  /** The last answer, without calls. */
  readonly answer: string;
  /** The event in place of the last answer: the provider fails, or the user stops the run. */
  readonly ends?: "failed" | "stopped";
}

export interface LoopStep {
  readonly text: string;
  readonly reasoning?: string;
  readonly calls: readonly LoopCall[];
}

export interface LoopCall {
  readonly id: string;
  readonly path: string;
  readonly output: string;
  /** The tool throws its output as an error. */
  readonly fails?: boolean;
}

/** The record of a loop that ran a script. */
export interface LoopRecord {
  /** The messages of each request to the model, in order, without those that were refused or for summaries. */
  readonly requests: readonly (readonly Message[])[];
  /** Requests for a summary. */
  readonly summaries: number;
  /** The last answer of each turn; empty for a turn that ends without one. */
  readonly answers: readonly string[];
  /** The model that was asked: the rules of its provider count pictures. If not given, the rule that counts most. */
  readonly model?: string | undefined;
}

/**
 * A loop with an adapter in it. `run` has the conversation of a script from its first prompt to its
 * last answer: every turn offers the whole conversation so far, as an application does.
 */
export interface AdaptedLoop {
  run(script: LoopScript): Promise<LoopRecord>;
}

type Check = (script: LoopScript, record: LoopRecord) => void;

/** Promises that one conversation shows. */
const PROMISES: Readonly<Record<string, Check>> = {
  "every conversation comes to its end": (script, { answers }) => {
    assert.deepEqual(
      answers,
      script.turns.map(({ answer, ends }) => (ends ? "" : answer)),
    );
  },
  "no tool call is sent without its result, and no result without its call": (_, { requests }) => {
    for (const messages of requests) {
      const calls = messages.flatMap(toolUses).map(({ id }) => id);
      const results = messages.flatMap(toolResults).map(({ tool_use_id }) => tool_use_id);
      assert.deepEqual(results.sort(), calls.sort());
    }
  },
  "the last user message stays word for word": (script, { requests }) => {
    for (const [index, messages] of requests.entries()) {
      const last = messages.findLast(isPrompt);
      expects(last?.role === "user", "a user message", messages);
      const { prompt, image } = turnOf(script, index)?.turn ?? {};
      assert.equal(contentText(last.content), prompt);
      const pictures = typeof last.content === "string" ? [] : last.content.filter(isPicture);
      assert.equal(pictures.length, image === undefined ? 0 : 1);
    }
  },
  "system messages stay word for word": (script, { requests }) => {
    for (const [index, messages] of requests.entries()) {
      const said = messages.flatMap((message) =>
        message.role === "system" ? [message.content] : [],
      );
      for (const system of systemsBefore(script, index)) {
        const isSaid = said.some((content) => content.includes(system));
        expects(isSaid, `the system message "${system}"`, said);
      }
    }
  },
  "reasoning stays with the answer or the calls that it led to": (script, { requests }) => {
    const reasoned = new Set(
      script.turns.flatMap(({ steps }) =>
        steps.flatMap(({ reasoning, calls }) => (reasoning ? calls.map(({ id }) => id) : [])),
      ),
    );
    // Not every protocol sends reasoning.
    if (!requests.some((messages) => messages.some(hasReasoning))) return;
    for (const messages of requests) {
      for (const message of messages) {
        const led = toolUses(message).some(({ id }) => reasoned.has(id));
        expects(!led || hasReasoning(message), "the reasoning before these calls", message);
      }
    }
  },
  "standing instructions of the user stay word for word": (_, { requests }) => {
    for (const messages of requests) {
      const said = messages.filter(isPrompt).some((message) => {
        return textOf(message).includes(INSTRUCTION);
      });
      expects(said, `a user message with "${INSTRUCTION}"`, messages);
    }
  },
  "each request extends the previous one, unless a compaction happened, or records of memory left":
    (script, { requests, model }) => {
      const tokensIn = (messages: readonly Message[]) => estimateTokens(messages, model);
      let rewritten = 0;
      for (const [index, messages] of requests.entries()) {
        const before = requests[index - 1] ?? [];
        const { isFirst = false, turn } = turnOf(script, index) ?? {};
        if (isFirst && (turn?.takesBack || turn?.rewords)) continue;
        // Hosts keep different parts of a turn that has no answer.
        if (isFirst && turnOf(script, index - 1)?.turn.ends) continue;
        if (extendsThe(before, messages)) continue;
        const step = stepsOf(script)[index - 1];
        const asked = messages.filter(isPrompt).slice(-1);
        const most = tokensIn([...before, ...asked]) + tokensOf(step) + ENVELOPE;
        rewritten += 1;
        const full = COMPACTED_ABOVE * roomOf(script);
        if (extendsThe(before.filter(isNoRecord), messages.filter(isNoRecord))) {
          const both = most + tokensIn(messages.filter((message) => !isNoRecord(message)));
          expects(both > full, "the records of the previous request, which had room", both);
          continue;
        }
        expects(most > full, "the same beginning, as there was no reason to compact", most);
        expects(
          tokensIn(messages) < most,
          `a request below ${most} tokens after a compaction`,
          tokensIn(messages),
        );
      }
      const isRoomy = stepsOf(script).every((step) => tokensOf(step) < roomOf(script) / 4);
      if (!isRoomy) return;
      expects(rewritten <= requests.length / 3, "few requests that begin otherwise", rewritten);
    },
  "a compaction pays for one summary, however often the host offers the history again": (
    { summaries },
    { requests, summaries: paid },
  ) => {
    if (summaries === "failing") return;
    const seen = new Set(requests.flatMap((messages) => messages.filter(isSent).map(textOf)));
    expects(paid <= seen.size, `one request for each of ${seen.size} summaries`, paid);
  },
  "a failing summariser is not asked at each step": (
    { summaries },
    { requests, summaries: paid },
  ) => {
    if (summaries === "written") return;
    expects(paid <= 1 + requests.length / 2, "fewer requests for summaries than steps", paid);
  },
  "a request has one summary at most": (_, { requests }) => {
    for (const messages of requests) {
      expects(messages.filter(isSent).length <= 1, "one summary at most", messages);
    }
  },
  "each request fits the context window": (script, { requests, model }) => {
    for (const messages of requests) {
      const tokens = estimateTokens(messages, model);
      const most = script.contextWindow * ESTIMATE_ERROR;
      expects(tokens <= most, `at most ${most} tokens`, tokens);
    }
  },
};

/**
 * The promises of every adapter, over random conversations. Give it a loop with your adapter and a
 * scripted model:
 *
 *     for (const law of adapterLaws) test(law.name, () => law.holds(async () => myLoop));
 */
export const adapterLaws: readonly Law<AdaptedLoop>[] = lawsOf({
  ...Object.fromEntries(
    Object.entries(PROMISES).map(([name, check]) => [
      name,
      (loop: AdaptedLoop) => inEveryRun(loop, check),
    ]),
  ),
  "a long conversation is compacted": (loop) =>
    inEveryRun(loop, (script, { requests }) => {
      if (script.summaries === "failing") return;
      const compacted = requests.some((messages) => messages.some(isSent));
      expects(compacted, "a request with a summary", requests.length);
    }),
});

/** The promise of an adapter with a memory that comes back by itself. */
export const recallingAdapterLaws: readonly Law<AdaptedLoop>[] = lawsOf({
  "what left comes back with the prompt that needs it, and stays for the next, once each time":
    async (loop) => {
      for (const seed of [11, 12]) {
        const script = withQuestion(scriptOf(new RandomWords(seed), "written"));
        const { requests } = await loop.run(script);
        for (const messages of requests.slice(-2)) {
          const shown = messages.filter((message) => JSON.stringify(message).includes(SECRET));
          expects(shown.length === 1, `"${SECRET}" once`, messages);
        }
      }
    },
});

const SECRET = "The spare key of the boathouse hangs behind the blue oilskin.";

/** The script with something said at its beginning, a question about it at its end, and thanks for the answer. */
function withQuestion(script: LoopScript): LoopScript {
  const turn = (prompt: string, answer: string): LoopTurn => ({ prompt, steps: [], answer });
  const [first, ...others] = script.turns as readonly [LoopTurn, ...LoopTurn[]];
  const turns = [
    first,
    turn("What do I have to know about the boathouse?", SECRET),
    ...others,
    turn("Where does the spare key of the boathouse hang?", "Behind the oilskin."),
    turn("Thanks.", "You are welcome."),
  ];
  return { ...script, turns };
}

/** Throws for the first promise that a conversation breaks. */
export function requirePromises(script: LoopScript, record: LoopRecord): void {
  for (const [name, check] of Object.entries(PROMISES)) {
    try {
      check(script, record);
    } catch (error) {
      throw new Error(`The promise "${name}" is broken.`, { cause: error });
    }
  }
}

function extendsThe(before: readonly Message[], messages: readonly Message[]): boolean {
  return JSON.stringify(messages.slice(0, before.length)) === JSON.stringify(before);
}

/** The message shows no records of memory. */
function isNoRecord(message: Message): boolean {
  return !(message.role === "user" && looksRecalled(textOf(message)));
}

/** Two estimates of one request differ: of the host's messages, and of the provider's request. */
const ESTIMATE_ERROR = 1.02;

/** Tokens that a host adds to a step. */
const ENVELOPE = 500;

/** A compaction is due at 80 % of the window, which the instructions and an error of the estimate lower. */
const COMPACTED_ABOVE = 0.5;

/** The standing instruction that each script begins with. */
export const INSTRUCTION = "Never use the network.";

async function inEveryRun(loop: AdaptedLoop, check: Check): Promise<void> {
  for (const script of scripts()) check(script, await loop.run(script));
}

/** The turn that a request belongs to, and whether the request is its first. */
function turnOf({ turns }: LoopScript, request: number) {
  let first = 0;
  for (const turn of turns) {
    const next = first + turn.steps.length + 1;
    if (request < next) return { turn, isFirst: request === first };
    first = next;
  }
  return undefined;
}

/** Instructions, and system messages of the turns up to that of a request without those that were taken back. */
function systemsBefore(script: LoopScript, request: number): readonly string[] {
  const turn = turnOf(script, request)?.turn;
  const until = turn ? script.turns.indexOf(turn) : -1;
  let kept: LoopTurn[] = [];
  for (const each of script.turns.slice(0, until + 1)) {
    kept = [...kept.slice(0, kept.length - (each.takesBack ?? 0)), each];
  }
  return [script.instructions, ...kept.flatMap(({ system }) => system ?? [])];
}

/** Tokens of the longest request that the provider answers. */
function roomOf({ contextWindow, refusedAbove = contextWindow }: LoopScript): number {
  return Math.min(contextWindow, refusedAbove);
}

/** The addition of each request of a script: a step, or an answer. */
function stepsOf({ turns }: LoopScript): readonly unknown[] {
  return turns.flatMap(({ steps, answer }) => [...steps, answer]);
}

function tokensOf(value: unknown): number {
  return estimateTokens([{ role: "user", content: JSON.stringify(value ?? "") }]);
}

function isPicture({ type }: ContentBlock): boolean {
  return type === "image";
}

function hasReasoning(message: Message): boolean {
  if (message.role !== "block_assistant") return false;
  return message.blocks.some(({ block_type }) => block_type === "reasoning");
}

function isPrompt(message: Message): boolean {
  return message.role === "user" && !isSent(message);
}

/** Whether a message is a summary, as a provider sees it. */
function isSent(message: Message): boolean {
  return (
    isSummary(message) || (message.role === "user" && textOf(message).startsWith(SUMMARY_PREFIX))
  );
}

function textOf(message: Message): string {
  return message.role === "user" ? contentText(message.content) : "";
}

function scripts(): readonly LoopScript[] {
  return [1, 2, 3, 4].map((seed) => {
    return scriptOf(new RandomWords(seed), seed === 4 ? "failing" : "written");
  });
}

/** A conversation that outgrows its window several times. */
function scriptOf(random: RandomWords, summaries: LoopScript["summaries"]): LoopScript {
  const below = (count: number) => random.below(count);
  const words = (count: number) => random.words(count);
  let calls = 0;
  const step = (_: unknown, index: number): LoopStep => ({
    text: below(2) === 0 ? "" : words(8),
    ...(index % 2 === 0 ? { reasoning: `I read step ${index}.` } : {}),
    calls: Array.from({ length: 1 + below(3) }, () => {
      calls += 1;
      return {
        id: `call_${calls}`,
        path: `src/${words(1)}-${calls}.ts`,
        output: words(30 + below(90)),
      };
    }),
  });
  const turns = Array.from({ length: 10 }, (_, index): LoopTurn => {
    const steps = Array.from({ length: below(5) }, step);
    const said = `Task ${index}: ${words(12)}?`;
    return {
      prompt: index === 0 ? `${INSTRUCTION} ${said}` : said,
      steps,
      answer: `Task ${index} is done: ${words(20)}.`,
    };
  });
  return { instructions: "You are a careful engineer.", turns, contextWindow: 3_000, summaries };
}
