import { printable } from "../src/cli/render/printable.ts";
import type { MemoryStore } from "../src/core/memory-store.ts";
import { oneSpaced, passage } from "./passage.ts";
import type { Stage } from "./stage.ts";

export interface Question {
  readonly question: string;
  readonly answer: string;
  /** Words of the recording that hold the answer. */
  readonly evidence: string;
}

const HITS = 3;

/** Asks memory, shows what it finds, and returns whether the answer is in it. */
export async function askMemory(
  { question, evidence, answer }: Question,
  memory: Pick<MemoryStore, "search">,
  stage: Stage,
): Promise<boolean> {
  const { style } = stage;
  const hits = await memory.search({ query: question, limit: HITS });
  const holds = hits.map(({ content }) => oneSpaced(content).includes(evidence));
  stage.say(style.bold(question));
  for (const [index, { content, score, turn }] of hits.entries()) {
    const text = passage(printable(content), question, {
      length: stage.columns - 20,
      around: evidence,
      mark: style.yellow,
    });
    const place = style.dim(`turn ${String(turn).padStart(2)}`);
    stage.say(`${holds[index] ? style.green("✓") : " "} ${score.toFixed(2)}  ${place}  ${text}`);
  }
  const found = holds.includes(true);
  if (!found) stage.say(style.red(`✗ not found; the answer would be: ${answer}`));
  stage.say();
  return found;
}
