import { expect, test } from "vitest";
import { findingSet, SETS } from "../bench/finding/finding-set.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { sampled } from "./support/trials.ts";

const LIMITS = [1, 2, 5, 10, 60];
const FIRST = 5;

// Takes over two seconds: hundreds of questions are asked with each limit.
test.each(sampled(SETS, { of: 2, at: 1 }, "cases"))(
  "the first five results of the %s set are the same whatever the limit is",
  async (set) => {
    const { notes, questions } = findingSet(set);
    const { memory, close } = sqliteStores({ path: ":memory:" });
    await memory.add(notes);
    const differ: unknown[] = [];
    for (const { text, at } of questions) {
      const found: string[][] = [];
      for (const limit of LIMITS) {
        const hits = await memory.search({ query: text, at, limit });
        found.push(hits.slice(0, FIRST).map(({ id }) => id));
      }
      const most = found.at(-1) ?? [];
      const isSame = LIMITS.every((limit, index) => {
        return `${found[index]}` === `${most.slice(0, Math.min(limit, FIRST))}`;
      });
      if (!isSame) differ.push([text, found]);
    }
    await close();
    expect(differ).toEqual([]);
  },
);
