import type { Likeness } from "../core/knowledge.ts";
import { hashOf } from "./hash-of.ts";

/** Escape sequences of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin so.
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Parts that change from call to call although the result is the same. */
const VOLATILE: readonly RegExp[] = [
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  /\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?/g,
  /\b(?:mon|tue|wed|thu|fri|sat|sun)\b,?|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b/g,
  /\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b/g,
  /\d+(?:[.,:]\d+)*/g,
];

/** A text without numbers, times, ids and runs of spaces. */
export function withoutVolatile(text: string): string {
  const plain = text.replace(ESCAPES, "").toLowerCase();
  return VOLATILE.reduce((rest, pattern) => rest.replace(pattern, "#"), plain)
    .replace(/\s+/g, " ")
    .trim();
}

const SIGNATURE = 32;
const BANDS = 8;
/** Words of a shingle. */
const SHINGLE = 3;
/** Shorter texts get no sketch. Only equal ones are merged. */
const WORDS_MIN = 12;

/**
 * A sketch of a text by its shingles (MinHash). The share of equal values in two sketches estimates
 * the share of common shingles. Texts that share five of six shingles share a band in 99 of 100 cases.
 */
export function likenessOf(text: string, about: string): Likeness | undefined {
  const words = withoutVolatile(text).split(" ");
  if (words.length < WORDS_MIN) return undefined;
  const signature = new Array<number>(SIGNATURE).fill(0xffffffff);
  for (let index = 0; index + SHINGLE <= words.length; index += 1) {
    const hash = hash32(words.slice(index, index + SHINGLE).join(" "));
    for (let which = 0; which < SIGNATURE; which += 1) {
      const value = mix(hash ^ Math.imul(which + 1, 0x9e3779b1));
      if (value < (signature[which] ?? 0)) signature[which] = value;
    }
  }
  const rows = SIGNATURE / BANDS;
  const bands = Array.from({ length: BANDS }, (_, band) =>
    hashOf(about, band, signature.slice(band * rows, (band + 1) * rows)),
  );
  return { bands, signature };
}

/** FNV-1a. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
