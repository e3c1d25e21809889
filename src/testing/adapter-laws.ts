import assert from "node:assert/strict";
import {
  contentText,
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
import { expects, inWords, type Law } from "./law.ts";
import { RandomWords } from "./random-words.ts";

/** A conversation for a loop to have, with a model that says what is written here. */
export interface LoopScript {
  readonly instructions: string;
  readonly turns: readonly LoopTurn[];
  readonly contextWindow: number;
  /** What becomes of a request for a summary. */
  readonly summaries: "written" | "failing";
}

export interface LoopTurn {
  readonly prompt: string;
  /** How many turns the user takes back before this one, in a loop whose application keeps the list. */
  readonly takesBack?: number;
  /** Answers with calls of the tool `read`, whose output is written here too. */
  readonly steps: readonly { readonly text: string; readonly calls: readonly LoopCall[] }[];
  /** The last answer, without calls. */
  readonly answer: string;
}

export interface LoopCall {
  readonly id: string;
  readonly path: string;
  readonly output: string;
}

/** What a loop did with a script. */
export interface LoopRecord {
  /** The messages of each request to the model, in order, without those for summaries. */
  readonly requests: readonly (readonly Message[])[];
  /** Requests for a summary. */
  readonly summaries: number;
  /** The last answer of each turn. */
  readonly answers: readonly string[];
}

/**
 * A loop with an adapter in it. `run` has the conversation of a script from its first prompt to its
 * last answer: every turn offers the whole conversation so far, as an application does.
 */
export interface AdaptedLoop {
  run(script: LoopScript): Promise<LoopRecord>;
}

/** A promise that one conversation shows. */
interface Promised {
  readonly name: string;
  check(script: LoopScript, record: LoopRecord): void;
}

const PROMISES: readonly Promised[] = [
  {
    name: "every conversation comes to its end",
    check(script, { answers }) {
      assert.deepEqual(
        answers,
        script.turns.map(({ answer }) => answer),
      );
    },
  },
  {
    name: "no tool call is sent without its result, and no result without its call",
    check(_, { requests }) {
      for (const messages of requests) {
        const calls = messages.flatMap(toolUses).map(({ id }) => id);
        const results = messages.flatMap(toolResults).map(({ tool_use_id }) => tool_use_id);
        assert.deepEqual(results.sort(), calls.sort());
      }
    },
  },
  {
    name: "the last user message stays word for word",
    check(script, { requests }) {
      for (const [index, messages] of requests.entries()) {
        const last = messages.findLast(isPrompt);
        expects(last?.role === "user", "a user message", messages);
        assert.equal(contentText(last.content), turnOf(script, index)?.turn.prompt);
      }
    },
  },
  {
    name: "standing instructions of the user stay word for word",
    check(_, { requests }) {
      for (const messages of requests) {
        const said = messages.filter(isPrompt).some((message) => {
          return textOf(message).includes(INSTRUCTION);
        });
        expects(said, `a user message with "${INSTRUCTION}"`, messages);
      }
    },
  },
  {
    name: "what is sent extends what was sent before, unless a compaction happened",
    check(script, { requests }) {
      let rewritten = 0;
      for (const [index, messages] of requests.entries()) {
        const before = requests[index - 1] ?? [];
        const start = messages.slice(0, before.length);
        const { isFirst = false, turn } = turnOf(script, index) ?? {};
        if (isFirst && turn?.takesBack) continue;
        if (JSON.stringify(start) === JSON.stringify(before)) continue;
        const step = stepsOf(script)[index - 1];
        const most = estimateTokens(before) + tokensOf(step) + tokensOf(turn?.prompt) + ENVELOPE;
        rewritten += 1;
        expects(
          most > COMPACTED_ABOVE * script.contextWindow,
          "the same beginning, as there was no reason to compact",
          most,
        );
        expects(
          estimateTokens(messages) < most,
          `a request below ${most} tokens after a compaction`,
          estimateTokens(messages),
        );
      }
      const isRoomy = stepsOf(script).every((step) => tokensOf(step) < script.contextWindow / 4);
      if (!isRoomy) return;
      expects(rewritten <= requests.length / 3, "few requests that begin otherwise", rewritten);
    },
  },
  {
    name: "a compaction pays for one summary, however often the host offers the history again",
    check({ summaries }, { requests, summaries: paid }) {
      if (summaries === "failing") return;
      const seen = new Set(requests.flatMap((messages) => messages.filter(isSent).map(textOf)));
      expects(paid <= seen.size, `one request for each of ${seen.size} summaries`, paid);
    },
  },
  {
    name: "a failing summariser is not asked at each step",
    check({ summaries }, { requests, summaries: paid }) {
      if (summaries === "written") return;
      expects(paid <= 1 + requests.length / 2, "fewer requests for summaries than steps", paid);
    },
  },
  {
    name: "a request has one summary at most",
    check(_, { requests }) {
      for (const messages of requests) {
        expects(messages.filter(isSent).length <= 1, "one summary at most", messages);
      }
    },
  },
  {
    name: "what is sent fits the context window",
    check({ contextWindow }, { requests }) {
      for (const messages of requests) {
        const tokens = estimateTokens(messages);
        const most = contextWindow * ESTIMATE_ERROR;
        expects(tokens <= most, `at most ${most} tokens`, tokens);
      }
    },
  },
];

/**
 * What every adapter promises, over random conversations. Give it a loop with your adapter and a
 * scripted model:
 *
 *     for (const law of adapterLaws) test(law.name, () => law.holds(async () => myLoop));
 */
export const adapterLaws: readonly Law<AdaptedLoop>[] = inWords([
  ...PROMISES.map(({ name, check }) => ({
    name,
    holds: (open: () => Promise<AdaptedLoop>) => inEveryRun(open, check),
  })),
  {
    name: "a long conversation is compacted",
    holds: (open) =>
      inEveryRun(open, (script, { requests }) => {
        if (script.summaries === "failing") return;
        const compacted = requests.some((messages) => messages.some(isSent));
        expects(compacted, "a request with a summary", requests.length);
      }),
  },
]);

/** Throws for the first promise that a conversation breaks. */
export function requirePromises(script: LoopScript, record: LoopRecord): void {
  for (const { name, check } of PROMISES) {
    try {
      check(script, record);
    } catch (error) {
      throw new Error(`The promise "${name}" is broken.`, { cause: error });
    }
  }
}

/** Two estimates of one request differ: of the host's messages, and of what the provider is sent. */
const ESTIMATE_ERROR = 1.02;

/** Tokens of what a host adds to what a step says. */
const ENVELOPE = 500;

/** A compaction is due at 80 % of the window, which the instructions and an error of the estimate lower. */
const COMPACTED_ABOVE = 0.5;

/** The standing instruction that each script begins with. */
export const INSTRUCTION = "Never use the network.";

async function inEveryRun(
  open: () => Promise<AdaptedLoop>,
  check: (script: LoopScript, record: LoopRecord) => void,
): Promise<void> {
  for (const script of scripts()) check(script, await (await open()).run(script));
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

/** What each request of a script adds: a step, or an answer. */
function stepsOf({ turns }: LoopScript): readonly unknown[] {
  return turns.flatMap(({ steps, answer }) => [...steps, answer]);
}

function tokensOf(value: unknown): number {
  return estimateTokens([{ role: "user", content: JSON.stringify(value ?? "") }]);
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
  const step = () => ({
    text: below(2) === 0 ? "" : words(8),
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
