import { expect, test } from "vitest";
import type { MemoryHit, MemoryStats } from "../../core/memory-store.ts";
import { memoryHit, memoryStats } from "../../core/operations/memory.ts";
import { toWire } from "../../core/wire.ts";
import { memoryJson } from "./render-memory.ts";

const ENTRY = {
  id: "monday:3",
  sessionId: "monday",
  turn: 1,
  kind: "message",
  content: "We chose SQLite.",
  time: "2026-01-02T03:04:05Z",
  role: "user",
  speaker: "Ada",
  source: { from: 3, to: 4 },
} as const;

const HIT: MemoryHit = {
  ...ENTRY,
  score: 0.93125,
  neighbours: { before: [ENTRY], after: [] },
  explanation: { parts: [{ name: "words", of: "sqlite", adds: 0.5 }] },
};

const STATS: MemoryStats = {
  entries: 3,
  sessions: 2,
  textBytes: 90,
  diskBytes: 4096,
  index: "words",
  vectors: { embedder: "djb2", embedded: 3, pending: 0 },
};

test("scripts get the same names as on every wire", () => {
  expect(memoryJson(HIT)).toEqual(toWire(memoryHit, HIT));
  expect(memoryJson(STATS)).toEqual(toWire(memoryStats, STATS));
});
