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
export async function keepsPromises(loop: AdaptedLoop): Promise<void> {
  for (const { seed, number } of FOUND) {
    const one = fc.sample(script, { seed, numRuns: number }).at(-1) as LoopScript;
    requirePromises(one, await loop.run(one));
  }
  const property = fc.asyncProperty(script, async (one) => {
    requirePromises(one, await loop.run(one));
  });
  await fc.assert(property, { numRuns: trials(4, 400) });
}
