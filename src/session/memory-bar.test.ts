import { expect, test } from "vitest";
import type { MemoryStore } from "../core/memory-store.ts";
import { sqliteStores } from "../sqlite.ts";
import { memoryBar } from "./memory-bar.ts";

/** The same memory as another process has it, which counts its searches. */
function counted(memory: MemoryStore) {
  let searches = 0;
  const seen = new Proxy(memory, {
    get(target, name) {
      if (name === "search") searches += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { memory: seen, searches: () => searches };
}

test("a memory's bar is measured once for all processes, and again when it has twice as many entries", async () => {
  const { memory, events, close } = sqliteStores({ path: ":memory:" });
  const add = (from: number, to: number) =>
    memory.add(
      Array.from({ length: to - from }, (_, index) => ({
        id: `entry ${from + index}`,
        content: `The ${(from + index) % 7} cranes lift lanterns over harbour ${(from + index) % 5}.`,
        sessionId: `session ${(from + index) % 10}`,
        turn: from + index,
        kind: "message" as const,
        role: "user",
      })),
    );
  await add(0, 100);
  const first = counted(memory);
  const bar = await memoryBar(first.memory, events);
  expect(await memoryBar(first.memory, events)).toBe(bar);
  const once = first.searches();
  expect(once).toBeGreaterThan(0);

  const second = counted(memory);
  expect(await memoryBar(second.memory, events)).toBe(bar);
  expect(second.searches()).toBe(0);

  await add(100, 200);
  const later = counted(memory);
  await memoryBar(later.memory, events);
  expect(later.searches()).toBe(once);
  await close();
});
