import { expect, test } from "vitest";
import { isAboutSource } from "./store-failure.ts";

test("a copy that fails because nothing can be written beside the store names the store, not the copy", () => {
  const SQLITE_READONLY_DIRECTORY = 1544;
  const error = new Error("attempt to write a readonly database");
  expect(isAboutSource(Object.assign(error, { errcode: SQLITE_READONLY_DIRECTORY }))).toBe(true);
});
