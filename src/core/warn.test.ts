import { once } from "node:events";
import { expect, test } from "vitest";
import { expectWarning } from "../../test/support/expect-warning.ts";
import { SessionError } from "./errors.ts";
import { Outages, WARNING_NAME, warn } from "./warn.ts";

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

/** Parts of a service, and what is told of them. */
function partsOf() {
  const told: unknown[] = [];
  const outages = new Outages((...args) => told.push(args.length === 1 ? args[0] : args));
  const [a, b] = [{}, {}];
  const fails = (part: object, error: unknown) =>
    outages.attempt(part, () => Promise.reject(error));
  const works = (part: object) => outages.attempt(part, async () => "done");
  return { told, outages, a, b, fails, works };
}

const GONE = new SessionError("SESSION_STORE_ERROR", { detail: "The server is gone." });

test("a cause is told once, whichever part meets it first and however often", async () => {
  const { told, a, b, fails } = partsOf();
  for (const part of [a, b, a, b, {}]) await fails(part, GONE);
  // The same sentence is the same cause: each query has an error of its own.
  await fails(b, new SessionError("SESSION_STORE_ERROR", { detail: "The server is gone." }));
  expect(told).toEqual([GONE]);
});

test("a cause is told again after it was well in between", async () => {
  const { told, a, b, fails, works } = partsOf();
  await fails(a, GONE);
  expect(await works(a)).toBe("done");
  await fails(a, GONE);
  await fails(b, GONE);
  expect(told).toEqual([GONE, GONE]);
});

test("a part that was well does not end the outage of another one", async () => {
  const { told, a, b, fails, works } = partsOf();
  await fails(a, GONE);
  await works(b);
  await fails(a, GONE);
  expect(told).toEqual([GONE]);
  await fails(b, GONE);
  expect(told).toEqual([GONE, GONE]);
});

test("a part that began after an outage tells of the next one", async () => {
  const { told, a, b, fails, works } = partsOf();
  await fails(a, GONE);
  await works(b);
  await fails({}, GONE);
  expect(told).toEqual([GONE, GONE]);
});

test("work that began before an outage and ends in it does not end it", async () => {
  const { told, outages, a, b, fails } = partsOf();
  const slow = Promise.withResolvers<void>();
  const done = outages.attempt(b, () => slow.promise);
  await fails(a, GONE);
  slow.resolve();
  await done;
  await fails(b, GONE);
  await fails({}, GONE);
  expect(told).toEqual([GONE]);
});

test("another cause is told at once, and a consequence with it", async () => {
  const { told, outages, a, fails } = partsOf();
  await fails(a, GONE);
  await fails(a, "The disk is full.");
  await outages.attempt(a, () => Promise.reject(GONE), "Nothing was searched.");
  await outages.attempt(a, () => Promise.reject(GONE), "Nothing was searched.");
  expect(told).toEqual([GONE, "The disk is full.", [GONE, "Nothing was searched."]]);
});

test("a failure that its caller is told is not told here", async () => {
  const { told, outages, a } = partsOf();
  await expect(outages.watch(a, () => Promise.reject(GONE))).rejects.toBe(GONE);
  expect(told).toEqual([]);
});

test("after a thousand causes, the first one is forgotten", async () => {
  const { told, a, fails } = partsOf();
  for (let cause = 0; cause <= 1000; cause += 1) await fails(a, `cause ${cause}`);
  await fails(a, "cause 1000");
  await fails(a, "cause 0");
  expect(told).toHaveLength(1002);
});
