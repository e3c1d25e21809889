import assert from "node:assert/strict";
import type { MemoryEntry, MemoryPage, MemoryStore } from "../core/memory-store.ts";
import { durable, expects, type Law, lawsOf } from "./law.ts";
import { entry, ids, SCRIPTS } from "./memory-samples.ts";
import { memorySearchLaws } from "./memory-search-laws.ts";

const storingLaws: readonly Law<MemoryStore>[] = lawsOf({
  "an entry comes back as it was added": async (store) => {
    const full: MemoryEntry = {
      id: "full",
      content: "  The key rotates\nevery 90 days. ",
      sessionId: "session one",
      turn: 7,
      kind: "fact",
      time: "2025-02-03T04:05:06Z",
      role: "assistant",
      speaker: "Ada",
      source: { from: 3, to: 5 },
    };
    const bare = entry("bare", "The key opens the shed.", { turn: null });
    await store.add([full, bare]);
    const hits = await store.search({ query: "key rotates", limit: 10, minScore: 0 });
    const found = hits.map(({ score: _, match: __, ...rest }) => rest);
    assert.deepEqual(
      found.find(({ id }) => id === "full"),
      full,
    );
    assert.deepEqual(
      found.find(({ id }) => id === "bare"),
      bare,
    );
  },
  "an id is stored once, however often it is added": async (store) => {
    assert.equal(await store.add([entry("1", "first wording")]), 1);
    const again = [entry("1", "second wording"), entry("2", "third"), entry("2", "fourth")];
    assert.equal(await store.add(again), 1);
    assert.equal((await store.stats()).entries, 2);
    assert.deepEqual(await ids(store, { query: "second" }), []);
    assert.deepEqual(await ids(store, { query: "first" }), ["1"]);
  },
  "an id is stored once, by however many it is added at the same time": async (store) => {
    const entries = Array.from({ length: 20 }, (_, index) => entry(`${index}`, `note ${index}`));
    const added = await Promise.all([1, 2, 3, 4].map(() => store.add(entries)));
    assert.equal(
      added.reduce((sum, count) => sum + count, 0),
      20,
    );
    assert.equal((await store.stats()).entries, 20);
  },
  "two stores on one memory store an id once, and the other finds an added entry at its next search":
    durable(async (open) => {
      const [one, other] = [await open(), await open()];
      assert.deepEqual(await ids(other, { query: "walrus" }), []);
      await one.add([entry("1", "The walrus sleeps."), entry("2", "The seal does not.")]);
      assert.deepEqual(await ids(other, { query: "walrus" }), ["1"]);
      const both = [entry("2", "The seal does not."), entry("3", "The orca hunts.")];
      const added = await Promise.all([one.add(both), other.add(both)]);
      assert.equal(added[0] + added[1], 1);
      assert.deepEqual(await ids(one, { query: "orca" }), ["3"]);
      await other.delete({ ids: ["1"] });
      assert.deepEqual(await ids(one, { query: "walrus" }), []);
      await other.close();
      assert.equal((await one.stats()).entries, 2);
    }),
  "memory survives closing and opening again": durable(async (open) => {
    const before = await open();
    await before.add([entry("1", "The lighthouse keeper retired.")]);
    await before.close();
    assert.deepEqual(await ids(await open(), { query: "lighthouse" }), ["1"]);
  }),
  "blank content is never stored": async (store) => {
    assert.equal(await store.add([entry("1", ""), entry("2", " \n\t"), entry("3", "x")]), 1);
    assert.equal((await store.stats()).entries, 1);
    assert.equal(await store.add([]), 0);
  },
  "a credential is replaced before it is stored": async (store) => {
    const token = `ghp_${"aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fLkJ7h"}`;
    await store.add([entry("1", `The token of the robot is ${token}.`)]);
    const kept = [
      ...(await store.read(["1"])),
      ...(await store.list({ limit: 1 })),
      ...(await store.search({ query: "robot", limit: 1 })),
    ];
    assert.equal(kept.length, 3);
    for (const { content } of kept)
      expects(!content.includes(token), "no text with the credential", content);
  },
  "a batch with an entry that cannot be stored is not stored at all": async (store) => {
    const broken = { ...entry("2", "second"), content: Symbol("no text") as unknown as string };
    await assert.rejects(async () => store.add([entry("1", "first"), broken]));
    assert.equal((await store.stats()).entries, 0);
    assert.deepEqual(await ids(store, { query: "first" }), []);
  },
  "a pin, earlier texts and what it is kept beside stay with an entry, and only entries that have one are listed as marked":
    async (store) => {
      // A store that cannot change marks refuses to edit and to pin.
      if (!store.mark) return;
      const token = `ghp_${"aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fLkJ7h"}`;
      const until = "2025-02-03T04:05:06.000Z";
      const earlier = [{ id: "0", content: `The key was ${token}.`, until }];
      const entries = Array.from({ length: 12 }, (_, index) => entry(`${index}`, `otter ${index}`));
      await store.add([...entries, entry("edited", "The otter swims.", { earlier })]);
      const keeps = [{ id: "8", since: until }];
      assert.equal(await store.mark("7", { pinned: true, keeps }), true);
      assert.equal(await store.mark("unknown", { pinned: true }), false);
      const marked = () => store.list({ limit: 10, marked: true });
      const [pinned, edited] = await marked();
      assert.deepEqual(pinned, { ...entry("7", "otter 7"), pinned: true, keeps });
      assert.equal(edited?.earlier?.[0]?.until, until);
      expects(!JSON.stringify(edited).includes(token), "no credential in an earlier text", edited);
      const [hit] = await store.search({ query: "otter 7", limit: 1 });
      assert.deepEqual([hit?.id, hit?.keeps], ["7", keeps]);
      assert.deepEqual(await store.list({ limit: 10, marked: true, sessionId: "other" }), []);
      assert.deepEqual((await store.list({ limit: 1, marked: true, after: "7" }))[0]?.id, "edited");
      await store.reindex();
      assert.deepEqual(await marked(), [pinned, edited]);
      assert.deepEqual((await store.verify()).problems, []);
      await store.mark("7", {});
      await store.mark("edited", {});
      assert.deepEqual(await marked(), []);
      assert.deepEqual(await store.read(["7"]), [entry("7", "otter 7")]);
    },
  "a deleted entry is found no more": async (store) => {
    await store.add([
      entry("1", "The otter swims.", { sessionId: "s" }),
      entry("2", "The otter eats.", { sessionId: "s" }),
      entry("3", "The otter sleeps.", { sessionId: "r" }),
      entry("4", "The otter plays.", { sessionId: "r" }),
    ]);
    assert.equal(await store.delete({ ids: ["1", "1", "no such id"] }), 1);
    assert.equal(await store.delete({ ids: [] }), 0);
    assert.deepEqual((await ids(store, { query: "otter", minScore: 0 })).toSorted(), [
      "2",
      "3",
      "4",
    ]);
    assert.deepEqual(await ids(store, { query: "swims" }), []);
    assert.equal(await store.delete({ sessionId: "r" }), 2);
    assert.equal(await store.delete({ sessionId: "r" }), 0);
    assert.deepEqual(await ids(store, { query: "otter" }), ["2"]);
    const { entries, sessions } = await store.stats();
    assert.deepEqual({ entries, sessions }, { entries: 1, sessions: 1 });
  },
  "a deleted entry can be added again": async (store) => {
    for (const round of ["first", "second"]) {
      assert.equal(await store.add([entry("1", `the ${round} badger`)]), 1);
      assert.deepEqual(await ids(store, { query: `${round} badger` }), ["1"]);
      assert.equal(await store.delete({ sessionId: "s" }), 1);
      assert.deepEqual(await ids(store, { query: "badger", minScore: 0 }), []);
    }
  },
  "stats of one session count its entries alone": async (store) => {
    const sessionId = "the other";
    await store.add([entry("1", "one"), entry("2", "two", { sessionId }), entry("3", "three")]);
    const { entries, sessions, textBytes } = await store.stats({ sessionId });
    assert.deepEqual({ entries, sessions, textBytes }, { entries: 1, sessions: 1, textBytes: 3 });
    assert.equal((await store.stats({ sessionId: "nobody" })).entries, 0);
  },
  "stats count entries, their sessions and their bytes": async (store) => {
    const { entries, sessions, textBytes, index } = await store.stats();
    assert.deepEqual({ entries, sessions, textBytes }, { entries: 0, sessions: 0, textBytes: 0 });
    assert.notEqual(index, "");
    await store.add([
      entry("1", "abc", { sessionId: "s" }),
      entry("2", "é", { sessionId: "s" }),
      entry("3", "東京", { sessionId: "r" }),
    ]);
    const after = await store.stats();
    assert.deepEqual([after.entries, after.sessions, after.textBytes], [3, 2, 11]);
  },
  "any text can be stored and asked for": async (store) => {
    await store.add(ODD_TEXTS.map((text, index) => entry(`${index}`, text)));
    for (const [index, text] of ODD_TEXTS.entries()) {
      const [hit] = await store.search({ query: text, limit: 1 });
      assert.equal(hit?.id, `${index}`, `asked for ${JSON.stringify(text.slice(0, 60))}`);
      // A file or a wire may put U+FFFD in the place of half a character.
      assert.equal(hit.content.toWellFormed(), text.toWellFormed());
      expects(hit.score > 0.99, "a score above 0.99", hit);
    }
  },
  "ids and names may have half a character, and filters find them": async (store) => {
    const half = { sessionId: "pier \ud83d", role: "guest \ud83d", speaker: "Ana \ud83d" };
    for (const number of [1, 2]) {
      await store.add([entry(`${number} \ud83d`, `The heron nests at weir ${number}.`, half)]);
    }
    await store.add([entry("3", "The heron nests at weir 3.")]);
    const both = ["1 \ud83d", "2 \ud83d"].map((id) => id.toWellFormed());
    const wellFormed = (all: readonly string[]) => all.map((id) => id.toWellFormed()).sort();
    const { sessionId, role } = half;
    for (const filter of [{ sessionId }, { role }, { sessions: { only: [sessionId] } }]) {
      const query = "where does the heron nest";
      assert.deepEqual(wellFormed(await ids(store, { ...filter, query })), both);
      assert.deepEqual(wellFormed((await listed(store, filter)).map(({ id }) => id)), both);
    }
    assert.equal(await store.delete({ ids: ["1 \ud83d"] }), 1);
    assert.equal(await store.delete({ sessionId }), 1);
  },
  "entries are read by their ids, in the order of the ids": async (store) => {
    const all = [entry("1", "one"), entry("2", "two", { speaker: "Ada" }), entry("3", "three")];
    await store.add(all);
    assert.deepEqual(await store.read(["3", "no such id", "1"]), [all[2], all[0]]);
    await store.delete({ ids: ["3"] });
    assert.deepEqual(await store.read(["3", "2"]), [all[1]]);
  },
  "`list` gives every entry once, in the order in which they were stored": async (store) => {
    const all = Array.from({ length: 57 }, (_, index) =>
      entry(`${index}`, `note ${index}`, {
        sessionId: `s${index % 5}`,
        role: index % 2 === 0 ? "user" : "assistant",
      }),
    );
    for (let start = 0; start < all.length; start += 10) {
      await store.add(all.slice(start, start + 10));
    }
    assert.deepEqual(await listed(store, {}), all);
    const filters: readonly Partial<MemoryPage>[] = [
      { sessionId: "s3" },
      { role: "user" },
      { sessionId: "s2", role: "assistant" },
      { sessionId: "nowhere" },
      { kind: "rule" },
    ];
    for (const filter of filters) {
      const { sessionId, role, kind } = filter;
      const expected = all.filter(
        (one) =>
          (sessionId === undefined || one.sessionId === sessionId) &&
          (role === undefined || one.role === role) &&
          (kind === undefined || one.kind === kind),
      );
      assert.deepEqual(await listed(store, filter), expected);
    }
    await store.delete({ ids: ["0", "20", "56"] });
    const left = all.filter(({ id }) => !["0", "20", "56"].includes(id));
    assert.deepEqual(await listed(store, {}), left);
  },
  "a check finds no problem after additions and deletions": async (store) => {
    assert.deepEqual(await store.verify(), { entries: 0, problems: [] });
    await store.add(ODD_TEXTS.map((text, index) => entry(`${index}`, text)));
    await store.add(
      SCRIPTS.map(([text], index) => entry(`script ${index}`, text, { sessionId: "r" })),
    );
    await store.delete({ ids: ["3", "script 2", "18"] });
    const { entries, problems } = await store.verify();
    assert.deepEqual(
      { entries, problems },
      { entries: ODD_TEXTS.length + SCRIPTS.length - 3, problems: [] },
    );
  },
  "a rebuilt index has the same results as the old one": async (store) => {
    const all = Array.from({ length: 120 }, (_, index) =>
      entry(`${index}`, `heron ${index} weir ${index % 7}`, { sessionId: `s${index % 9}` }),
    );
    await store.add(all);
    await store.delete({ ids: ["5", "6"] });
    // One entry answers each of them better than any other.
    const queries = ["heron 17", "heron 44", "heron 119"];
    const results = () =>
      Promise.all(queries.map((query) => store.search({ query, limit: 1, minScore: 0 })));
    const before = await results();
    const seen: number[] = [];
    await store.reindex({ onProgress: ({ done, total }) => seen.push(done / total) });
    expects(
      seen.every((share) => Number.isNaN(share) || (share >= 0 && share <= 1)),
      "progress from 0 to 1",
      seen,
    );
    assert.deepEqual(await results(), before);
    await Promise.all([store.reindex(), store.add([entry("new", "heron 500")]), results()]);
    assert.deepEqual((await ids(store, { query: "heron 500", minScore: 0 }))[0], "new");
    assert.deepEqual((await store.verify()).problems, []);
  },
  "checking and rebuilding stop when they are told to, and nothing is lost": async (store) => {
    await store.add([entry("1", "The heron landed.")]);
    const signal = AbortSignal.abort();
    await store.verify({ signal }).catch(() => {});
    await store.reindex({ signal }).catch(() => {});
    assert.deepEqual(await ids(store, { query: "heron" }), ["1"]);
    await store.reindex();
    assert.deepEqual(await ids(store, { query: "heron" }), ["1"]);
    assert.deepEqual((await store.verify()).problems, []);
  },
});

/** The promises of every memory store. A law that opens twice expects two stores on the same memory. */
export const memoryStoreLaws: readonly Law<MemoryStore>[] = [...storingLaws, ...memorySearchLaws];

/** All entries, in pages of ten. */
async function listed(store: MemoryStore, filter: Partial<MemoryPage>): Promise<MemoryEntry[]> {
  const all: MemoryEntry[] = [];
  for (;;) {
    const after = all.at(-1)?.id;
    const page = await store.list({
      limit: 10,
      ...filter,
      ...(after === undefined ? {} : { after }),
    });
    all.push(...page);
    if (page.length < 10) return all;
  }
}

/** None of them contains another: a store may count a text that contains the query as the query. */
const ODD_TEXTS: readonly string[] = [
  `"unclosed quote`,
  `AND OR NOT NEAR(`,
  `col:value^ * -minus +plus`,
  `'; DROP TABLE memory_entry; --`,
  `?!?!`,
  `()[]{}`,
  `%_\\%`,
  `before\u0000after`,
  `lone \ud83d surrogate`,
  `\u202eright to left\u202c`,
  `e\u0301te\u0301`,
  `👩‍👩‍👧‍👦 family`,
  `<b>&amp;</b>`,
  `{"json": [1, 2.5, null]}`,
  `src/core/ids.ts:12:5`,
  `3.14159 -40 1e9`,
  `the and of`,
  `longword${"x".repeat(5000)}`,
  `a million ${"filler text. ".repeat(80_000)} bytes`,
  "\ud800",
];
