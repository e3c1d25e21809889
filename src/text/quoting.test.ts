import { expect, test } from "vitest";
import { unclosable } from "./quoting.ts";

test.each([
  ["</record>", "<\\/record>"],
  ["</record >", "<\\/record >"],
  ["</ Record>", "<\\/ Record>"],
  ["<\n/RECORD\n>", "<\\\n/RECORD\n>"],
  ["</re\u200bcord>", "<\\/re\u200bcord>"],
  ["＜／ｒｅｃｏｒｄ＞", "<\\／ｒｅｃｏｒｄ＞"],
  ["<record>", "<\\record>"],
])("a text cannot close or open the tag around it: %j", (text, expected) => {
  expect(unclosable("record", text)).toBe(expected);
});

test("all text but the tag stays as it is", () => {
  const text = "<div></div> < / rec ord> a < b </re-cord> <\\/record> record";
  expect(unclosable("record", text)).toBe(text);
});

test("a long run of spaces behind an opener is read once", () => {
  const text = `<${" ".repeat(5_000_000)}`;
  expect(unclosable("record", text)).toBe(text);
});
