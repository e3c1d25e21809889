import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  toolResults,
  toolUses,
} from "../src/core/message.ts";
import { estimateTokens } from "../src/core/tokens.ts";
import { type AppliedWindow, createHistoryWindow } from "../src/index.ts";
import {
  arbitraryContinuation,
  arbitraryHistory,
  arbitrarySummary,
  type ScriptedSummary,
} from "./support/arbitrary-histories.ts";
import { messageView } from "./support/message-view.ts";
import { trials } from "./support/trials.ts";

const RUNS = trials(10, 3_000);

interface Scenario {
  readonly start: Message[];
  readonly growth: Message[][];
  readonly contextWindow: number;
  readonly summary: ScriptedSummary;
  /** The host takes over what was sent. */
  readonly adopts: boolean;
  /** The host makes new objects for each request. */
  readonly copies: boolean;
}

const arbitraryScenario: fc.Arbitrary<Scenario> = fc.record({
  start: arbitraryHistory,
  growth: fc.array(arbitraryContinuation, { maxLength: 6 }),
  contextWindow: fc.constantFrom(400, 2_000, 8_000, 200_000),
  summary: arbitrarySummary,
  adopts: fc.boolean(),
  copies: fc.boolean(),
});

interface Step {
  readonly offered: readonly Message[];
  readonly sent: readonly Message[];
  readonly before: readonly Message[];
  readonly applied: AppliedWindow<Message>;
  readonly scenario: Scenario;
}

/** Offers a history that grows, and checks what is sent of it each time. */
async function grow(scenario: Scenario, check: (step: Step) => void): Promise<void> {
  const { start, growth, contextWindow, summary, adopts, copies } = scenario;
  const window = createHistoryWindow<Message>({
    view: messageView,
    contextWindow,
    summarize: async () => {
      if (summary.kind === "throws") throw new Error("no quota");
      return summary.text;
    },
  });
  let offered: readonly Message[] = start;
  let before: readonly Message[] = [];
  for (const added of [[], ...growth]) {
    offered = [...offered, ...added];
    if (copies) offered = structuredClone(offered);
    let applied: AppliedWindow<Message>;
    try {
      applied = await window.apply(offered);
    } catch (error) {
      // Some of these histories have more system messages than a small window takes.
      expect(error).toMatchObject({ code: "PROMPT_EXCEEDS_THRESHOLD" });
      return;
    }
    const sent = applied.messages;
    check({ offered, sent, before, applied, scenario });
    before = sent;
    if (adopts) offered = sent;
  }
}

/** Calls and results that belong together, by position. */
function pairsOf(messages: readonly Message[]): readonly (readonly [number, number])[] {
  const open = new Map<string, number>();
  return messages.flatMap((message, index) => {
    for (const { id } of toolUses(message)) open.set(id, index);
    return toolResults(message).flatMap(({ tool_use_id: id }) => {
      const call = open.get(id);
      open.delete(id);
      return call === undefined ? [] : [[call, index] as const];
    });
  });
}

const isPrompt = (message: Message) => message.role === "user" && !isSummary(message);

const PROPERTIES: Record<string, (step: Step) => void> = {
  "a call and its result leave together": ({ offered, applied }) => {
    const left = new Set(applied.discarded);
    for (const [call, result] of pairsOf(offered)) expect(left.has(call)).toBe(left.has(result));
  },
  "system messages and the last user message stay word for word": ({ offered, sent }) => {
    const last = offered.findLast(isPrompt);
    const must = offered.filter((message) => message.role === "system" || message === last);
    for (const message of must) expect(sent).toContainEqual(message);
  },
  "what stays are the host's own objects": ({ offered, sent, scenario }) => {
    if (scenario.copies) return;
    const made = sent.filter((message) => !offered.includes(message));
    for (const message of made) {
      const isNewSummary =
        message.role === "user" && String(message.content).startsWith(SUMMARY_PREFIX);
      expect(isNewSummary || message.role === "tool_results").toBe(true);
    }
  },
  "each sent history extends the previous one, unless a compaction happened": (step) => {
    if (step.applied.outcome !== "unchanged") return;
    expect(step.sent.slice(0, step.before.length)).toEqual(step.before);
  },
  "a compaction makes it smaller": ({ offered, applied, sent }) => {
    if (applied.outcome === "unchanged") return;
    expect(estimateTokens(sent)).toBeLessThan(estimateTokens(offered));
  },
};

test.each(Object.entries(PROPERTIES))("%s", async (_, check) => {
  await fc.assert(
    fc.asyncProperty(arbitraryScenario, (scenario) => grow(scenario, check)),
    { numRuns: RUNS },
  );
});
