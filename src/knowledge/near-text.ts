import type { Likeness } from "../core/knowledge.ts";
import { hashOf } from "./hash-of.ts";
import { withoutVolatile } from "./without-volatile.ts";

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
