import { expect, test } from "vitest";
import type { MemoryHit } from "../core/memory-store.ts";
import { newestFirst } from "./newer-statements.ts";

/** The older statement was said first, and is the better result. */
function asked(question: string, older: string, newer: string, more: Partial<MemoryHit> = {}) {
  const common = { sessionId: "s", turn: 0, kind: "message", role: "user" } as const;
  const first: MemoryHit = {
    ...{ ...common, id: "older", content: older, time: "2025-05-01T10:00:00Z" },
    ...{ score: 0.6, match: 0.8 },
  };
  const second: MemoryHit = {
    ...{ ...common, id: "newer", content: newer, time: "2026-02-01T10:00:00Z" },
    ...{ score: 0.5, match: 0.7, ...more },
  };
  return newestFirst([first, second], question);
}

test.each([
  [
    "who leads sales",
    "Farid leads sales.",
    "Petra now leads sales and marketing, Farid went to Malta.",
  ],
  ["how much is the parking", "Parking costs 4 euros.", "Parking went up to 6 euros this spring."],
  [
    "where does Ilse work",
    "Ilse works at the bakery.",
    "Ilse doesn't work at the bakery any more, she started at a florist's.",
  ],
  [
    "what is the guest network called",
    "The guest network is called Finch.",
    "The guest network has a new name: Wren.",
  ],
  ["Wer ist unser Hausarzt?", "Unser Hausarzt ist Herr Pohl.", "Neuer Hausarzt: Frau Kern."],
  [
    "combien coûte la cantine",
    "La cantine coûte 4 euros.",
    "La cantine coûte désormais quatre euros cinquante.",
  ],
  [
    "quanto costa il corso",
    "Il corso costa 90 euro.",
    "Il corso costa di più da marzo, è aumentato.",
  ],
  ["где наш склад", "Наш склад на улице Мира.", "Склад переехал на другой берег."],
  ["暖房の設定温度", "暖房の設定温度は二十度。", "暖房の設定温度を十八度に変更した。"],
  ["维修电话是多少", "维修电话是 400-111。", "维修电话改成 400-222 了。"],
  // Another form of the word.
  [
    "who owns the crane",
    "Farid owns the crane at the quay, until June.",
    "The crane is now owned by Petra; Farid went to the yard.",
  ],
  // Much of both is the same.
  [
    "how much heart medicine does Rex get",
    "Rex is nine and gets half a pill of heart medicine each evening.",
    "The vet doubled the heart dose of Rex: a whole pill each evening.",
  ],
  // What the older one answers with is not what the question is about.
  ["周会是什么时候", "部门周会在每周二上午十点。", "部门周会改到每周四下午两点。"],
])("%s: what changed comes first, and neither names the other", (question, older, newer) => {
  const [first, second] = asked(question, older, newer);
  expect(first).toMatchObject({ id: "newer", score: 0.6, match: 0.8 });
  expect(second).toMatchObject({ id: "older", score: 0.5, match: 0.7 });
  for (const hit of [first, second]) {
    expect(hit).not.toHaveProperty("replaces");
    expect(hit).not.toHaveProperty("replacedBy");
  }
});

test.each([
  // It lacks a word of the question that the other one has.
  ["attic budget", "The attic's budget was fine.", "The cellar has a new budget."],
  ["which team has Olga", "Olga is in the web team.", "Ben is now in the web team."],
  // It says of nothing that it changed.
  ["who leads sales", "Farid leads sales.", "Petra leads sales in Malta on Fridays."],
  // It is no statement.
  ["who leads sales", "Farid leads sales.", "Who leads sales now?"],
  ["who leads sales", "Farid leads sales.", "Maybe Petra should lead sales now."],
  // There is no word to compare.
  ["what is it", "It is green.", "It is now blue in the shade."],
])("%s: %s | %s stay as they were found", (question, older, newer) => {
  expect(asked(question, older, newer).map(({ id }) => id)).toEqual(["older", "newer"]);
});

test("what has much less of the question, or is of another author, is no later answer", () => {
  const [older, newer] = ["Farid leads sales.", "Petra now leads sales."];
  for (const more of [{ match: 0.5 }, { role: "assistant" }, { speaker: "Ben" }])
    expect(asked("who leads sales", older, newer, more)[0]?.content).toBe(older);
});

test("without a question, only what is decided moves", () => {
  const hits = asked("", "Farid leads sales.", "Petra now leads sales and marketing.");
  expect(hits.map(({ id }) => id)).toEqual(["older", "newer"]);
});
