import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { linesOf, lostNote } from "./carry-over.ts";
import {
  CHARACTERS_MAX,
  recordForNextWindow,
  roomInWindow,
  shortened,
  windowTokens,
} from "./window-record.ts";

const compaction = (preTokens: number, trigger = "auto") => ({
  type: "system",
  subtype: "compact_boundary",
  compactMetadata: { trigger, preTokens },
});

/** Each request has two lines, as one for each block of an answer. */
const requests = (count: number, more: object = {}) =>
  Array.from({ length: count }, () => crypto.randomUUID()).flatMap((id) =>
    ["thinking", "text"].map((block) => ({
      type: "assistant",
      message: { id, content: [{ type: block }] },
      ...more,
    })),
  );

function roomAfter(lines: readonly object[], source: string, env = {}): number {
  const root = mkdtempSync(join(tmpdir(), "rkat-room-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const path = join(root, "session.jsonl");
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const input = { sessionId: "s", importedId: "claude-code:s", cwd: root, prompt: "" };
  const more = {
    source,
    windowFrom: "",
    roomTokens: undefined,
    othersLeave: false,
    summary: undefined,
  };
  return roomInWindow({ ...input, ...more, transcript: { path, root } }, env);
}

test("a window that is large, or not known, has the usual room", () => {
  expect(roomAfter([...requests(20)], "compact")).toBe(CHARACTERS_MAX);
  const large = [...requests(20), compaction(180_000), ...requests(9)];
  expect(roomAfter(large, "compact")).toBe(CHARACTERS_MAX);
  expect(roomAfter(large, "user")).toBe(CHARACTERS_MAX);
});

test("a small window gets a sixteenth of the tokens at which it was compacted, or else of those that the environment names", () => {
  const lines = [...requests(9), compaction(300, "manual"), ...requests(9)];
  expect(roomAfter(lines, "compact")).toBe(CHARACTERS_MAX);
  const env = { CLAUDE_CODE_MAX_CONTEXT_TOKENS: "29000" };
  expect(roomAfter(lines, "compact", env)).toBe(4_000);
  expect(roomAfter([...lines, compaction(6_400), ...requests(9)], "user", env)).toBe(1_600);
  expect(windowTokens({ ...env, CLAUDE_CODE_AUTO_COMPACT_WINDOW: "20000" })).toBe(7_000);
  expect(windowTokens({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "many" })).toBeUndefined();
});

test("a window that is full again soon after a compaction gets less each time, until one holds", () => {
  const lines = [...requests(30), compaction(180_000), ...requests(2)];
  const side = requests(9, { isSidechain: true });
  expect(roomAfter(lines, "user")).toBe(8_000);
  expect(roomAfter([...lines, ...side], "compact")).toBe(2_000);
  const again = [...lines, compaction(180_000), ...requests(1)];
  expect(roomAfter(again, "user")).toBe(2_000);
  expect(roomAfter(again, "compact")).toBe(800);
  const holds = [...again, compaction(180_000), ...requests(8)];
  expect(roomAfter(holds, "compact")).toBe(8_000);
});

test("a small record has the lines that matter most, none in the place of all", () => {
  const prompt = `- ${"Move the crane to the northern quay. ".repeat(30)}`;
  const lines = [
    "What the user asked last:",
    prompt,
    "Instructions of the user:",
    "- Never use the network.",
    "Names:",
    `- ${"crane ".repeat(200)}`,
  ];
  const record = recordForNextWindow(lines, 800) ?? "";
  expect(record.length).toBeLessThanOrEqual(800);
  expect(record).toContain("- Move the crane");
  expect(record).toContain("- Never use the network.");
  expect(recordForNextWindow(lines, 100)).toBeUndefined();
});

test("a text that is cut keeps its last sign whole", () => {
  expect(shortened("ab🙂cd", 4)).toBe("ab…");
  expect(shortened("ab🙂cd", 5)).toBe("ab🙂…");
  for (const name of ["🙂".repeat(1_500), `a${"🙂".repeat(1_500)}`]) {
    expect(lostNote([name]).isWellFormed()).toBe(true);
    expect(lostNote([name]).length).toBeLessThanOrEqual(2_000);
  }
});

test("a record has no part of a credential, wherever its line is cut", () => {
  const secret = `ghp_${"aB3dE5gH7j".repeat(4).slice(0, 36)}`;
  for (let before = 360; before < 400; before += 1) {
    const goal = `${"x".repeat(before)} ${secret}`;
    const task = { goal, subTasks: [], scratchpad: {}, activeFiles: [] };
    expect(linesOf({ task, history: [] }).join("\n")).not.toContain("aB3dE5");
  }
});
