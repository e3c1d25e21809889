import assert from "node:assert/strict";
import type { KnowledgeEntry, NewKnowledge } from "../core/knowledge.ts";
import type { KnowledgeCopy, KnowledgeLimits, KnowledgeStore } from "../core/knowledge-store.ts";
import { durable, type Law, lawsOf } from "./law.ts";

const LIMITS: KnowledgeLimits = {
  max: { fact: 3, correction: 3, preference: 3, rule: 100 },
  eviction: "spare_used",
};

/** The promises of every knowledge store. A law that opens twice expects two stores on the same knowledge. */
export const knowledgeStoreLaws: readonly Law<KnowledgeStore>[] = lawsOf({
  "a recorded entry is listed, newest first, and read by its id": async (store) => {
    await store.record(batch(0, 5, [fact("1"), fact("2"), preference("p", "Use tabs.")]));
    assert.equal(await store.position(), 5);
    assert.deepEqual(ids(await store.list({ limit: 10 })), ["p", "2", "1"]);
    assert.deepEqual(ids(await store.list({ kind: "fact", limit: 1 })), ["2"]);
    assert.deepEqual(ids(await store.list({ kind: "fact", limit: 9, after: "2" })), ["1"]);
    assert.deepEqual(ids(await store.list({ query: "TABS use", limit: 9 })), ["p"]);
    assert.deepEqual(ids(await store.list({ tag: "shell", limit: 9 })), ["2", "1"]);
    const [found] = await store.read(["1", "nobody"]);
    assert.deepEqual(found, {
      id: "1",
      kind: "fact",
      content: "content of 1",
      tags: ["tool_result", "shell"],
      origin: "tool",
      sessionId: "session",
      source: { from: 1, to: 2 },
      time: "2026-01-01T00:00:00.000Z",
      lastTime: "2026-01-01T00:00:00.000Z",
      count: 1,
      pinned: false,
      edited: false,
      tool: "shell",
    });
    assert.deepEqual(await store.counts(), { fact: 2, correction: 0, preference: 1, rule: 0 });
  },
  "the same thing heard again is one entry with a higher count, and its newest text": async (
    store,
  ) => {
    const later = "2026-02-01T00:00:00.000Z";
    await store.record(batch(0, 1, [fact("1", { keys: ["exact", "near"] })]));
    const again = fact("2", { keys: ["other", "near"], content: "newer", time: later });
    await store.record(batch(1, 2, [again, fact("3", { keys: ["other"], time: later })]));
    const all = await store.list({ limit: 10 });
    assert.deepEqual(
      all.map(({ id, content, count, lastTime }) => [id, content, count, lastTime]),
      [["1", "content of 3", 3, later]],
    );
  },
  "things that are nearly the same are one entry, and others are not": async (store) => {
    const signature = Array.from({ length: 32 }, (_, index) => index);
    const near = [...signature.slice(0, 30), 99, 98];
    const far = [...signature.slice(0, 10), ...signature.slice(10).map((value) => value + 50)];
    await store.record(
      batch(0, 1, [
        fact("1", { likeness: { bands: ["x", "y"], signature } }),
        fact("2", { likeness: { bands: ["x", "z"], signature: near } }),
        fact("3", { likeness: { bands: ["x", "w"], signature: far } }),
      ]),
    );
    assert.deepEqual(
      (await store.list({ limit: 9 })).map(({ id, count }) => [id, count]),
      [
        ["3", 1],
        ["1", 2],
      ],
    );
  },
  "a batch of the log is recorded once, however many record it": async (store) => {
    assert.equal(await store.record(batch(0, 7, [fact("1")])), true);
    assert.equal(await store.record(batch(0, 7, [fact("1")])), false);
    assert.equal(await store.record(batch(3, 9, [fact("2")])), false);
    assert.deepEqual(
      (await store.list({ limit: 9 })).map(({ id, count }) => [id, count]),
      [["1", 1]],
    );
    assert.equal(await store.position(), 7);
  },
  "beyond its limit the oldest of a kind goes, but nothing pinned, and nothing used while there is other":
    async (store) => {
      await store.record(batch(0, 1, [fact("1"), fact("2"), fact("3"), preference("p", "x")]));
      await store.edit("1", { pinned: true });
      await store.markUsed(["2"], "2026-03-01T00:00:00.000Z");
      await store.record(batch(1, 2, [fact("4")]));
      assert.deepEqual(ids(await store.list({ kind: "fact", limit: 9 })), ["4", "2", "1"]);
      await store.markUsed(["4"], "2026-03-01T00:00:00.000Z");
      await store.record(batch(2, 3, [fact("5")]));
      assert.deepEqual(ids(await store.list({ kind: "fact", limit: 9 })), ["5", "4", "1"]);
      for (const id of ["4", "5"]) await store.edit(id, { pinned: true });
      await store.record(batch(3, 4, [fact("6")]));
      assert.deepEqual(ids(await store.list({ limit: 9 })), ["5", "4", "p", "1"]);
    },
  "what tools, models and transcripts say goes first, and evicts nothing of the user's": async (
    store,
  ) => {
    const limits = { max: { ...LIMITS.max, preference: 2, fact: 1 }, eviction: "fifo" } as const;
    const shown = async () => ids(await store.list({ limit: 9 }));
    const said = (id: string, origin: "user" | "model" | "imported") => ({
      ...preference(id, `${id} of ${origin}`, [id]),
      origin,
    });
    await store.record({ ...batch(0, 1, [said("1", "user"), said("2", "model")]), limits });
    await store.record({ ...batch(1, 2, [said("3", "user")]), limits });
    assert.deepEqual(await shown(), ["3", "1"]);
    const flood = ["4", "5", "6"].map((id) => said(id, "imported"));
    await store.record({ ...batch(2, 3, flood), limits });
    assert.deepEqual(await store.add([said("7", "model")], limits), []);
    assert.deepEqual(await shown(), ["3", "1"]);
    await store.record({ ...batch(3, 4, [said("8", "user")]), limits });
    assert.deepEqual(await shown(), ["8", "3"]);
    await store.add([fact("f", { origin: "added" })], limits);
    await store.record({ ...batch(4, 5, [fact("g")]), limits });
    assert.deepEqual(await shown(), ["f", "8", "3"]);
  },
  "first in, first out, if so wanted": async (store) => {
    const limits = { ...LIMITS, eviction: "fifo" } as const;
    await store.record({ ...batch(0, 1, [fact("1"), fact("2"), fact("3")]), limits });
    await store.markUsed(["1"], "2026-03-01T00:00:00.000Z");
    await store.record({ ...batch(1, 2, [fact("4")]), limits });
    assert.deepEqual(ids(await store.list({ limit: 9 })), ["4", "3", "2"]);
  },
  "an edited text stays as it was edited": async (store) => {
    await store.record(batch(0, 1, [fact("1", { keys: ["k"] })]));
    const edited = await store.edit("1", { content: "mine", tags: ["t"], keys: ["k2"] });
    assert.deepEqual([edited?.content, edited?.tags, edited?.edited], ["mine", ["t"], true]);
    await store.record(batch(1, 2, [fact("2", { keys: ["k2"], content: "theirs" })]));
    const [entry] = await store.list({ limit: 9 });
    assert.deepEqual([entry?.id, entry?.content, entry?.count], ["1", "mine", 2]);
    assert.equal(await store.edit("nobody", { pinned: true }), undefined);
  },
  "a forgotten entry is not recorded again, unless it is added by hand": async (store) => {
    await store.record(batch(0, 1, [preference("1", "secret", ["k"])]));
    assert.equal(await store.forget(["1", "nobody"]), 1);
    await store.record(batch(1, 2, [preference("2", "secret", ["k"])]));
    assert.deepEqual(await store.list({ limit: 9 }), []);
    const [added] = await store.add([preference("3", "secret", ["k"])], LIMITS);
    assert.equal(added?.id, "3");
    assert.deepEqual(ids(await store.list({ limit: 9 })), ["3"]);
  },
  "memory is told of everything that is new, changed or gone, until it has heard of it": async (
    store,
  ) => {
    await store.record(batch(0, 1, [fact("1", { keys: ["k"] }), fact("2")]));
    const first = await store.unheard(10);
    assert.deepEqual(
      first.changed.map(({ entry }) => entry.id),
      ["1", "2"],
    );
    await store.record(batch(1, 2, [fact("3", { keys: ["k"], content: "changed since" })]));
    await store.heard(first);
    const second = await store.unheard(10);
    assert.deepEqual(
      second.changed.map(({ entry }) => [entry.id, entry.content]),
      [["1", "changed since"]],
    );
    await store.forget(["2"]);
    const third = await store.unheard(10);
    assert.deepEqual(third.gone, ["2"]);
    await store.heard(third);
    assert.deepEqual(await store.unheard(10), { changed: [], gone: [] });
    await store.markUsed(["1"], "2026-03-01T00:00:00.000Z");
    await store.edit("1", { pinned: true });
    assert.deepEqual(await store.unheard(10), { changed: [], gone: [] });
  },
  "rules are saved only if nothing they rest on has changed meanwhile": async (store) => {
    await store.record(batch(0, 1, [preference("1", "one", ["a"])]));
    const { current } = await store.revision();
    await store.record(batch(1, 2, [preference("2", "two", ["b"])]));
    assert.equal(await store.saveRules(current, [rule("r1", "one")]), false);
    const next = await store.revision();
    assert.notEqual(next.current, next.distilled);
    assert.equal(await store.saveRules(next.current, [rule("r1", "one"), rule("r2", "2")]), true);
    const { current: now, distilled } = await store.revision();
    assert.equal(now, distilled);
    await store.record(batch(2, 3, [fact("f")]));
    assert.equal((await store.revision()).current, now);
  },
  "rules take the place of those before them; edited, pinned and forgotten ones stay so": async (
    store,
  ) => {
    const save = async (...rules: NewKnowledge[]) => {
      const { current } = await store.revision();
      assert.equal(await store.saveRules(current, rules), true);
    };
    await store.add([{ ...rule("mine", "by hand"), origin: "added" }], LIMITS);
    await save(rule("r1", "one"), rule("r2", "two"), rule("r3", "three"));
    await store.edit("r1", { content: "one, as I say it", pinned: true });
    await store.forget(["r2"]);
    await save(rule("r1", "one again"), rule("r2", "two"), rule("r4", "four"));
    const rules = await store.list({ kind: "rule", limit: 9 });
    assert.deepEqual(
      rules.map(({ id, content, pinned }) => [id, content, pinned]),
      [
        ["r4", "four", false],
        ["r1", "one, as I say it", true],
        ["mine", "by hand", false],
      ],
    );
  },
  "facts of a deleted session go with it; entries that the user taught stay": async (store) => {
    const taught = { ...preference("p", "x"), sessionId: "session" };
    const other = fact("2", { sessionId: "other" });
    await store.record(batch(0, 1, [fact("1"), other, taught]));
    await store.heard(await store.unheard(10));
    await store.deleteSession("session");
    assert.deepEqual(ids(await store.list({ limit: 9 })), ["p", "2"]);
    assert.deepEqual((await store.unheard(10)).gone, ["1"]);
  },
  "a restored entry is merged, evicted and kept out like its original": async (store) => {
    await store.restore(COPY);
    assert.deepEqual(sorted(await store.copy()), sorted(COPY));
    assert.deepEqual(ids((await store.unheard(9)).changed.map(({ entry }) => entry)), ["a", "b"]);
    const again = fact("c", { keys: ["key of a"], content: "a, heard again" });
    const alike = fact("d", { likeness: { bands: ["band"], signature: [1, 2, 3] } });
    await store.record(batch(7, 8, [again, alike, fact("e", { keys: ["gone"] })]));
    assert.deepEqual(
      (await store.list({ limit: 9 })).map(({ id, count }) => [id, count]),
      [
        ["b", 2],
        ["a", 5],
      ],
    );
  },
  "restoring a copy again changes nothing, and forgets entries that were forgotten since": async (
    store,
  ) => {
    await store.add([fact("own", { keys: ["key of a"] }), fact("x", { keys: ["y"] })], LIMITS);
    await store.restore(COPY);
    assert.deepEqual(ids(await store.list({ limit: 9 })), ["b", "x", "own"]);
    await store.heard(await store.unheard(9));
    await store.restore(COPY);
    assert.deepEqual(await store.unheard(9), { changed: [], gone: [] });
    await store.restore({ position: 9, entries: COPY.entries, forgotten: ["gone", "y"] });
    assert.deepEqual(ids(await store.list({ limit: 9 })), ["b", "own"]);
    assert.deepEqual((await store.unheard(9)).gone, ["x"]);
    assert.equal(await store.position(), 9);
  },
  "knowledge outlives the process, and two of them share it": durable(async (open) => {
    const here = await open();
    const there = await open();
    await here.record(batch(0, 1, [fact("1", { keys: ["k"] })]));
    assert.equal(await there.record(batch(0, 1, [fact("1", { keys: ["k"] })])), false);
    assert.equal(await there.record(batch(1, 2, [fact("2", { keys: ["k"] })])), true);
    assert.deepEqual(
      (await here.list({ limit: 9 })).map(({ id, count }) => [id, count]),
      [["1", 2]],
    );
  }),
});

const LEARNED: KnowledgeEntry = {
  id: "a",
  kind: "fact",
  content: "a",
  tags: [],
  origin: "tool",
  time: "2026-01-01T00:00:00.000Z",
  lastTime: "2026-01-01T00:00:00.000Z",
  count: 4,
  pinned: false,
  edited: false,
};

const COPY: KnowledgeCopy = {
  position: 7,
  entries: [
    { entry: LEARNED, keys: ["key of a", "a too"] },
    {
      entry: { ...LEARNED, id: "b", content: "b", count: 1, pinned: true },
      keys: ["key of b"],
      likeness: { bands: ["band", "second band"], signature: [1, 2, 3] },
    },
  ],
  forgotten: ["gone"],
};

/** A copy whose hashes are in order. */
function sorted({ position, entries, forgotten }: KnowledgeCopy): unknown {
  const inOrder = entries.map(({ entry, keys, likeness }) => {
    const { bands = [], signature = [] } = likeness ?? {};
    return { entry, keys: [...keys].sort(), bands: [...bands].sort(), signature: [...signature] };
  });
  return { position, entries: inOrder, forgotten: [...forgotten].sort() };
}

function batch(from: number, to: number, entries: readonly NewKnowledge[]) {
  return { from, to, entries, limits: LIMITS };
}

function fact(id: string, fields: Partial<NewKnowledge> = {}): NewKnowledge {
  return {
    id,
    kind: "fact",
    content: `content of ${id}`,
    tags: ["tool_result", "shell"],
    origin: "tool",
    sessionId: "session",
    source: { from: 1, to: 2 },
    time: "2026-01-01T00:00:00.000Z",
    tool: "shell",
    keys: [`key of ${id}`],
    ...fields,
  };
}

function preference(id: string, content: string, keys: readonly string[] = [id]): NewKnowledge {
  const time = "2026-01-01T00:00:00.000Z";
  return { id, kind: "preference", content, tags: [], origin: "user", time, keys };
}

function rule(id: string, content: string): NewKnowledge {
  const time = "2026-01-01T00:00:00.000Z";
  const keys = [`key of ${id}`];
  return { id, kind: "rule", content, tags: [], origin: "distilled", time, keys, sources: ["1"] };
}

function ids(entries: readonly KnowledgeEntry[]): string[] {
  return entries.map(({ id }) => id);
}
