import { expect, test } from "vitest";
import { StrayOutput } from "./stray-output.ts";

test("each line is a thing of its own, and lines that are indented belong to the line above", () => {
  const output = new StrayOutput("a test");
  output.add("one\n    at here\n    at there\ntwo\n\n");
  expect(output.close()).toEqual(["one\n    at here\n    at there", "two"]);
});

test("what is expected is dropped, and missed when it does not come", () => {
  const output = new StrayOutput("a test");
  output.expect(/one/, 1);
  output.expect(/one/, 1);
  output.expect(/two/, 1);
  output.expect(/three/, 0);
  output.add("one\n  at here");
  output.add("one");
  output.add("four");
  expect(output.close()).toEqual(["four", "Nothing came like /two/."]);
});

test("what a file expects is expected in each of its tests", () => {
  const file = new StrayOutput("a file");
  file.expect(/one/, 0);
  const output = new StrayOutput("a test", () => file);
  output.add("one");
  expect(output.close()).toEqual([]);
});

test("what comes after the end of a test goes to its file, with the test's name", () => {
  const file = new StrayOutput("a file");
  const output = new StrayOutput('"a test"', () => file);
  output.expect(/expected/, 0);
  expect(output.close()).toEqual([]);
  output.add("late");
  output.add("expected, and late");
  expect(file.close()).toEqual(['late\n  (after the end of "a test")']);
});
