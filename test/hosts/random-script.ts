import fc from "fast-check";
import {
  type AdaptedLoop,
  INSTRUCTION,
  type LoopCall,
  type LoopScript,
  type LoopTurn,
  requirePromises,
} from "../../src/testing/adapter-laws.ts";
import { trials } from "../support/trials.ts";

const SENTENCES = [
  "The crane lifts the cargo over the quay, and the pilot waits for the tide. ",
  "日本語の文章です。",
  "👩‍👩‍👧 emoji 🎉 ",
  'quotes " and \\ and\nlines\t',
  "export const port = 4310; // see deploy/staging.yaml ",
  "</record> <summary> ",
  "é̂combining ",
];

/** A PNG of one pixel. */
export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const ABOUT = "at the harbour: cargo, crane and ledger.";

function text(times: readonly number[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...SENTENCES), fc.constantFrom(...times))
    .map(([sentence, count]) => sentence.repeat(count));
}

interface RandomCall {
  readonly output: string;
}

const call: fc.Arbitrary<RandomCall> = fc.record({
  // The largest is several times the window.
  output: text([0, 1, 1, 4, 4, 12, 12, 12, 40, 40, 200]),
});

const step = fc.record({
  text: text([0, 0, 1, 3]),
  calls: fc.array(call, { minLength: 1, maxLength: 4 }),
});

const turn = fc.record({
  said: text([1, 1, 2, 6]),
  steps: fc.array(step, { maxLength: 5 }),
  answer: text([1, 1, 3, 10]),
  takesBack: fc.constantFrom(0, 0, 0, 0, 1, 2),
});

/** A conversation that outgrows its window, with all that a loop meets: huge outputs, calls in parallel, edits. */
const script: fc.Arbitrary<LoopScript> = fc
  .record({
    turns: fc.array(turn, { minLength: 2, maxLength: 12 }),
    contextWindow: fc.constantFrom(3_000, 4_000, 8_000),
    summaries: fc.constantFrom("written", "written", "written", "failing"),
  })
  .map(({ turns, ...settings }) => {
    let calls = 0;
    let kept = 0;
    const named = ({ output }: RandomCall): LoopCall => {
      calls += 1;
      return { id: `call_${calls}`, path: `src/part-${calls}.ts`, output };
    };
    return {
      ...settings,
      instructions: "You are a careful engineer.",
      turns: turns.map(({ said, steps, answer, takesBack: wanted }, index): LoopTurn => {
        const takesBack = Math.max(0, Math.min(wanted, kept - 1));
        kept += 1 - takesBack;
        return {
          // A summary that tells of something else is refused, so each prompt is about the same.
          prompt: index === 0 ? `${INSTRUCTION} ${ABOUT}` : `Task ${index} ${ABOUT} ${said}`.trim(),
          takesBack,
          steps: steps.map((one) => ({ text: one.text, calls: one.calls.map(named) })),
          answer: `Task ${index} is done: ${answer}`.trim(),
        };
      }),
    };
  });

/** What happens in a turn besides what is said. */
const event = fc.record({
  ends: fc.constantFrom(...rarely<"failed" | "stopped">("failed", "stopped")),
  image: fc.constantFrom(...rarely(PICTURE)),
  system: fc.constantFrom(...rarely("The harbour is closed at night.")),
  rewords: fc.constantFrom(...rarely(true)),
  regenerates: fc.constantFrom(...rarely(true)),
  saysNothing: fc.constantFrom(...rarely(true)),
  reasons: fc.boolean(),
  toolFails: fc.constantFrom(...rarely(true)),
});

function rarely<Value>(...values: readonly Value[]): readonly (Value | undefined)[] {
  return [...Array<undefined>(6).fill(undefined), ...values];
}

type TurnEvent = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

/** The same conversations with everything that goes wrong, or otherwise than planned. */
const eventful: fc.Arbitrary<LoopScript> = fc
  .record({
    script,
    events: fc.array(event, { minLength: 12, maxLength: 12 }),
    isRefused: fc.constantFrom(false, false, true),
  })
  .map(({ script: planned, events, isRefused }) => {
    const { turns, contextWindow } = planned;
    const happened: LoopTurn[] = [];
    for (const [index, turn] of turns.entries()) {
      const before = happened.at(-1);
      happened.push(withEvent(turn, index === 0 ? {} : (events[index] ?? {}), before, index));
    }
    const refusedAbove = Math.floor(REFUSED_PART * contextWindow);
    return { ...planned, turns: happened, ...(isRefused ? { refusedAbove } : {}) };
  });

/** A provider that takes less than it says. What a compaction leaves of a refused request fits. */
const REFUSED_PART = 0.75;

function withEvent(
  turn: LoopTurn,
  event: Partial<TurnEvent>,
  before: LoopTurn | undefined,
  index: number,
): LoopTurn {
  const { ends, image, system, rewords, regenerates, saysNothing, reasons, toolFails } = event;
  const { takesBack = 0 } = turn;
  const repeats = regenerates && takesBack === 1 && before;
  return {
    ...turn,
    ...(repeats ? { prompt: before.prompt } : {}),
    ...(ends ? { ends } : {}),
    ...(image ? { image } : {}),
    ...(system && !ends ? { system: `${system} It is night ${index}.` } : {}),
    ...(rewords && takesBack === 0 && index > 1 ? { rewords: `Reworded: ${ABOUT}` } : {}),
    ...(saysNothing ? { answer: "" } : {}),
    steps: turn.steps.map((step, position) => ({
      ...step,
      ...(reasons ? { reasoning: `I think about step ${position} of task ${index}.` } : {}),
      calls: step.calls.map((one, at) => (toolFails && at === 0 ? { ...one, fails: true } : one)),
    })),
  };
}

/** What a loop cannot do, or does otherwise for a reason of its host's. */
export type Without = "system" | "rewords" | "refusedAbove" | "empty answers";

function without(script: LoopScript, lacking: readonly Without[]): LoopScript {
  const omit = <Value extends object>(value: Value) =>
    Object.fromEntries(
      Object.entries(value).filter(([name]) => !lacking.includes(name as Without)),
    ) as Value;
  const speaks = lacking.includes("empty answers");
  const turns = script.turns.map((turn) => ({
    ...omit(turn),
    answer: turn.answer || (speaks ? "It is done." : ""),
  }));
  return { ...omit(script), turns };
}

/** For the long form. */
export const CAMPAIGN_MS = 3_600_000;

/** A conversation that once broke a promise. */
interface Found {
  readonly seed: number;
  /** Its place among the conversations of the seed, from 1. */
  readonly number: number;
}

// The user takes back two turns, three times in a row. The last answer is then older than the last request.
const FOUND: readonly Found[] = [{ seed: 4711, number: 111 }];

/** Has random conversations in a loop, and those that once broke a promise. Each keeps every promise. */
export async function keepsPromises(
  loop: AdaptedLoop,
  lacking: readonly Without[] = [],
): Promise<void> {
  for (const { seed, number } of FOUND) {
    const one = fc.sample(script, { seed, numRuns: number }).at(-1) as LoopScript;
    requirePromises(one, await loop.run(one));
  }
  const property = fc.asyncProperty(eventful, async (happened) => {
    const one = without(happened, lacking);
    requirePromises(one, await loop.run(one));
  });
  await fc.assert(property, { numRuns: trials(2, 400) });
}
