import { afterEach, expect, test, vi } from "vitest";
import type { CliContext } from "../cli-context.ts";
import { longWork, ProgressLine } from "./progress-line.ts";

afterEach(() => void vi.useRealTimers());

function output(isTerminal: boolean) {
  const written: string[] = [];
  return {
    written,
    isTerminal,
    rewrites: isTerminal,
    columns: 20,
    rows: 24,
    write: async (text: string) => void written.push(text),
  };
}

test("work of more than a second is shown on one line, which is removed at the end", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  const terminal = output(true);
  const line = new ProgressLine(terminal);
  line.show("thinking about everything");
  vi.advanceTimersByTime(900);
  expect(terminal.written).toEqual([]);
  vi.advanceTimersByTime(1200);
  expect(terminal.written.at(-1)).toMatch(/ thinking about e…$/);
  line.clear();
  expect(terminal.written.at(-1)).toBe("\r\u001b[2K");
});

test("a pipe gets no progress, and quick work shows none", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  for (const one of [output(false), output(true)]) {
    const line = new ProgressLine(one);
    line.show("thinking");
    vi.advanceTimersByTime(one.isTerminal ? 500 : 5000);
    line.clear();
    expect(one.written).toEqual([]);
  }
});

test("a person is told what a stopped work left, and a script gets a failure", async () => {
  const stderr = output(false);
  const stopped = async (isScript: boolean) => {
    const interruptible = (work: (signal: AbortSignal) => unknown) => work(AbortSignal.abort());
    const terminal = { stderr, interruptible };
    const context = { terminal, rkat: "rkat --user ada", exitCode: 0, isScript };
    const left = "`rkat repair` goes on.";
    await longWork(context as unknown as CliContext, left, async (_, signal) =>
      signal.throwIfAborted(),
    );
    return context.exitCode;
  };
  expect(await stopped(false)).toBe(130);
  expect(stderr.written).toEqual(["Stopped. `rkat --user ada repair` goes on.\n"]);
  await expect(stopped(true)).rejects.toMatchObject({
    code: "TURN_INTERRUPTED",
    message: "Stopped.",
    hint: "`rkat repair` goes on.",
  });
  expect(stderr.written).toHaveLength(1);
});
