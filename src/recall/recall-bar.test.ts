import { expect, test } from "vitest";
import { sqliteStores } from "../sqlite.ts";
import { BAR_LEAST, barOver, measureBar } from "./recall-bar.ts";

const WORDS =
  "harbour lantern cargo ledger crane anchor sailor market winter garden copper violin bridge kettle meadow thunder basket compass orchard saddle".split(
    " ",
  );

/** A sentence of common words. Two of them have words in common by chance. */
function sentence(number: number): string {
  const words = Array.from(
    { length: 6 },
    (_, at) => WORDS[(number * 7 + at * (number % 5) + at) % WORDS.length],
  );
  return `We talked about ${words.join(" and ")} in week ${number}.`;
}

async function memoryOf(sessions: number) {
  const stores = sqliteStores({ path: ":memory:" });
  const entries = Array.from({ length: sessions * 10 }, (_, index) => ({
    id: `entry ${index}`,
    content: sentence(index),
    sessionId: `session ${index % sessions}`,
    turn: Math.floor(index / sessions),
    kind: "message" as const,
    role: "user",
  }));
  await stores.memory.add(entries);
  return { ...stores, entries };
}

test("a memory without prompts of other sessions has the lowest bar", async () => {
  const { memory, close } = await memoryOf(1);
  expect(await measureBar(memory, "session 0")).toBe(BAR_LEAST);
  await close();
});

test("at most one in ten prompts that the bar was measured with reaches it", () => {
  for (let count = 8; count < 60; count += 1) {
    const scores = Array.from(
      { length: count },
      (_, index) => 0.4 + ((index * 37) % count) / (4 * count),
    );
    const bar = barOver(scores);
    expect(scores.filter((score) => score >= bar).length).toBeLessThanOrEqual(count / 10);
  }
});

test("in a memory of chance matches the bar rises, and is the same each time", async () => {
  const { memory, close } = await memoryOf(20);
  const bar = await measureBar(memory);
  expect(bar).toBeGreaterThan(BAR_LEAST);
  expect(await measureBar(memory)).toBe(bar);
  await close();
});
