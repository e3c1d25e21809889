import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PlayedSession } from "../coherence/played-session.ts";
import { TURNS_WITH_WISHES, WISHES, wishfulTalk } from "../coherence/wishes.ts";

/**
 * Whether what people ask for once is in the request after twelve compactions, for 360 wishes of all kinds in 13 languages.
 *
 *     node build.ts && node bench/studies/kept-wishes.ts [FILE]
 *
 * Each 36 of them are said in a talk of their own, each at one of its first forty turns among requests that are done with their
 * answers, in a window of 8 000 tokens, without a model. The last 108 were written after the words that rkat looks for.
 */

const FILE = process.argv[2] ?? new URL("../../test/support/wishes-said-once.txt", import.meta.url);
const COMPACTIONS = 12;
const SEEDS = [1, 2];

const wishes = readFileSync(FILE, "utf8").trim().split("\n");
const folder = mkdtempSync(join(tmpdir(), "rkat-wishes-"));
let kept = 0;
try {
  for (let from = 0; from < wishes.length; from += WISHES.length) {
    const said = wishes.slice(from, from + WISHES.length);
    for (const seed of SEEDS) {
      const path = join(folder, `${from}-${seed}.db`);
      const session = new PlayedSession(path, { window: 8_000 }, (given) => given.slice(0, 1000));
      const isOver = (compactions: number, turns: number) =>
        compactions >= COMPACTIONS && turns >= TURNS_WITH_WISHES;
      await session.play(wishfulTalk(seed, said), isOver);
      const { texts, tokens } = await session.ask("Where were we?", false);
      const lost = said.filter((wish) => !texts.includes(wish));
      kept += said.length - lost.length;
      const range = `${from + 1} to ${from + said.length}, seed ${seed}`;
      console.log(`${range}: ${said.length - lost.length} kept, ${tokens} tokens`);
      for (const wish of lost) console.log(`  lost: ${wish}`);
    }
  }
  console.log(`${kept} of ${wishes.length * SEEDS.length} kept`);
} finally {
  rmSync(folder, { recursive: true });
}
