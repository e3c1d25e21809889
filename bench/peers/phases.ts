import { madeUpBatches, madeUpQuestions } from "../data/entries.ts";
import { median, type SearchTimes, SearchWatch, Stopwatch, timed } from "../measuring.ts";
import type { OpenPeer } from "./peer.ts";
import type { Peer } from "./peers.ts";

export interface PhaseInput {
  readonly folder: string;
  readonly size: number;
}

export interface Filled {
  /** What it does after the last of them included: building, merging, saving. */
  readonly addedPerSecond: number;
  readonly textBytes: number;
}

export interface Searched {
  readonly words?: SearchTimes;
  readonly hybrid?: SearchTimes;
  readonly residentBytes: number;
}

const BATCH = 100;
const QUESTIONS = 300;
const ROUNDS = 3;
/** The longest that one peer is asked. A slow one gets fewer rounds, then fewer questions. */
const ASKING_MS_MAX = 30_000;
const SINGLES = 50;

/** What is measured of a peer, each in its own process. */
export const PHASES = {
  async fill(peer: Peer, { folder, size }: PhaseInput): Promise<Filled> {
    const open = await openPeer(peer, folder);
    const watch = new Stopwatch();
    const batches = madeUpBatches(0, size, BATCH);
    let textBytes = 0;
    for (;;) {
      const batch = watch.leaveOut(() => batches.next().value);
      if (!batch) break;
      await open.add(batch);
      for (const { content } of batch) textBytes += Buffer.byteLength(content);
    }
    await open.build?.();
    await open.close();
    return { addedPerSecond: (1000 * size) / watch.ms, textBytes };
  },

  async search(peer: Peer, { folder, size }: PhaseInput): Promise<Searched> {
    const open = await openPeer(peer, folder);
    const questions = madeUpQuestions(size, QUESTIONS).map(({ text }) => text);
    const words = open.words && (await askAll(questions, open.words));
    const hybrid = open.hybrid && (await askAll(questions, open.hybrid));
    const residentBytes = process.memoryUsage.rss();
    await open.close();
    return { residentBytes, ...(words ? { words } : {}), ...(hybrid ? { hybrid } : {}) };
  },

  /** Loading its package, opening what it stored, and the first result, in a fresh process. */
  async first(peer: Peer, { folder, size }: PhaseInput): Promise<number> {
    const [question] = madeUpQuestions(size, 1);
    const start = performance.now();
    const open = await openPeer(peer, folder);
    const found = (await (open.hybrid ?? open.words)?.(question?.text ?? "")) ?? 0;
    const elapsed = performance.now() - start;
    if (found === 0) throw new Error("Nothing was found.");
    await open.close();
    return elapsed;
  },

  async single(peer: Peer, { folder, size }: PhaseInput): Promise<number> {
    const open = await openPeer(peer, folder);
    const ms: number[] = [];
    for (const one of madeUpBatches(size, size + SINGLES, 1)) {
      ms.push(await timed(() => open.add(one)));
    }
    await open.close();
    return median(ms);
  },
} as const;

export type PhaseName = keyof typeof PHASES;
export type PhaseOutput<Name extends PhaseName> = Awaited<ReturnType<(typeof PHASES)[Name]>>;

async function askAll(
  questions: readonly string[],
  search: (question: string) => Promise<number>,
): Promise<SearchTimes> {
  let found = 0;
  for (const question of questions.slice(0, 5)) found += await search(question);
  if (found === 0) throw new Error("Nothing was found.");
  const watch = new SearchWatch();
  const startedAt = performance.now();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [number, question] of questions.entries()) {
      await watch.time(number, () => search(question));
      if (performance.now() - startedAt > ASKING_MS_MAX) return watch.times();
    }
  }
  return watch.times();
}

async function openPeer(peer: Peer, folder: string): Promise<OpenPeer> {
  const open = await peer.load();
  return await open(folder);
}
