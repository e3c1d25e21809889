import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { BEST_CODES_MAX, type CodeScan, DOT_QUERY_MAX, PlainScan, WasmScan } from "./code-scan.ts";

interface Given {
  /** 64-bit words of a code. */
  readonly words: number;
  readonly best: number;
  readonly seed: number;
  /** For each chunk its words of 64 codes. */
  readonly chunks: readonly number[];
  /** How many codes count, of a hundred. */
  readonly wanted: number;
  /** How many of a code's bits are random: with few, many codes are equally far away. */
  readonly random: number;
}

const given: fc.Arbitrary<Given> = fc.record({
  words: fc.oneof(fc.constant(6), fc.integer({ min: 1, max: 64 })),
  best: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(BEST_CODES_MAX)),
  seed: fc.nat(),
  chunks: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }),
  wanted: fc.constantFrom(0, 1, 10, 100),
  random: fc.constantFrom(0, 0.02, 0.5),
});

/** Fills a scan with what is given, the same in every scan, and asks it. */
function ask(scan: CodeScan, { words, best, seed, chunks, wanted, random }: Given) {
  const next = randomNumbers(seed);
  const code = () =>
    Uint8Array.from({ length: 8 * words }, () => (next() < random ? 256 * next() : 0));
  const query = code();
  let first = 0;
  const placed = chunks.map((bitmapWords) => {
    const chunk = {
      codes: scan.allocate(64 * 8 * words * bitmapWords),
      present: scan.allocate(8 * bitmapWords),
      wanted: scan.allocate(8 * bitmapWords),
      bitmapWords,
      first,
    };
    for (let slot = 0; slot < 64 * bitmapWords; slot += 1) {
      scan.memory.set(code(), chunk.codes + 8 * words * slot);
      for (const [bitmap, share] of [
        [chunk.present, 0.9],
        [chunk.wanted, wanted / 100],
      ] as const) {
        const bit = next() < share ? 1 << (slot & 7) : 0;
        scan.memory[bitmap + (slot >> 3)] = (scan.memory[bitmap + (slot >> 3)] ?? 0) | bit;
      }
    }
    first += 64 * bitmapWords;
    return chunk;
  });
  return { scan, query, placed, found: scan.nearest(query, best, placed) };
}

describe.each([
  ["in WebAssembly", WasmScan],
  ["in plain TypeScript", PlainScan],
])("a scan %s", (_, Scan) => {
  test("finds the codes that differ least, those of lower numbers first", () => {
    fc.assert(
      fc.property(given, (parameters) => {
        const { scan, query, placed, found } = ask(new Scan(), parameters);
        const all = placed.flatMap((chunk) =>
          Array.from({ length: 64 * chunk.bitmapWords }, (_, slot) => ({ chunk, slot })).filter(
            ({ chunk, slot }) =>
              [chunk.present, chunk.wanted].every(
                (bitmap) => ((scan.memory[bitmap + (slot >> 3)] ?? 0) >> (slot & 7)) & 1,
              ),
          ),
        );
        const expected = all
          .map(({ chunk, slot }) => {
            const start = chunk.codes + query.length * slot;
            return {
              slot: chunk.first + slot,
              distance: differing(query, scan.memory.subarray(start, start + query.length)),
            };
          })
          .sort((one, other) => one.distance - other.distance || one.slot - other.slot)
          .slice(0, parameters.best);
        expect([...found.slots]).toEqual(expected.map(({ slot }) => slot));
        expect([...found.distances]).toEqual(expected.map(({ distance }) => distance));
      }),
      { numRuns: trials(6, 60) },
    );
  });

  test("keeps what it was given when its memory grows", () => {
    const scan = new Scan();
    const start = scan.allocate(3);
    scan.memory.set([1, 2, 3], start);
    const far = scan.allocate(1_000_000);
    expect(far % 16).toBe(0);
    expect([...scan.memory.subarray(start, start + 4)]).toEqual([1, 2, 3, 0]);
    expect(scan.memory.subarray(far, far + 1_000_000).every((byte) => byte === 0)).toBe(true);
  });
});

test("both ways of multiplying agree to the bit, up to the largest numbers", () => {
  const numbers = fc.integer({ min: -127, max: 127 });
  const asked = fc.integer({ min: -DOT_QUERY_MAX, max: DOT_QUERY_MAX });
  const sizes = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(384, 1000, 4096));
  const wasm = new WasmScan();
  const plain = new PlainScan();
  fc.assert(
    fc.property(
      sizes,
      fc.integer({ min: 0, max: 300 }),
      asked,
      numbers,
      (size, count, one, two) => {
        const query = Int16Array.from({ length: size }, (_, index) =>
          index % 3 === 0 ? -one : one,
        );
        const rows = Array.from({ length: count }, (_, row) =>
          Int8Array.from({ length: size }, (_, index) => ((row + index) % 5 === 0 ? -two : two)),
        );
        expect(wasm.dots(query, rows)).toEqual(plain.dots(query, rows));
      },
    ),
    { numRuns: trials(4, 30) },
  );
  const most = new Int16Array(4096).fill(DOT_QUERY_MAX);
  const rows = [new Int8Array(4096).fill(127), new Int8Array(4096).fill(-127)];
  expect([...wasm.dots(most, rows)]).toEqual([127, -127].map((one) => one * 2047 * 4096));
});

test("both ways of judging codes agree to the bit", () => {
  const counts = fc.integer({ min: 0, max: 50 });
  const sizes = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(384, 1000, 4096));
  fc.assert(
    fc.property(sizes, counts, fc.nat(), (size, count, seed) => {
      const [wasm, plain] = [new WasmScan(), new PlainScan()].map((scan) => {
        const next = randomNumbers(seed);
        const query = Int16Array.from({ length: size }, () => DOT_QUERY_MAX * (2 * next() - 1));
        const codes = Array.from({ length: count }, () => scan.allocate(Math.ceil(size / 64) * 8));
        for (const code of codes) {
          for (let byte = 0; byte < Math.ceil(size / 8); byte += 1) {
            scan.memory[code + byte] = 256 * next();
          }
        }
        // The second time, the prepared query is used again; another query is prepared first.
        return [query, query, query.map((number) => -number)].map((asked) =>
          scan.judge(asked, codes),
        );
      });
      expect(wasm).toEqual(plain);
    }),
    { numRuns: trials(4, 30) },
  );
});

test("more codes can be judged than there is room for at a time", () => {
  const [wasm, plain] = [new WasmScan(), new PlainScan()].map((scan) => {
    const codes = Array.from({ length: 20_000 }, () => scan.allocate(8));
    for (const [index, code] of codes.entries()) scan.memory[code] = index;
    return scan.judge(Int16Array.of(1, 2, 4, 8, 16, 32, 64, 128), codes);
  });
  expect(wasm).toEqual(plain);
});

test("both ways of scanning agree on many codes that come nearer and nearer", () => {
  // Each is nearer than those before it, so that all are among the best for a while.
  const bits = 4096;
  const codes = 20_000;
  const [wasm, plain] = [new WasmScan(), new PlainScan()].map((scan) => {
    const bitmapWords = Math.ceil(codes / 64);
    const present = scan.allocate(8 * bitmapWords);
    const placed = scan.allocate((64 * bitmapWords * bits) / 8);
    scan.memory.fill(255, present, present + 8 * bitmapWords);
    for (let slot = 0; slot < codes; slot += 1) {
      const differing = Math.floor((bits * (codes - slot)) / codes / 8);
      scan.memory.fill(255, placed + (slot * bits) / 8, placed + (slot * bits) / 8 + differing);
    }
    const chunk = { codes: placed, present, wanted: present, bitmapWords, first: 0 };
    return scan.nearest(new Uint8Array(bits / 8), BEST_CODES_MAX, [chunk]);
  });
  expect(wasm?.slots).toEqual(plain?.slots);
  expect(wasm?.distances).toEqual(plain?.distances);
  expect(wasm?.slots.length).toBe(BEST_CODES_MAX);
});

function differing(one: Uint8Array, other: Uint8Array): number {
  return one.reduce(
    (sum, byte, index) => sum + (byte ^ (other[index] ?? 0)).toString(2).replaceAll("0", "").length,
    0,
  );
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
