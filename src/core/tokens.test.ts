import { expect, test } from "vitest";
import type { MemoryHit } from "./memory-store.ts";
import type { Message } from "./message.ts";
import { messageWeight, withinTokens } from "./tokens.ts";

const hit = (id: string, content: string, around = ""): MemoryHit => {
  const entry = { id, content, sessionId: "s", turn: 0, kind: "message" } as const;
  const neighbour = { ...entry, id: `${id} before`, content: around };
  return {
    ...entry,
    score: 1,
    ...(around ? { neighbours: { before: [neighbour], after: [] } } : {}),
  };
};
const shown = (hits: readonly MemoryHit[]) => hits.map(({ id, content }) => [id, content]);

test("results end before the first whose text does not fit", () => {
  const hits = [hit("a", "x".repeat(40)), hit("b", "x".repeat(40)), hit("c", "x")];
  expect(withinTokens(hits, 20)).toEqual(hits.slice(0, 2));
  expect(withinTokens(hits, 19)).toEqual(hits.slice(0, 1));
  expect(withinTokens(hits, 1000)).toEqual(hits);
  expect(withinTokens([], 10)).toEqual([]);
});

test("what stands around a result counts too", () => {
  const hits = [hit("a", "xxxx", "y".repeat(36)), hit("b", "xxxx")];
  expect(withinTokens(hits, 10)).toEqual(hits.slice(0, 1));
  expect(withinTokens(hits, 11)).toEqual(hits);
});

test("with a limit for each, long texts are cut and shorter ones are the same objects", () => {
  const hits = [hit("a", "x".repeat(100), "y"), hit("b", "short"), hit("c", "x")];
  const kept = withinTokens(hits, 1000, 5);
  expect(shown(kept)).toEqual([
    ["a", `${"x".repeat(14)} […]`],
    ["b", "short"],
    ["c", "x"],
  ]);
  expect(kept[0]?.neighbours).toBeDefined();
  expect(kept[1]).toBe(hits[1]);
});

test("a best result that alone is too long is cut, between characters, and says so", () => {
  expect(shown(withinTokens([hit("a", "é".repeat(40)), hit("b", "x")], 5))).toEqual([
    ["a", `${"é".repeat(7)} […]`],
  ]);
  const [only] = withinTokens([hit("a", "short", "y".repeat(100))], 5);
  expect(only).toMatchObject({ content: "short" });
  expect(only?.neighbours).toBeUndefined();
});

test("an error of a tool weighs what OpenAI is sent of it: JSON, in which its line ends are escaped", () => {
  const content = 'at "pier" (harbour.ts:1)\n'.repeat(200);
  const result = (is_error: boolean): Message => ({
    role: "tool_results",
    results: [{ tool_use_id: "1", content, is_error }],
  });
  const sent: Message = { role: "user", content: JSON.stringify({ error: content }) };
  expect(messageWeight(result(true))).toBeGreaterThanOrEqual(messageWeight(sent));
  expect(messageWeight(result(true))).toBeGreaterThan(1.1 * messageWeight(result(false)));
});
