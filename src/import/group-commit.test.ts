import { expect, test } from "vitest";
import type { ImportBatch, ImportStore } from "../core/import-store.ts";
import { GroupCommit } from "./group-commit.ts";

test("what goes into another store is on its disk before this one notes that the file was read", async () => {
  const done: string[] = [];
  const store = (name: string): ImportStore => ({
    known: async () => new Set(),
    files: async () => new Map(),
    commit: async (batches, files = new Map(), { durable = false } = {}) => {
      const sessions = batches.map(({ sessionId }) => sessionId);
      done.push([name, ...sessions, ...files.keys(), ...(durable ? ["durable"] : [])].join(" "));
      return undefined;
    },
  });
  const [own, project, other] = [store("own"), store("project"), store("other")];
  const group = new GroupCommit(own);
  const batch = (sessionId: string) =>
    ({ sessionId, events: [], ids: [] }) as unknown as ImportBatch;
  const say = (sessionId: string) =>
    void group.commit(batch(sessionId), { characters: 1, onWaiting: () => {} });
  await group.goTo(project);
  say("a");
  await group.goTo(other);
  say("b");
  await group.goTo(own);
  say("c");
  group.saveFile("x.jsonl", { agent: "codex", stamp: "1", sessions: 3, messages: 3 });
  await group.goTo(project);
  say("d");
  group.saveFile("y.jsonl", { agent: "codex", stamp: "1", sessions: 1, messages: 1 });
  await group.settle();
  expect(done).toEqual([
    "project a durable",
    "other b durable",
    "own c x.jsonl",
    "project d durable",
    "own y.jsonl",
  ]);
});
