import { expect, test } from "vitest";
import type { PassageIndex } from "../passages/passage-index.ts";
import { sessionsBeside, timesBySession } from "./word-amounts.ts";

/** An index in which each session asks a question of one passage, and has it answered; and the reads of its columns. */
function indexOf(sessions: number) {
  let reads = 0;
  const counted = (numbers: Uint32Array) =>
    new Proxy(numbers, {
      get(target, at) {
        reads += 1;
        return Reflect.get(target, at);
      },
    });
  const slots = 2 * sessions;
  const columns = {
    session: counted(Uint32Array.from({ length: slots }, (_, slot) => slot >> 1)),
    entry: counted(Uint32Array.from({ length: slots }, (_, slot) => slot)),
  };
  const index = { slots, columns, lastSession: sessions - 1 } as unknown as PassageIndex;
  const asked = Array.from({ length: sessions }, (_, session) => 2 * session);
  return { index, asked, reads: () => reads };
}

test("of each session, it counts what the same text says of a word, and sees whether another entry has it", () => {
  const { index, asked } = indexOf(4);
  // The questions of all four have the word; the answers of the first and the last too, in a speaker's name.
  const slots = Uint32Array.of(0, 1, 2, 4, 6, 7);
  const hits = Uint8Array.of(2, 16, 1, 1, 3, 16);
  const postings = { slots, hits };
  expect([...timesBySession(index, postings, asked)]).toEqual([
    [0, 2],
    [1, 1],
    [2, 1],
    [3, 3],
  ]);
  expect([...sessionsBeside(index, postings, asked)]).toEqual([1, 0, 0, 1]);
  expect(timesBySession(index, postings, []).size).toBe(0);
});

test("a text that every session says is counted at a cost proportional to the sessions", () => {
  const readsOf = (sessions: number) => {
    const { index, asked, reads } = indexOf(sessions);
    const postings = { slots: Uint32Array.from(asked), hits: new Uint8Array(sessions).fill(1) };
    timesBySession(index, postings, asked);
    sessionsBeside(index, postings, asked);
    return reads();
  };
  expect(readsOf(2000)).toBeLessThan(2.1 * readsOf(1000));
});
