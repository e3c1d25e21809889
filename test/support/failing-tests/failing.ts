import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { expectWarning } from "../expect-warning.ts";
import { spawn } from "../start-process.ts";

/** Does what the test of a late warning left to do. */
let goOn = () => {};

describe("it's a group", () => {
  test('a "difference" of $HOME', () => expect({ port: 1 }).toEqual({ port: 2 }));

  test("a property", () => fc.assert(fc.property(fc.nat(), (number) => number < 100)));
});

test("a line on the console", () => console.log("A line."));

test("a warning that nothing expects", () => process.emitWarning("Mind the gap."));

test("a warning that comes after the end", () => {
  goOn = AsyncLocalStorage.bind(() => process.emitWarning("Too late."));
});

test("a warning that does not come", () => expectWarning(/the train/));

test("a child that prints where the tests print", async () => {
  const child = spawn("sh", ["-c", "echo A child fell. >&2"], { stdio: "inherit" });
  await once(child, "close");
});

test("a warning that is expected", () => {
  expectWarning(/^Warning: Mind the gap/);
  process.emitWarning("Mind the gap.");
});

test.skip("a test of another machine", {
  meta: { skipReason: "this is not that machine" },
}, () => {});

afterAll(() => goOn());
