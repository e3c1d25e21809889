import assert from "node:assert/strict";
import type { SayProgress } from "../bench.ts";
import { randomFrom } from "../data/random.ts";
import { timedAtOnce } from "../measuring.ts";
import { HOSTILE_TEXTS, hostileTexts, withOtherLetters } from "./hostile-texts.ts";

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
  for (const [reader, { read, pieces, remembers }] of Object.entries(HOSTILE_TEXTS)) {
    await say(reader);
    const all = hostileTexts(pieces, texts, characters);
    for (const text of all) read(text.slice(0, characters / 5));
    const same = (text: string) => Array.from({ length: rounds }, () => text);
    speeds.push(slowest(reader, read, all, same));
    if (!remembers) continue;
    const random = randomFrom(rounds);
    const others = (text: string) => same(text).map((one) => withOtherLetters(one, random));
    speeds.push(slowest(`${reader}, new each time`, read, all, others));
  }
  return speeds;
}

/** The text that a reader is slowest on. It reads all `readings` of a text. */
function slowest(
  reader: string,
  read: (text: string) => unknown,
  texts: readonly string[],
  readings: (text: string) => readonly string[],
): HostileSpeed {
  const timed = texts.map((text) => ({ text, speed: speedOf(read, readings(text)) }));
  const [worst] = timed.toSorted((one, other) => one.speed - other.speed);
  assert(worst);
  return {
    reader,
    worst: worst.speed,
    loop: speedOf(readPlainly, readings(worst.text)),
    text: JSON.stringify(`${worst.text.slice(0, SHOWN_CHARACTERS)}…`),
  };
}

/** The best of some readings. */
function speedOf(read: (text: string) => unknown, readings: readonly string[]): number {
  const results: unknown[] = [];
  const speeds = readings.map((text) => {
    const ms = timedAtOnce(() => void results.push(read(text)));
    return Buffer.byteLength(text) / 1000 / Math.max(0.001, ms);
  });
  return Math.max(...speeds);
}

function readPlainly(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum = (sum + text.charCodeAt(at)) | 0;
  return sum;
}
