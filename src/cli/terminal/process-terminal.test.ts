import { expect, onTestFinished, test, vi } from "vitest";
import { causeText, causeTexts, SessionError } from "../../core/errors.ts";
import { RkatWarning } from "../../core/warn.ts";
import { HeldWarnings, processTerminal } from "./process-terminal.ts";

const GONE = new SessionError("SESSION_STORE_ERROR", {
  detail: "The server is gone.",
  hint: "Go.",
});
const FULL = new SessionError("SESSION_STORE_ERROR", { detail: "The disk is full.", hint: "Go." });

function heldWarnings() {
  const printed: string[] = [];
  const held = new HeldWarnings((text) => printed.push(text));
  const warn = (thrown: unknown, consequence = "") =>
    held.add(new RkatWarning(thrown, consequence));
  return { held, printed, warn };
}

const said = (error: SessionError) => `${error.message} ${error.hint}`;

test.each(["before", "after"] as const)(
  "what ends the command is left to it, if a warning comes %s its end",
  (when) => {
    const { held, printed, warn } = heldWarnings();
    const warnAll = () => {
      warn(GONE);
      warn(GONE, "Nothing was searched.");
      warn(FULL);
    };
    if (when === "before") warnAll();
    held.end(
      ...causeTexts(new SessionError("SESSION_STORE_ERROR", { message: "It ended.", cause: GONE })),
    );
    if (when === "after") warnAll();
    expect(printed).toEqual([said(FULL)]);
  },
);

test("a warning that does not stop the command is told once, at its end or after it", () => {
  const { held, printed, warn } = heldWarnings();
  warn(GONE);
  warn(GONE);
  expect(printed).toEqual([]);
  held.end();
  warn(GONE);
  warn(FULL);
  expect(printed).toEqual([said(GONE), said(FULL)]);
});

test("a consequence is told even if its cause was already", () => {
  const { held, printed, warn } = heldWarnings();
  warn(GONE);
  warn(GONE, "Nothing was searched.");
  warn(GONE, "Nothing was searched.");
  held.end();
  expect(printed).toEqual([said(GONE), "Nothing was searched."]);
});

test("a note that no failure led to does not wait", () => {
  const { printed, warn } = heldWarnings();
  warn("That setting has no effect.");
  expect(printed).toEqual(["That setting has no effect."]);
});

test("a server tells the warnings that waited, and then each new one", () => {
  const { held, printed, warn } = heldWarnings();
  warn(FULL);
  warn(FULL);
  held.goOn();
  warn(GONE);
  warn(GONE);
  expect(printed).toEqual([said(FULL), said(GONE), said(GONE)]);
  held.end(causeText(GONE));
  warn(GONE);
  expect(printed).toHaveLength(3);
});

test("a chat tells the failure of each turn itself", () => {
  const { held, printed, warn } = heldWarnings();
  held.end();
  held.wait();
  warn(GONE);
  held.end(...causeTexts(GONE));
  warn(GONE);
  expect(printed).toEqual([]);
  held.wait();
  warn(GONE);
  held.end();
  expect(printed).toEqual([said(GONE)]);
});

test("all that is written to a full pipe waits together: Node warns of ten that wait apart", async () => {
  const streams = [process.stdout, process.stderr];
  const before = new Set(streams.flatMap((stream) => stream.listeners("error")));
  // Each thread of a store that other tests have open listens there too. Node warns of ten listeners, whoever adds the next.
  for (const stream of streams) {
    const most = stream.getMaxListeners();
    onTestFinished(() => void stream.setMaxListeners(most));
    stream.setMaxListeners(most + stream.listenerCount("error"));
  }
  const { stdout } = processTerminal();
  onTestFinished(() => {
    for (const stream of streams) {
      for (const own of stream.listeners("error")) {
        if (!before.has(own)) stream.off("error", own as () => void);
      }
    }
  });
  const full = vi.spyOn(process.stdout, "write").mockReturnValue(false);
  onTestFinished(() => full.mockRestore());
  const writes = Array.from({ length: 20 }, (_, at) => stdout.write(`event ${at}\n`));
  expect(process.stdout.listenerCount("drain")).toBe(1);
  process.stdout.emit("drain");
  await Promise.all(writes);
  expect(process.stdout.listenerCount("drain")).toBe(0);
});
