import { once } from "node:events";
import { expect, test } from "vitest";
import { expectWarning } from "../../test/support/expect-warning.ts";
import { SessionError } from "./errors.ts";
import { WARNING_NAME, warn } from "./warn.ts";

async function warningOf(...args: Parameters<typeof warn>) {
  expectWarning(/^RkatWarning/);
  const warned = once(process, "warning");
  warn(...args);
  const [warning] = await warned;
  return warning as Error & { detail?: string };
}

test("a warning says what follows from the failure, the failure, and its hint", async () => {
  const error = new SessionError("MODEL_UNAVAILABLE", { detail: "No key.", hint: "Set it." });
  expect(await warningOf(error, "Words only.")).toMatchObject({
    name: WARNING_NAME,
    message: `Words only. ${error.message} Set it.`,
  });
});

test("an unexpected error comes with its stack, and a thrown text is a warning too", async () => {
  const error = new TypeError("x is not\na function");
  expect(await warningOf(error)).toMatchObject({
    name: WARNING_NAME,
    message: "x is not a function",
    detail: error.stack,
  });
  expect(await warningOf("gone")).toMatchObject({ name: WARNING_NAME, message: "gone" });
});
