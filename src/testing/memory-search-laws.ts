import assert from "node:assert/strict";
import {
  bestMatchOf,
  type MemoryHit,
  type MemoryQuery,
  type MemoryStore,
  matchOfHit,
} from "../core/memory-store.ts";
import { expects, type Law, lawsOf } from "./law.ts";
import { entry, ids, SCRIPTS } from "./memory-samples.ts";

/** The promises of every memory store about what its searches find. */
export const memorySearchLaws: readonly Law<MemoryStore>[] = lawsOf({
  "an added entry is found by its own words": async (store) => {
    const entries = [
      entry("1", "The staging database moved to port 5433 last Tuesday."),
      entry("2", "Caroline adopted a greyhound called Biscuit."),
      entry("3", "Use pnpm, never yarn, in the billing repository."),
    ];
    assert.equal(await store.add(entries), 3);
    assert.equal((await ids(store, { query: "greyhound" }))[0], "2");
    assert.equal((await ids(store, { query: "staging database port" }))[0], "1");
    assert.equal((await ids(store, { query: "pnpm yarn billing" }))[0], "3");
  },
  "scores run from 0 to 1, best first": async (store) => {
    await store.add([
      entry("1", "The red kite flew over the hill."),
      entry("2", "A red bus stood in the street."),
      entry("3", "The kite tore."),
      entry("4", "Nothing of the sort."),
    ]);
    const hits = await store.search({ query: "red kite hill", limit: 10, minScore: 0 });
    assert.equal(hits[0]?.id, "1");
    const scores = hits.map(({ score }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((one, other) => other - one),
    );
    expects(
      scores.every((score) => score > 0 && score <= 1),
      "scores above 0 and at most 1",
      scores,
    );
  },
  "the same text scores 1 and comes first": async (store) => {
    const text = "Rotate the signing key before the March release.";
    await store.add([
      entry("1", "The March release was late."),
      entry("2", text),
      entry("3", "Rotate the tyres, and sign the March key sheet before the release."),
    ]);
    const [first] = await store.search({ query: text, limit: 10 });
    assert.equal(first?.id, "2");
    expects(first.score > 0.99, "a score above 0.99 for the same text", first.score);
  },
  "only the same text scores 1": async (store) => {
    const texts = [
      "The staging port is 7443, as agreed on Monday.",
      "A port is a port is a port.",
      "service 5 is down",
      "Port",
    ];
    await store.add(texts.map((text, index) => entry(`${index}`, text)));
    for (const query of ["port", "is", "service 5", "port is", "staging port", ...texts]) {
      for (const hit of await store.search({ query, limit: 10, minScore: 0 })) {
        const isSame = hit.content.toLowerCase() === query.toLowerCase();
        const bound = isSame ? "1" : "at most 0.95";
        expects(
          isSame ? hit.score === 1 : hit.score <= 0.95,
          `a score of ${bound} for "${query}"`,
          hit,
        );
      }
      for (const hit of await store.search({ query, limit: 10, minScore: 0.96 })) {
        assert.equal(hit.score, 1);
      }
    }
    const others = await store.search({ query: "service 7", limit: 10, minScore: 0 });
    expects(
      others.every(({ score }) => score <= 0.51),
      "scores of at most 0.51 for another number",
      others,
    );
  },
  "a question with the words that matter scores above .5, in a store of one entry as of many":
    async (store) => {
      const staging = entry("staging", "Staging listens on port 4310.");
      const others = Array.from({ length: 40 }, (_, at) =>
        entry(`other-${at}`, `The garden has ${at} trees and a bench.`),
      );
      for (const added of [[staging], others]) {
        await store.add(added);
        const [hit] = await store.search({ query: "which port does staging use", limit: 5 });
        assert.equal(hit?.id, "staging");
        expects(hit.score > 0.5, "a score above 0.5", hit.score);
      }
    },
  "unrelated text is not a result": async (store) => {
    await store.add([
      entry("1", "The quarterly report is due on Monday."),
      entry("2", "Melanie paints sunrises."),
    ]);
    for (const query of ["zebra migration kenya", "quetzal", "火山"]) {
      assert.deepEqual(await ids(store, { query }), []);
      assert.deepEqual(await ids(store, { query, minScore: 0 }), []);
    }
  },
  "a question of stop words alone finds the same text, and nothing else": async (store) => {
    const texts = [
      "What is it that the robot does? It is what it is.",
      "It is the one of us who can do it, and that is that.",
      "Who are you? I am the one you called.",
    ];
    await store.add(texts.map((text, index) => entry(`${index}`, text)));
    for (const query of ["what is it", "the of and", "Who am I?", "the", "It is."]) {
      assert.deepEqual(await ids(store, { query }), []);
      assert.deepEqual(await ids(store, { query, minScore: 0 }), []);
    }
    await store.add([entry("3", "What is it?")]);
    assert.deepEqual(await ids(store, { query: "what is it" }), ["3"]);
    assert.deepEqual((await ids(store, { query: "what is it for the robot" }))[0], "0");
    assert.deepEqual((await ids(store, { query: ["the of and", "robot"] }))[0], "0");
  },
  "stop words that are written like a name find what has them": async (store) => {
    await store.add([
      entry("1", "We heard The Who in London."),
      entry("2", "Ask IT for a new laptop."),
      entry("3", "Otto sleeps."),
    ]);
    assert.equal((await ids(store, { query: "The Who" }))[0], "1");
    assert.equal((await ids(store, { query: "who is IT" }))[0], "2");
    assert.equal((await ids(store, { query: '"the who"' }))[0], "1");
  },
  "a blank query, or a limit of 0, finds nothing": {
    async holds(open) {
      const store = await open();
      await store.add([entry("1", "The answer is here.")]);
      for (const query of ["", " ", "\n\t"]) assert.deepEqual(await ids(store, { query }), []);
      assert.deepEqual(await ids(store, { query: "answer", limit: 0 }), []);
      assert.deepEqual(await ids(await open(), { query: "question" }), []);
    },
  },
  "no more results than the limit, and none below minScore": async (store) => {
    await store.add(
      Array.from({ length: 30 }, (_, index) => entry(`${index}`, `ticket number ${index}`)),
    );
    for (const limit of [1, 7, 100]) {
      const hits = await store.search({ query: "ticket", limit, minScore: 0 });
      assert.equal(hits.length, Math.min(limit, 30));
    }
    const good = await store.search({ query: "ticket number 12", limit: 30, minScore: 0.9 });
    expects(
      good.some(({ id }) => id === "12"),
      "a result with the id 12",
      good,
    );
    expects(
      good.every(({ score }) => score >= 0.9),
      "scores of at least 0.9",
      good,
    );
  },
  "filters hold": async (store) => {
    await store.add([
      entry("a", "apple one", { sessionId: "s", role: "user", time: "2025-01-10T09:00:00Z" }),
      entry("b", "apple two", {
        sessionId: "s",
        role: "assistant",
        time: "2025-01-20T23:30:00Z",
      }),
      entry("c", "apple three", { sessionId: "r", kind: "rule", time: "2025-02-01T00:00:00Z" }),
      entry("d", "apple four", { sessionId: "r", role: "user" }),
    ]);
    const found = async (filter: Partial<MemoryQuery>) =>
      (await ids(store, { query: "apple", minScore: 0, ...filter })).toSorted().join("");
    assert.equal(await found({}), "abcd");
    assert.equal(await found({ sessionId: "s" }), "ab");
    assert.equal(await found({ sessionId: "nowhere" }), "");
    assert.equal(await found({ role: "user" }), "ad");
    assert.equal(await found({ kind: "rule" }), "c");
    assert.equal(await found({ since: "2025-01-20T23:30:00Z" }), "bc");
    assert.equal(await found({ until: "2025-01-20" }), "ab");
    assert.equal(await found({ since: "2025-01-11", until: "2025-01-31T00:00:00Z" }), "b");
    assert.equal(await found({ sessionId: "r", role: "user", kind: "message" }), "d");
    assert.equal(await found({ sessionId: "s", kind: "rule" }), "");
    assert.equal(await found({ sessions: { only: ["s", "nowhere"] } }), "ab");
    assert.equal(await found({ sessions: { only: [] } }), "");
    assert.equal(await found({ sessions: { except: ["s", "nowhere"] } }), "cd");
    assert.equal(await found({ sessions: { except: [] } }), "abcd");
    assert.equal(await found({ sessions: { only: ["r", "s"] }, sessionId: "r" }), "cd");
    assert.equal(await found({ sessions: { except: ["r"] }, role: "user" }), "a");
    const ofR = { sessions: { only: ["r"] } };
    assert.deepEqual(await ids(store, { query: "apple three", ...ofR, limit: 1 }), ["c"]);
    // The text of an entry that is left out.
    const ofOthers = await ids(store, { query: "apple one", ...ofR, minScore: 0 });
    expects(!ofOthers.includes("a"), "no entry of another session", ofOthers);
    const listed = await store.list({ limit: 10, sessions: { except: ["r"] } });
    assert.deepEqual(listed.map(({ id }) => id).sort(), ["a", "b"]);
  },
  "a filter does not hide an entry behind better ones that it leaves out": async (store) => {
    const others = Array.from({ length: 600 }, (_, index) =>
      entry(`other-${index}`, "the blue heron nests", { sessionId: `s${index % 9}` }),
    );
    await store.add([
      ...others,
      entry("fact", "herons nest in the old blue barn", { kind: "fact" }),
    ]);
    const hits = await ids(store, { query: "blue heron nests", kind: "fact", minScore: 0 });
    assert.deepEqual(hits, ["fact"]);
  },
  "every script is found by its words": async (store) => {
    await store.add(SCRIPTS.map(([text], index) => entry(`${index}`, text)));
    for (const [index, [text, query]] of SCRIPTS.entries()) {
      assert.equal((await ids(store, { query }))[0], `${index}`, `${query} in ${text}`);
    }
  },
  "of several queries asked together an entry is one result, with the best of its scores": async (
    store,
  ) => {
    await store.add([
      entry("1", "The crane lifts the beam."),
      entry("2", "The otter sleeps on the beam."),
      entry("3", "Nothing of the sort."),
    ]);
    const single = await Promise.all(
      ["crane beam", "otter beam"].map((query) => store.search({ query, limit: 10, minScore: 0 })),
    );
    const best = new Map<string, number>();
    for (const { id, score } of single.flat()) best.set(id, Math.max(score, best.get(id) ?? 0));
    const query = ["crane beam", "otter beam"];
    const together = await store.search({ query, limit: 10, minScore: 0 });
    assert.equal(together.length, best.size);
    for (const { id, score } of together) {
      const alone = best.get(id) ?? 0;
      expects(
        Math.abs(score - alone) < 1e-6,
        `the better of the scores of "${id}", ${alone}`,
        score,
      );
    }
    assert.equal((await store.search({ query, limit: 1, minScore: 0 })).length, 1);
    assert.deepEqual(await ids(store, { query: [] }), []);
    assert.deepEqual(await ids(store, { query: [" ", "crane"] }), ["1"]);
  },
  "nothing is a result when the best has less than the match that it needs, and else all are":
    async (store) => {
      await store.add([entry("1", "The crane lifts the beam."), entry("2", "The crane sleeps.")]);
      const query = { query: "crane lifts", limit: 10, minScore: 0 };
      const all = await store.search(query);
      const best = bestMatchOf(all);
      assert.equal(all.length, 2);
      expects(best < 1, "a best match below 1", best);
      assert.deepEqual(await store.search({ ...query, bestMatch: best }), all);
      assert.deepEqual(await store.search({ ...query, bestMatch: best + 0.001 }), []);
      const same = { ...query, query: "The crane sleeps." };
      assert.equal((await ids(store, { ...same, bestMatch: 1 }))[0], "2");
    },
  "the neighbours of a result are the entries around it in its session, in order": async (
    store,
  ) => {
    for (let index = 0; index < 12; index += 1) {
      await store.add([
        entry(`s${index}`, index === 6 ? "the heron landed" : `word${index}`),
        entry(`r${index}`, `other${index}`, { sessionId: "r" }),
      ]);
    }
    const around = async (neighbours: number) => {
      const [hit] = await store.search({ query: "heron landed", limit: 1, neighbours });
      const { before, after } = hit?.neighbours ?? { before: [], after: [] };
      return [...before.map(({ id }) => id), "-", ...after.map(({ id }) => id)].join(" ");
    };
    assert.equal(await around(0), "-");
    assert.equal(await around(2), "s4 s5 - s7 s8");
    assert.equal(await around(50), "s0 s1 s2 s3 s4 s5 - s7 s8 s9 s10 s11");
    await store.delete({ ids: ["s5", "s7"] });
    assert.equal(await around(1), "s4 - s8");
  },
  "only results with enough of the question have neighbours, when they need it": async (store) => {
    for (const [index, text] of [
      "a",
      "The crane lifts the beam.",
      "b",
      "c",
      "The crane sleeps.",
      "d",
    ].entries())
      await store.add([entry(String(index), text)]);
    const query = { query: "crane lifts beam", limit: 10, minScore: 0, neighbours: 1 };
    const all = await store.search(query);
    const neighboursMatch = bestMatchOf(all);
    const [best, ...others] = await store.search({ ...query, neighboursMatch });
    assert.deepEqual(best, all[0]);
    expects(others.length > 0, "other results", others);
    const isLess = (hit: MemoryHit) => matchOfHit(hit) < neighboursMatch;
    assert.deepEqual(
      others.filter(isLess).map(({ neighbours: _, ...hit }) => hit),
      others.filter(isLess),
    );
    assert.deepEqual(
      others.map(({ id }) => id),
      all.slice(1).map(({ id }) => id),
    );
  },
  "a result says how its score came about when it is asked to, and only then": async (store) => {
    await store.add([entry("1", "The heron landed."), entry("2", "It rained on the weir.")]);
    for (const query of ["the heron", "The heron landed."]) {
      const [plain] = await store.search({ query, limit: 1, minScore: 0 });
      assert.equal(plain?.explanation, undefined);
      const [explained] = await store.search({ query, limit: 1, minScore: 0, explain: true });
      assert.equal(explained?.score, plain?.score);
      expects(
        (explained?.explanation?.parts.length ?? 0) > 0,
        "an explanation with parts",
        explained,
      );
    }
  },
  "the same question gets the same answer twice": async (store) => {
    await store.add(
      Array.from({ length: 50 }, (_, index) =>
        entry(`${index}`, "the very same words", { sessionId: `s${index % 7}` }),
      ),
    );
    const query = { query: "same words", minScore: 0, limit: 20 };
    assert.deepEqual(await ids(store, query), await ids(store, query));
  },
});
