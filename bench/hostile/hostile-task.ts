import type { SayProgress } from "../bench.ts";
import { timedAtOnce } from "../measuring.ts";
import { HOSTILE_TEXTS, hostileTexts } from "./hostile-texts.ts";

export interface HostileInput {
  readonly texts: number;
  readonly characters: number;
  readonly rounds: number;
}

/** The slowest text of a reader. Speeds are in megabytes per second. */
export interface HostileSpeed {
  readonly reader: string;
  readonly worst: number;
  /** How fast a plain loop goes over the same text. */
  readonly loop: number;
  /** How the text begins, as JSON. */
  readonly text: string;
}

const SHOWN_CHARACTERS = 20;

/** Times every reader of others' texts on texts that were made to slow it down. */
export async function hostileTask(
  { texts, characters, rounds }: HostileInput,
  say: SayProgress,
): Promise<HostileSpeed[]> {
  const speeds: HostileSpeed[] = [];
  for (const [reader, { read, pieces }] of Object.entries(HOSTILE_TEXTS)) {
    await say(reader);
    const all = hostileTexts(pieces, texts, characters);
    for (const text of all) read(text.slice(0, characters / 5));
    const timed = all.map((text) => ({ text, speed: speedOf(read, text, rounds) }));
    const [worst] = timed.toSorted((one, other) => one.speed - other.speed);
    if (!worst) continue;
    speeds.push({
      reader,
      worst: worst.speed,
      loop: speedOf(readPlainly, worst.text, rounds),
      text: JSON.stringify(`${worst.text.slice(0, SHOWN_CHARACTERS)}…`),
    });
  }
  return speeds;
}

/** The best of some rounds. */
function speedOf(read: (text: string) => unknown, text: string, rounds: number): number {
  const results: unknown[] = [];
  const ms = Array.from({ length: rounds }, () => timedAtOnce(() => void results.push(read(text))));
  return Buffer.byteLength(text) / 1000 / Math.max(0.001, Math.min(...ms));
}

function readPlainly(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum = (sum + text.charCodeAt(at)) | 0;
  return sum;
}
