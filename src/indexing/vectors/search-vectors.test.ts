import { describe, expect, test } from "vitest";
import { sampled, trials } from "../../../test/support/trials.ts";
import { CodeTable, type SlotBitmap } from "./code-table.ts";
import { compareRows, nearestVectors } from "./search-vectors.ts";
import { codeBytes, codeOf, rowOf } from "./vector-codes.ts";

/** Vectors of length 1 around so many centres, which is how texts are about things. */
function clustered(count: number, dimensions: number, centres = 20): Float32Array[] {
  const spread = Array.from({ length: centres }, () => randomVector(dimensions));
  return Array.from({ length: count }, (_, index) => {
    const centre = spread[index % centres] as Float32Array;
    const noise = randomVector(dimensions);
    return normal(centre.map((number, at) => number + 0.9 * (noise[at] ?? 0)));
  });
}

function filled(vectors: readonly Float32Array[], dimensions: number) {
  const table = new CodeTable(dimensions);
  // Every third slot stays empty.
  const slotOf = (index: number) => index + Math.floor(index / 2);
  const rows = new Map<number, Uint8Array>();
  vectors.forEach((vector, index) => {
    table.set(slotOf(index), codeOf(vector));
    rows.set(slotOf(index), rowOf(vector));
  });
  const readRows = (slots: readonly number[]) =>
    slots.flatMap((slot) => {
      const row = rows.get(slot);
      return row ? [{ slot, row }] : [];
    });
  return { table, slotOf, readRows };
}

const COUNT = trials(1000, 3000);

describe("nearest vectors", () => {
  test.each(sampled([64, 100, 384, 768, 1000, 1536, 4096], { of: 3, at: 2 }, "cases"))(
    "with %i dimensions nearly all of the ten nearest are found",
    (dimensions) => {
      const vectors = clustered(COUNT, dimensions);
      const { table, slotOf, readRows } = filled(vectors, dimensions);
      let found = 0;
      const queries = clustered(20, dimensions, 1).map((_, at) => {
        const noise = randomVector(dimensions);
        const near = vectors[50 * at] as Float32Array;
        return normal(near.map((number, index) => number + 0.5 * (noise[index] ?? 0)));
      });
      for (const vector of queries) {
        const exact = vectors
          .map((other, index) => ({ slot: slotOf(index), similarity: dot(other, vector) }))
          .sort((one, other) => other.similarity - one.similarity)
          .slice(0, 10)
          .map(({ slot }) => slot);
        const question = table.ask(vector);
        const slots = nearestVectors(question, { among: COUNT });
        const nearest = compareRows(question, readRows(slots)).slice(0, 10);
        found += nearest.filter(({ slot }) => exact.includes(slot)).length;
      }
      expect(found / 200).toBeGreaterThan(0.95);
    },
    120_000,
  );

  test("a filter holds, and what it leaves is found however far away it is", () => {
    const vectors = clustered(5000, 128);
    const { table, slotOf, readRows } = filled(vectors, 128);
    const wanted: SlotBitmap = new Uint32Array(300);
    const left = [11, 1234, 4999].map(slotOf);
    for (const slot of left) wanted[slot >> 5] = (wanted[slot >> 5] ?? 0) | (1 << (slot & 31));
    const vector = vectors[0] as Float32Array;
    const question = table.ask(vector);
    const slots = nearestVectors(question, { wanted, among: 5000 });
    const nearest = compareRows(question, readRows(slots)).map(({ slot }) => slot);
    expect(nearest.sort((one, other) => one - other)).toEqual(left);
  });

  test("a vector that was removed is found no more, and its slot can be used again", () => {
    const [one, other] = clustered(2, 100) as [Float32Array, Float32Array];
    const table = new CodeTable(100);
    const slots = () =>
      table
        .ask(one)
        .nearest({ scanned: 10, best: 10 })
        .map(({ slot }) => slot);
    table.set(70_000, codeOf(one));
    table.set(5, codeOf(other));
    expect(slots()).toEqual([70_000, 5]);
    table.remove(70_000);
    table.remove(70_000);
    expect([slots(), table.count]).toEqual([[5], 1]);
    table.set(70_000, codeOf(other));
    expect([slots(), table.count]).toEqual([[5, 70_000], 2]);
  });

  test("codes replaced as a block are those that were set one by one", () => {
    const vectors = clustered(256, 200);
    const bitmap = new Uint8Array(32);
    const codes: number[] = [];
    const single = new CodeTable(200);
    const block = new CodeTable(200);
    vectors.forEach((vector, place) => {
      if (place % 5 === 0) return;
      bitmap[place >> 3] = (bitmap[place >> 3] ?? 0) | (1 << (place & 7));
      codes.push(...codeOf(vector));
      single.set(512 + place, codeOf(vector));
    });
    for (const slot of [512, 600]) block.set(slot, codeOf(vectors[3] as Float32Array));
    block.replace(512, bitmap, Uint8Array.from(codes));
    const query = vectors[7] as Float32Array;
    const options = { scanned: 256, best: 256 };
    expect(block.ask(query).nearest(options)).toEqual(single.ask(query).nearest(options));
    expect(block.count).toBe(single.count);
  });
});

test("a row tells a cosine to the second digit", () => {
  const [one, other] = clustered(2, 384, 1) as [Float32Array, Float32Array];
  const [similarity, same] = new CodeTable(384).ask(one).compare([rowOf(other), rowOf(one)]);
  expect(similarity).toBeCloseTo(dot(one, other), 2);
  expect(same).toBeCloseTo(1, 2);
});

test("nothing is more like a query than it says, be it the query itself", () => {
  for (const dimensions of [1, 2, 64, 384, 1000]) {
    const even = normal(new Float32Array(dimensions).fill(1));
    const one = even.map((_, at) => (at === 0 ? 1 : 0));
    // Halves are rounded up: what is stored is longer than it was.
    const longer = normal(even.map((_, at) => (at === 0 ? 127 : 0.5)));
    const vectors = [even, one, longer, ...clustered(20, dimensions, 1)];
    const table = new CodeTable(dimensions);
    for (const [slot, vector] of vectors.entries()) table.set(slot, codeOf(vector));
    for (const vector of vectors) {
      const question = table.ask(vector);
      const judged = question.judge([...vectors.keys()]).map(({ similarity }) => similarity);
      const compared = question.compare(vectors.map(rowOf));
      expect(Math.max(...judged, ...compared)).toBeLessThanOrEqual(question.most);
      expect(question.most).toBeLessThan(1.3);
    }
  }
});

test("a code has a bit for each dimension, in whole words of 64", () => {
  expect([...codeOf(Float32Array.of(1, -1, 0, 0.5, -0.1))]).toEqual([0b1101, 0, 0, 0, 0, 0, 0, 0]);
  expect([64, 65, 384, 4096].map(codeBytes)).toEqual([8, 16, 48, 512]);
});

let state = 1;

/** The same numbers in every run: about a bell curve. */
function randomNumber(): number {
  let sum = -2;
  for (let index = 0; index < 4; index += 1) {
    state = Math.imul(state, 1_103_515_245) + 12_345;
    sum += (state >>> 8) / 2 ** 24;
  }
  return sum;
}

function randomVector(dimensions: number): Float32Array {
  return normal(Float32Array.from({ length: dimensions }, randomNumber));
}

function normal(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((number) => number / length);
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < one.length; index += 1) {
    sum += (one[index] ?? 0) * (other[index] ?? 0);
  }
  return sum;
}
