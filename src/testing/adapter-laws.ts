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

/**
 * What every adapter promises, over random conversations. Give it a loop with your adapter and a
 * scripted model:
 *
 *     for (const law of adapterLaws) test(law.name, () => law.holds(async () => myLoop));
 */
export const adapterLaws: readonly Law<AdaptedLoop>[] = inWords([
  {
    name: "every conversation comes to its end",
    holds: (open) =>
      inEveryRun(open, (script, { answers }) => {
        assert.deepEqual(
          answers,
          script.turns.map(({ answer }) => answer),
        );
      }),
  },
  {
    name: "no tool call is sent without its result, and no result without its call",
    holds: (open) =>
      inEveryRun(open, (_, { requests }) => {
        for (const messages of requests) {
          const calls = messages.flatMap(toolUses).map(({ id }) => id);
          const results = messages.flatMap(toolResults).map(({ tool_use_id }) => tool_use_id);
          assert.deepEqual(results.sort(), calls.sort());
        }
      }),
  },
  {
    name: "the last user message stays word for word",
    holds: (open) =>
      inEveryRun(open, (script, { requests }) => {
        for (const [index, messages] of requests.entries()) {
          const last = messages.findLast(isPrompt);
          expects(last?.role === "user", "a user message", messages);
          assert.equal(contentText(last.content), promptOf(script, index));
        }
      }),
  },
  {
    name: "standing instructions of the user stay word for word",
    holds: (open) =>
      inEveryRun(open, (_, { requests }) => {
        for (const messages of requests) {
          const said = messages.filter(isPrompt).some((message) => {
            return textOf(message).includes(INSTRUCTION);
          });
          expects(said, `a user message with "${INSTRUCTION}"`, messages);
        }
      }),
  },
  {
    name: "what is sent extends what was sent before, unless a compaction happened",
    holds: (open) =>
      inEveryRun(open, (_, { requests }) => {
        let rewritten = 0;
        for (const [index, messages] of requests.entries()) {
          const before = requests[index - 1] ?? [];
          const start = messages.slice(0, before.length);
          if (JSON.stringify(start) === JSON.stringify(before)) continue;
          rewritten += 1;
          expects(
            estimateTokens(messages) < estimateTokens(before) + GROWTH,
            "a smaller request after a compaction",
            estimateTokens(messages),
          );
        }
        expects(rewritten <= requests.length / 3, "few requests that begin otherwise", rewritten);
      }),
  },
  {
    name: "a compaction pays for one summary, however often the host offers the history again",
    holds: (open) =>
      inEveryRun(open, ({ summaries }, { requests, summaries: paid }) => {
        if (summaries === "failing") return;
        const seen = new Set(requests.flatMap((messages) => messages.filter(isSent).map(textOf)));
        expects(paid <= seen.size, `one request for each of ${seen.size} summaries`, paid);
      }),
  },
  {
    name: "a failing summariser is not asked at each step",
    holds: (open) =>
      inEveryRun(open, ({ summaries }, { requests, summaries: paid }) => {
        if (summaries === "written") return;
        expects(paid <= 1 + requests.length / 2, "fewer requests for summaries than steps", paid);
      }),
  },
  {
    name: "a request has one summary at most",
    holds: (open) =>
      inEveryRun(open, (_, { requests }) => {
        for (const messages of requests) {
          expects(messages.filter(isSent).length <= 1, "one summary at most", messages);
        }
      }),
  },
  {
    name: "what is sent fits the context window",
    holds: (open) =>
      inEveryRun(open, ({ contextWindow }, { requests }) => {
        for (const messages of requests) {
          const tokens = estimateTokens(messages);
          const most = contextWindow * ESTIMATE_ERROR;
          expects(tokens <= most, `at most ${most} tokens`, tokens);
        }
      }),
  },
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

/** Two estimates of one request differ: of the host's messages, and of what the provider is sent. */
const ESTIMATE_ERROR = 1.02;

/** Tokens that a step adds at most. */
const GROWTH = 1_500;

const INSTRUCTION = "Never use the network.";

async function inEveryRun(
  open: () => Promise<AdaptedLoop>,
  check: (script: LoopScript, record: LoopRecord) => void,
): Promise<void> {
  for (const script of scripts()) check(script, await (await open()).run(script));
}

/** The prompt of the turn that a request belongs to. */
function promptOf({ turns }: LoopScript, request: number): string | undefined {
  let first = 0;
  return turns.find(({ steps }) => {
    first += steps.length + 1;
    return request < first;
  })?.prompt;
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
