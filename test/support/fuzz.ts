import fc from "fast-check";
import { expect, test } from "vitest";
import { SessionError } from "../../src/index.ts";
import { ANY_CHARACTER } from "./any-character.ts";
import { GIVEN_SEED } from "./given-seed.ts";
import { trials } from "./trials.ts";

const SEED = GIVEN_SEED ?? 20_260_101;
/** Gives every reader, and every server, so many inputs. */
export const INPUTS = Number(process.env.RKAT_INPUTS ?? 0);

/**
 * How many inputs a reader gets: in `npm test`, and before a release. A reader of files or rows gets a million as
 * texts, and fewer through a disk.
 */
export interface Inputs {
  readonly short: number;
  readonly long: number;
}

/** A law that holds for every input. When it does not, fast-check prints the seed and the smallest input. */
export function fuzz<Input>(
  law: string,
  inputs: fc.Arbitrary<Input>,
  { short, long }: Inputs,
  holds: (input: Input) => Promise<void> | void,
): void {
  const check = fc.asyncProperty(inputs, async (input) => await holds(input));
  const numRuns = INPUTS || trials(short, long);
  test(law, () => fc.assert(check, { numRuns, seed: SEED }), 3_600_000);
}

/** What a reader gives, or the failure of the table that it ends with. Any other failure is a bug. */
export async function readOrRefused<Value>(
  read: () => Promise<Value> | Value,
): Promise<{ readonly value: Value } | { readonly refused: SessionError }> {
  try {
    return { value: await read() };
  } catch (error) {
    if (!SessionError.is(error) || error.code === "INTERNAL_ERROR") throw error;
    expect(error.message).not.toBe("");
    return { refused: error };
  }
}

/** Good bytes, damaged: bits flipped, cut, doubled, spliced, overwritten. Sometimes bytes of no origin. */
export function damagedBytes(samples: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const sample = fc.constantFrom(...samples);
  return fc.oneof(
    { weight: 9, arbitrary: damaged(sample, cutBytes, HOSTILE_BYTES) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
  );
}

/** Good text, damaged in the same ways. */
export function damagedText(samples: readonly string[]): fc.Arbitrary<string> {
  const sample = fc.constantFrom(...samples);
  return fc.oneof(
    { weight: 9, arbitrary: damaged(sample, cutText, HOSTILE_TEXTS) },
    { weight: 1, arbitrary: fc.string({ unit: ANY_CHARACTER, maxLength: 300 }) },
  );
}

/** Good JSON in which some values were replaced or removed, or went elsewhere. */
export function damagedJson(samples: readonly unknown[]): fc.Arbitrary<unknown> {
  const value = fc.oneof(fc.constantFrom(...HOSTILE_VALUES), fc.jsonValue({ maxDepth: 2 }));
  const change = fc.record({ at: fc.nat(), how: fc.nat({ max: 3 }), value });
  const changes = fc.array(change, { minLength: 1, maxLength: 3 });
  return fc.tuple(fc.constantFrom(...samples), changes).map(([sample, all]) => {
    const root = { value: structuredClone(sample) };
    for (const { at, how, value } of all) {
      const places = placesIn(root);
      const [owner, key] = places[at % places.length] as Place;
      if (how === 0 && owner !== root) Reflect.deleteProperty(owner, key);
      else if (how === 1) owner[key] = structuredClone(places[(at * 7) % places.length]?.[0]);
      else owner[key] = structuredClone(value);
    }
    return root.value;
  });
}

type Place = readonly [owner: Record<string, unknown>, key: string];

function placesIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const owner = value as Record<string, unknown>;
  return Object.keys(owner).flatMap((key): Place[] => [[owner, key], ...placesIn(owner[key])]);
}

interface Cut<Whole> {
  readonly flipped: (whole: Whole, at: number, bit: number) => Whole;
  readonly joined: (parts: readonly Whole[]) => Whole;
}

const cutBytes: Cut<Uint8Array> = {
  flipped: (bytes, at, bit) => bytes.with(at, (bytes[at] ?? 0) ^ (1 << bit)),
  joined: (parts) => new Uint8Array(Buffer.concat(parts)),
};

const cutText: Cut<string> = {
  flipped: (text, at, bit) =>
    text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) + text.slice(at + 1),
  joined: (parts) => parts.join(""),
};

function damaged<Whole extends string | Uint8Array>(
  sample: fc.Arbitrary<Whole>,
  { flipped, joined }: Cut<Whole>,
  hostile: readonly Whole[],
): fc.Arbitrary<Whole> {
  const kind = fc.constantFrom("flip", "flip", "cut", "remove", "double", "splice", "insert");
  const place = fc.nat({ max: 2 ** 30 });
  const step = fc.record({
    ...{ kind, from: place, size: fc.nat({ max: 64 }), bit: fc.nat({ max: 7 }) },
    ...{ other: sample, piece: fc.constantFrom(...hostile) },
  });
  const steps = fc.array(step, { minLength: 1, maxLength: 5 });
  return fc.tuple(sample, steps).map(([whole, all]) =>
    all.reduce((before, { kind, from, size, bit, other, piece }): Whole => {
      const at = from % (before.length + 1);
      const part = (start: number, end?: number) => before.slice(start, end) as Whole;
      switch (kind) {
        case "flip":
          return before.length === 0 ? before : flipped(before, from % before.length, bit);
        case "cut":
          return part(0, at);
        case "remove":
          return joined([part(0, at), part(at + size)]);
        case "double":
          return joined([part(0, at + size), part(at)]);
        case "splice":
          return joined([part(0, at), other.slice(from % (other.length + 1)) as Whole]);
        default:
          return joined([part(0, at), piece, part(at + (size % 9))]);
      }
    }, whole),
  );
}

const HOSTILE_BYTES = [
  Uint8Array.of(0),
  Uint8Array.of(0xff, 0xff, 0xff, 0xff),
  new Uint8Array(16).fill(0xff),
  Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f),
  Uint8Array.of(0, 0, 0, 0, 0, 0, 0xf8, 0x7f),
  Uint8Array.of(0xed, 0xa0, 0x80),
];

const HOSTILE_TEXTS = [
  ...["\0", "\ud800", "\udfff", "\u202e", "\u2028", "\n", '"', "\\", "\\u0000", "\\ud800"],
  ...["9".repeat(400), "1e999", "-1", "-0", "9007199254740993", "NaN", "null", "true", "[]", "{}"],
  ...["[".repeat(5000), '{"a":'.repeat(2000), "]", "}", '"__proto__":{"a":1},', "a.".repeat(2000)],
];

const HOSTILE_VALUES: readonly unknown[] = [
  ...[null, true, "", "\0", "\ud800", "__proto__", "9".repeat(400), [], {}, [[]], [null], {}],
  ...[0, -1, 1.5, 1e308, 2 ** 31, 2 ** 53, -(2 ** 53)],
];
