import fc from "fast-check";
import { expect, test } from "vitest";
import { GIVEN_SEED } from "../../test/support/given-seed.ts";
import { trials } from "../../test/support/trials.ts";
import {
  canonicalJson,
  changedJson,
  isDeeperThan,
  isPlainJson,
  jsonText,
  leavesOf,
  textsIn,
  withinNesting,
} from "./json-values.ts";

/** A value inside `levels` lists and objects, as `pick` mixes them. */
function nested(levels: number, pick: number, inner: unknown): unknown {
  let value = inner;
  for (let level = 0; level < levels; level += 1) {
    value = (pick >> (level % 30)) & 1 ? [level, value] : { [`f${level % 7}`]: value, n: null };
  }
  return value;
}

const parts = [fc.integer({ min: 0, max: 20_000 }), fc.nat(2 ** 30), fc.jsonValue()] as const;

test("a value of any depth is written, walked and cut, and loses nothing", () => {
  fc.assert(
    fc.property(...parts, fc.integer({ min: 1, max: 200 }), (levels, pick, inner, max) => {
      const value = nested(levels, pick, inner);
      const text = jsonText(value);
      expect(jsonText(JSON.parse(text))).toBe(text);
      expect(textsIn(value)).toEqual(textsIn(inner));
      expect([...leavesOf(value)].length).toBe(levels + [...leavesOf(inner)].length);
      expect(jsonText(changedJson(value, { leaf: (leaf) => leaf }))).toBe(text);
      const within = withinNesting(value, max);
      expect(isDeeperThan(max, within)).toBe(false);
      expect(within === value).toBe(!isDeeperThan(max, value));
      expect(withinNesting(within, max)).toBe(within);
    }),
    { numRuns: trials(4, 12), ...(GIVEN_SEED === undefined ? {} : { seed: GIVEN_SEED }) },
  );
});

test("a shallow value is written as JSON.stringify writes it, by both ways", () => {
  fc.assert(
    fc.property(fc.anything({ withDate: true, maxDepth: 4 }), fc.jsonValue(), (value, json) => {
      const deep = { deep: nested(9_000, 0, 1), value, json };
      const text = jsonText(deep);
      const end = JSON.stringify({ value, json }).slice(1);
      if (end !== "}") expect(text.endsWith(end)).toBe(true);
      expect(canonicalJson(json)).toBe(canonicalJson(JSON.parse(canonicalJson(json))));
    }),
    { numRuns: trials(12, 40), ...(GIVEN_SEED === undefined ? {} : { seed: GIVEN_SEED }) },
  );
});

test("the order of fields makes no canonical difference, at any depth", () => {
  const value = (first: string, second: string) =>
    nested(9_000, 5, { [first]: 1, [second]: 2, 10: "x", 2: "y" });
  const [one, other] = [canonicalJson(value("b", "a")), canonicalJson(value("a", "b"))];
  expect(one.length).toBe(other.length);
  expect(canonicalJson(JSON.parse(one))).toBe(one);
  expect(canonicalJson({ b: 1, 10: 1, a: { d: 1, c: 2 }, 2: 1 })).toBe(
    '{"2":1,"10":1,"a":{"c":2,"d":1},"b":1}',
  );
});

test("a value that contains itself is deeper than any limit, and has no JSON", () => {
  const value: unknown[] = [];
  value.push(value, { value });
  expect(isDeeperThan(100, value)).toBe(true);
  expect(() => jsonText(nested(9_000, 0, value))).toThrow(TypeError);
  expect(isDeeperThan(1, new Uint8Array(10_000_000))).toBe(false);
});

test("names that a prototype has are fields like others", () => {
  const value = JSON.parse('{"__proto__": {"a": "x"}, "constructor": 1}');
  const changed = changedJson(value, { leaf: (leaf) => leaf });
  expect(jsonText(changed)).toBe('{"__proto__":{"a":"x"},"constructor":1}');
});

test("a value that is plain JSON is what JSON gives back", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  let plain = 0;
  fc.assert(
    fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
      if (!isPlainJson(value)) return;
      plain += 1;
      expect(canonicalJson(JSON.parse(JSON.stringify(value)))).toBe(canonicalJson(value));
      expect(JSON.parse(JSON.stringify(value))).toEqual(value);
    }),
    { numRuns: trials(200, 2_000) },
  );
  expect(plain).toBeGreaterThan(20);
  const itself: unknown[] = [];
  itself.push(itself);
  for (const value of [
    itself,
    undefined,
    [undefined],
    { a: undefined },
    -0,
    Number.NaN,
    1n,
    new Date(0),
  ]) {
    expect(isPlainJson(value)).toBe(false);
  }
});
