/**
 * Finds the one-bit codes that differ least from a query's. AssemblyScript: it looks
 * like TypeScript and becomes WebAssembly (`npm run kernels`). `src/indexing/vectors/code-scan.ts` says
 * the same in plain TypeScript, and a test holds the two together.
 *
 *     start(best, words) ─► scan(chunk) … scan(chunk) ─► finish()
 *
 * Codes are `words` 64-bit words each, one after the other. Which of them count is
 * said by bitmaps of 64 codes a word, so a filter that leaves few makes a scan shorter.
 */

/** More than so many are never kept. */
const BEST_MAX = 4096;
const WORDS_MAX = 64;
/** At most twice `best` of those found can be among the best: the others leave when it is full. */
const FOUND_MAX = 4 * BEST_MAX;

export const query: usize = memory.data(WORDS_MAX * 8, 8);
/** What `finish` gives: numbers of codes, and how many bits of each differ. */
export const slots: usize = memory.data(BEST_MAX * 4, 8);
export const distances: usize = memory.data(BEST_MAX * 4, 8);
/** A query of 16-bit numbers, for `dots` and `judge`. */
export const numbers: usize = memory.data(WORDS_MAX * 64 * 2, 16);
/** For each byte of a code and each value of it, what it gives to a sum. */
const gives: usize = memory.data(WORDS_MAX * 8 * 256 * 4, 16);
/** Where memory is free for codes, bitmaps and rows. */
export const free: usize = __heap_base;

/** How many of those found have which distance. */
const histogram: usize = memory.data((WORDS_MAX * 64 + 1) * 4, 8);
/** Distance and number of each, in the order of the numbers. */
const found: usize = memory.data(FOUND_MAX * 8, 8);

let best: i32 = 0;
let words: i32 = 0;
let foundCount: i32 = 0;
/** No one of the best is further away … */
let bound: i32 = 0;
/** … and so many of those found are not. */
let within: i32 = 0;
/** What is nearer than this is found. */
let limit: i32 = 0;

export function start(bestCount: i32, wordCount: i32): void {
  best = bestCount;
  words = wordCount;
  foundCount = 0;
  bound = wordCount * 64;
  within = 0;
  limit = bound + 1;
  memory.fill(histogram, 0, (bound + 1) * 4);
}

/** Codes whose bit is set in both bitmaps; the first has the number `first`. */
export function scan(codes: usize, one: usize, other: usize, bitmapWords: i32, first: i32): void {
  const stride = (<usize>words) << 3;
  for (let word = 0; word < bitmapWords; word++) {
    const at = (<usize>word) << 3;
    const wanted = load<i64>(one + at) & load<i64>(other + at);
    if (wanted === 0) continue;
    const base = codes + <usize>word * 64 * stride;
    if (words === 4) scanFour(base, wanted, first + word * 64);
    else if (words === 6) scanSix(base, wanted, first + word * 64);
    else scanAny(base, wanted, first + word * 64, stride);
  }
}

/** 256 dimensions are what static tables have; with the query in registers it takes half of the time. */
function scanFour(codes: usize, wanted: i64, first: i32): void {
  const q0 = load<i64>(query);
  const q1 = load<i64>(query, 8);
  const q2 = load<i64>(query, 16);
  const q3 = load<i64>(query, 24);
  while (wanted !== 0) {
    const slot = <i32>ctz(wanted);
    const code = codes + <usize>slot * 32;
    const distance =
      popcnt(load<i64>(code) ^ q0) +
      popcnt(load<i64>(code, 8) ^ q1) +
      popcnt(load<i64>(code, 16) ^ q2) +
      popcnt(load<i64>(code, 24) ^ q3);
    if (<i32>distance < limit) keep(first + slot, <i32>distance);
    wanted &= wanted - 1;
  }
}

/** 384 dimensions are what small models have; with the query in registers it takes two thirds of the time. */
function scanSix(codes: usize, wanted: i64, first: i32): void {
  const q0 = load<i64>(query);
  const q1 = load<i64>(query, 8);
  const q2 = load<i64>(query, 16);
  const q3 = load<i64>(query, 24);
  const q4 = load<i64>(query, 32);
  const q5 = load<i64>(query, 40);
  while (wanted !== 0) {
    const slot = <i32>ctz(wanted);
    const code = codes + <usize>slot * 48;
    const distance =
      popcnt(load<i64>(code) ^ q0) +
      popcnt(load<i64>(code, 8) ^ q1) +
      popcnt(load<i64>(code, 16) ^ q2) +
      popcnt(load<i64>(code, 24) ^ q3) +
      popcnt(load<i64>(code, 32) ^ q4) +
      popcnt(load<i64>(code, 40) ^ q5);
    if (<i32>distance < limit) keep(first + slot, <i32>distance);
    wanted &= wanted - 1;
  }
}

function scanAny(codes: usize, wanted: i64, first: i32, stride: usize): void {
  while (wanted !== 0) {
    const slot = <i32>ctz(wanted);
    const code = codes + <usize>slot * stride;
    let distance: i64 = 0;
    for (let at: usize = 0; at < stride; at += 8) {
      distance += popcnt(load<i64>(code + at) ^ load<i64>(query + at));
    }
    if (<i32>distance < limit) keep(first + slot, <i32>distance);
    wanted &= wanted - 1;
  }
}

function keep(slot: i32, distance: i32): void {
  store<u64>(found + ((<usize>foundCount) << 3), ((<u64>distance) << 32) | <u64>(<u32>slot));
  foundCount++;
  add(distance, 1);
  within++;
  while (within - count(bound) >= best) {
    within -= count(bound);
    bound--;
  }
  limit = within < best ? bound + 1 : bound;
  if (foundCount === FOUND_MAX) dropFar();
}

function dropFar(): void {
  let kept = 0;
  for (let index = 0; index < foundCount; index++) {
    const item = load<u64>(found + ((<usize>index) << 3));
    if (<i32>(item >> 32) > bound) continue;
    store<u64>(found + ((<usize>kept) << 3), item);
    kept++;
  }
  foundCount = kept;
}

/** Puts the best into `slots` and `distances`, nearest first, of the same distance the lower number first. */
export function finish(): i32 {
  let place = 0;
  for (let distance = 0; distance <= bound; distance++) {
    const having = count(distance);
    store<i32>(histogram + ((<usize>distance) << 2), place);
    place += having;
  }
  for (let index = 0; index < foundCount; index++) {
    const item = load<u64>(found + ((<usize>index) << 3));
    const distance = <i32>(item >> 32);
    if (distance > bound) continue;
    const at = count(distance);
    add(distance, 1);
    if (at >= best) continue;
    store<u32>(slots + ((<usize>at) << 2), <u32>item);
    store<u32>(distances + ((<usize>at) << 2), <u32>distance);
  }
  return min(place, best);
}

function count(distance: i32): i32 {
  return load<i32>(histogram + ((<usize>distance) << 2));
}

function add(distance: i32, more: i32): void {
  store<i32>(histogram + ((<usize>distance) << 2), count(distance) + more);
}

/**
 * Writes the dot products of rows of 8-bit numbers with `numbers`, one for each row. Rows follow
 * each other and are `stride` bytes long, a multiple of 16; what a row does not fill is 0 in both.
 */
export function dots(rows: usize, count: i32, stride: usize, results: usize): void {
  for (let index = 0; index < count; index++) {
    let sums = i32x4.splat(0);
    for (let at: usize = 0; at < stride; at += 16) {
      const row = v128.load(rows + at);
      const low = i16x8.extend_low_i8x16_s(row);
      const high = i16x8.extend_high_i8x16_s(row);
      const asked = numbers + 2 * at;
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(low, v128.load(asked)));
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(high, v128.load(asked, 16)));
    }
    const sum =
      i32x4.extract_lane(sums, 0) +
      i32x4.extract_lane(sums, 1) +
      i32x4.extract_lane(sums, 2) +
      i32x4.extract_lane(sums, 3);
    store<i32>(results + ((<usize>index) << 2), sum);
    rows += stride;
  }
}

/** Makes what `judge` looks up, from `numbers`, which are 0 behind the query's end. */
export function learn(bytes: i32): void {
  for (let byte = 0; byte < bytes; byte++) {
    const table = gives + ((<usize>byte) << 10);
    const asked = numbers + ((<usize>byte) << 4);
    let none = 0;
    for (let bit: usize = 0; bit < 8; bit++) none -= load<i16>(asked + (bit << 1));
    store<i32>(table, none);
    for (let bits: u32 = 1; bits < 256; bits++) {
      const one = load<i16>(asked + ((<usize>ctz(bits)) << 1));
      const without = load<i32>(table + ((<usize>(bits & (bits - 1))) << 2));
      store<i32>(table + ((<usize>bits) << 2), without + 2 * one);
    }
  }
}

/** Replaces addresses of codes by sums of the query's numbers: plus where a bit is set, minus where not. */
export function judge(addresses: usize, count: i32, bytes: i32): void {
  for (let index = 0; index < count; index++) {
    const code = <usize>load<u32>(addresses);
    let sum = 0;
    let table = gives;
    for (let byte: usize = 0; byte < <usize>bytes; byte++) {
      sum += load<i32>(table + ((<usize>load<u8>(code + byte)) << 2));
      table += 1024;
    }
    store<i32>(addresses, sum);
    addresses += 4;
  }
}
