import type { SayProgress } from "../bench.ts";
import { median, timedAtOnce } from "../measuring.ts";
import { HOSTILE_TEXTS, hostileTexts } from "./hostile-texts.ts";

export interface HostileInput {
  readonly texts: number;
  readonly characters: number;
  readonly rounds: number;
}

/** Megabytes per second. */
export interface HostileSpeed {
  readonly reader: string;
  readonly worst: number;
  readonly median: number;
}

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
    const found = all.map((text) => {
      const ms = Array.from({ length: rounds }, () => timedAtOnce(() => void read(text)));
      return Buffer.byteLength(text) / 1000 / Math.max(0.001, Math.min(...ms));
    });
    speeds.push({ reader, worst: Math.min(...found), median: median(found) });
  }
  return speeds;
}
