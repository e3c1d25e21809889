import { expect, test } from "vitest";
import { contradicts, statementOf } from "./contradicts.ts";

const both = (one: string, other: string) => contradicts(statementOf(one), statementOf(other));

test.each([
  ["Always use tabs.", "Never use tabs."],
  ["Prefer tabs over spaces", "Prefer spaces over tabs."],
  ["Use npm instead of yarn", "prefer yarn over npm"],
  ["Commit generated files", "Don't commit generated files again"],
])("these cannot both hold: %s / %s", (one, other) => {
  expect(both(one, other)).toBe(true);
});

test.each([
  ["Always use tabs.", "Always use tabs, please"],
  ["Always run the tests.", "Never push on a Friday."],
  ["Never use tabs in Python files.", "Always format Go code."],
  ["Prefer tabs over spaces", "Prefer short names over long ones"],
  ["Always", "Never"],
])("these can: %s / %s", (one, other) => {
  expect(both(one, other)).toBe(false);
});
