import { expect, test } from "vitest";
import type { HistoryHit } from "../core/event-store.ts";
import { outputRecords } from "./output-records.ts";

const OUTPUT = `# servers
staging: the server listens on port 4310
the port of production is 443, and its server is in Kiel`;

const hit = (content: string, more: Partial<HistoryHit> = {}): HistoryHit => ({
  ...{ sessionId: "s", seq: 7, turn: 1, role: "tool", time: "2026-11-26T10:00:00.000Z", content },
  ...more,
});

function linesFor(query: string, hits: readonly HistoryHit[], isNew = () => true) {
  const found = outputRecords(hits, { query, tokensMax: 1_500, sessionId: "s", isNew });
  return found.records.map(({ text }) => text);
}

const QUESTION = "Which port does the staging server use?";

test("of an output comes back the line that has the words of the prompt", () => {
  expect(linesFor(QUESTION, [hit(OUTPUT)])).toEqual(["staging: the server listens on port 4310"]);
  const long = `${"Nothing is in here. ".repeat(40)}The staging server has the port 4310. ${"Nor here. ".repeat(40)}`;
  expect(linesFor("Which port has the staging server?", [hit(long)])).toEqual([
    "The staging server has the port 4310.",
  ]);
});

test("words that are apart, or too few, bring no output back", () => {
  expect(linesFor(QUESTION, [hit("staging\nport 1\nserver")])).toEqual([]);
  expect(linesFor("staging server", [hit(OUTPUT)])).toEqual([]);
  expect(linesFor("Add a test for the parser of the staging settings", [hit(OUTPUT)])).toEqual([]);
});

test("only outputs come back that the window has no more, each line once, and three at the most", () => {
  expect(linesFor(QUESTION, [hit(OUTPUT, { role: "assistant" })])).toEqual([]);
  expect(linesFor(QUESTION, [hit(OUTPUT)], () => false)).toEqual([]);
  expect(linesFor(QUESTION, [hit(OUTPUT), hit(OUTPUT, { seq: 9 })])).toHaveLength(1);
  const many = Array.from({ length: 9 }, (_, n) => `staging server ${n} has port ${n}`);
  expect(
    linesFor(
      QUESTION,
      many.map((line, seq) => hit(line, { seq })),
    ),
  ).toHaveLength(3);
});
