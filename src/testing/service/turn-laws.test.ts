import { expect, onTestFinished, test, vi } from "vitest";
import { withoutWarning } from "./turn-laws.ts";

test("the warning of a law is dropped while the law runs, others and later ones are not", async () => {
  const emitted: unknown[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((text) => {
    emitted.push(text);
  });
  onTestFinished(() => spy.mockRestore());
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const runs = [
    withoutWarning(/one/, () => first.promise),
    withoutWarning(/two/, () => second.promise),
  ];
  process.emitWarning("one");
  process.emitWarning(new Error("two"));
  process.emitWarning("three");
  first.reject(new Error("broken"));
  await expect(runs[0]).rejects.toThrow("broken");
  process.emitWarning("one, later");
  process.emitWarning("two");
  second.resolve();
  await runs[1];
  process.emitWarning("two, later");
  expect(emitted).toEqual(["three", "one, later", "two, later"]);
});
