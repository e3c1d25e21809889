import assert from "node:assert/strict";
import {
  bestMatchOf,
  type MemoryEntry,
  type MemoryHit,
  type MemoryPage,
  type MemoryQuery,
  type MemoryStore,
  matchOfHit,
} from "../core/memory-store.ts";
import { expects, inWords, type Law } from "./law.ts";

/** The promises of every memory store. A law that opens twice expects two stores on the same memory. */
export const memoryStoreLaws: readonly Law<MemoryStore>[] = inWords([
  {
    name: "an added entry is found by its own words",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "an entry comes back as it was added",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "an id is stored once, however often it is added",
    async holds(open) {
      const store = await open();
      assert.equal(await store.add([entry("1", "first wording")]), 1);
      const again = [entry("1", "second wording"), entry("2", "third"), entry("2", "fourth")];
      assert.equal(await store.add(again), 1);
      assert.equal((await store.stats()).entries, 2);
      assert.deepEqual(await ids(store, { query: "second" }), []);
      assert.deepEqual(await ids(store, { query: "first" }), ["1"]);
    },
  },
  {
    name: "an id is stored once, by however many it is added at the same time",
    async holds(open) {
      const store = await open();
      const entries = Array.from({ length: 20 }, (_, index) => entry(`${index}`, `note ${index}`));
      const added = await Promise.all([1, 2, 3, 4].map(() => store.add(entries)));
      assert.equal(
        added.reduce((sum, count) => sum + count, 0),
        20,
      );
      assert.equal((await store.stats()).entries, 20);
    },
  },
  {
    name: "two stores on one memory store an id once, and the other finds an added entry at its next search",
    durable: true,
    async holds(open) {
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
    },
  },
  {
    name: "memory survives closing and opening again",
    durable: true,
    async holds(open) {
      const before = await open();
      await before.add([entry("1", "The lighthouse keeper retired.")]);
      await before.close();
      assert.deepEqual(await ids(await open(), { query: "lighthouse" }), ["1"]);
    },
  },
  {
    name: "blank content is never stored",
    async holds(open) {
      const store = await open();
      assert.equal(await store.add([entry("1", ""), entry("2", " \n\t"), entry("3", "x")]), 1);
      assert.equal((await store.stats()).entries, 1);
      assert.equal(await store.add([]), 0);
    },
  },
  {
    name: "a credential is replaced before it is stored",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a batch with an entry that cannot be stored is not stored at all",
    async holds(open) {
      const store = await open();
      const broken = { ...entry("2", "second"), content: Symbol("no text") as unknown as string };
      await assert.rejects(async () => store.add([entry("1", "first"), broken]));
      assert.equal((await store.stats()).entries, 0);
      assert.deepEqual(await ids(store, { query: "first" }), []);
    },
  },
  {
    name: "scores run from 0 to 1, best first",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "the same text scores 1 and comes first",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "only the same text scores 1",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a question with the words that matter scores above .5, in a store of one entry as of many",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "unrelated text is not a result",
    async holds(open) {
      const store = await open();
      await store.add([
        entry("1", "The quarterly report is due on Monday."),
        entry("2", "Melanie paints sunrises."),
      ]);
      for (const query of ["zebra migration kenya", "quetzal", "火山"]) {
        assert.deepEqual(await ids(store, { query }), []);
        assert.deepEqual(await ids(store, { query, minScore: 0 }), []);
      }
    },
  },
  {
    name: "a question of stop words alone finds the same text, and nothing else",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "stop words that are written like a name find what has them",
    async holds(open) {
      const store = await open();
      await store.add([
        entry("1", "We heard The Who in London."),
        entry("2", "Ask IT for a new laptop."),
        entry("3", "Otto sleeps."),
      ]);
      assert.equal((await ids(store, { query: "The Who" }))[0], "1");
      assert.equal((await ids(store, { query: "who is IT" }))[0], "2");
      assert.equal((await ids(store, { query: '"the who"' }))[0], "1");
    },
  },
  {
    name: "a blank query, or a limit of 0, finds nothing",
    async holds(open) {
      const store = await open();
      await store.add([entry("1", "The answer is here.")]);
      for (const query of ["", " ", "\n\t"]) assert.deepEqual(await ids(store, { query }), []);
      assert.deepEqual(await ids(store, { query: "answer", limit: 0 }), []);
      assert.deepEqual(await ids(await open(), { query: "question" }), []);
    },
  },
  {
    name: "a pin, earlier texts and what it is kept beside stay with an entry, and only entries that have one are listed as marked",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "no more results than the limit, and none below minScore",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "filters hold",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a filter does not hide an entry behind better ones that it leaves out",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a deleted entry is found no more",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a deleted entry can be added again",
    async holds(open) {
      const store = await open();
      for (const round of ["first", "second"]) {
        assert.equal(await store.add([entry("1", `the ${round} badger`)]), 1);
        assert.deepEqual(await ids(store, { query: `${round} badger` }), ["1"]);
        assert.equal(await store.delete({ sessionId: "s" }), 1);
        assert.deepEqual(await ids(store, { query: "badger", minScore: 0 }), []);
      }
    },
  },
  {
    name: "stats of one session count its entries alone",
    async holds(open) {
      const store = await open();
      const sessionId = "the other";
      await store.add([entry("1", "one"), entry("2", "two", { sessionId }), entry("3", "three")]);
      const { entries, sessions, textBytes } = await store.stats({ sessionId });
      assert.deepEqual({ entries, sessions, textBytes }, { entries: 1, sessions: 1, textBytes: 3 });
      assert.equal((await store.stats({ sessionId: "nobody" })).entries, 0);
    },
  },
  {
    name: "stats count entries, their sessions and their bytes",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "any text can be stored and asked for",
    async holds(open) {
      const store = await open();
      await store.add(ODD_TEXTS.map((text, index) => entry(`${index}`, text)));
      for (const [index, text] of ODD_TEXTS.entries()) {
        const [hit] = await store.search({ query: text, limit: 1 });
        assert.equal(hit?.id, `${index}`, `asked for ${JSON.stringify(text.slice(0, 60))}`);
        // A file or a wire may put U+FFFD in the place of half a character.
        assert.equal(hit.content.toWellFormed(), text.toWellFormed());
        expects(hit.score > 0.99, "a score above 0.99", hit);
      }
    },
  },
  {
    name: "every script is found by its words",
    async holds(open) {
      const store = await open();
      await store.add(SCRIPTS.map(([text], index) => entry(`${index}`, text)));
      for (const [index, [text, query]] of SCRIPTS.entries()) {
        assert.equal((await ids(store, { query }))[0], `${index}`, `${query} in ${text}`);
      }
    },
  },
  {
    name: "entries are read by their ids, in the order of the ids",
    async holds(open) {
      const store = await open();
      const all = [entry("1", "one"), entry("2", "two", { speaker: "Ada" }), entry("3", "three")];
      await store.add(all);
      assert.deepEqual(await store.read(["3", "no such id", "1"]), [all[2], all[0]]);
      await store.delete({ ids: ["3"] });
      assert.deepEqual(await store.read(["3", "2"]), [all[1]]);
    },
  },
  {
    name: "`list` gives every entry once, in the order in which they were stored",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "of several queries asked together an entry is one result, with the best of its scores",
    async holds(open) {
      const store = await open();
      await store.add([
        entry("1", "The crane lifts the beam."),
        entry("2", "The otter sleeps on the beam."),
        entry("3", "Nothing of the sort."),
      ]);
      const single = await Promise.all(
        ["crane beam", "otter beam"].map((query) =>
          store.search({ query, limit: 10, minScore: 0 }),
        ),
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
  },
  {
    name: "nothing is a result when the best has less than the match that it needs, and else all are",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "the neighbours of a result are the entries around it in its session, in order",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "only results with enough of the question have neighbours, when they need it",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a result says how its score came about when it is asked to, and only then",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a check finds no problem after additions and deletions",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "a rebuilt index has the same results as the old one",
    async holds(open) {
      const store = await open();
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
  },
  {
    name: "checking and rebuilding stop when they are told to, and nothing is lost",
    async holds(open) {
      const store = await open();
      await store.add([entry("1", "The heron landed.")]);
      const signal = AbortSignal.abort();
      await store.verify({ signal }).catch(() => {});
      await store.reindex({ signal }).catch(() => {});
      assert.deepEqual(await ids(store, { query: "heron" }), ["1"]);
      await store.reindex();
      assert.deepEqual(await ids(store, { query: "heron" }), ["1"]);
      assert.deepEqual((await store.verify()).problems, []);
    },
  },
  {
    name: "the same question gets the same answer twice",
    async holds(open) {
      const store = await open();
      await store.add(
        Array.from({ length: 50 }, (_, index) =>
          entry(`${index}`, "the very same words", { sessionId: `s${index % 7}` }),
        ),
      );
      const query = { query: "same words", minScore: 0, limit: 20 };
      assert.deepEqual(await ids(store, query), await ids(store, query));
    },
  },
]);

function entry(id: string, content: string, rest: Partial<MemoryEntry> = {}): MemoryEntry {
  return { id, content, sessionId: "s", turn: 0, kind: "message", ...rest };
}

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

async function ids(
  store: MemoryStore,
  query: Partial<MemoryQuery> & Pick<MemoryQuery, "query">,
): Promise<string[]> {
  return (await store.search({ limit: 10, ...query })).map(({ id }) => id);
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

const SCRIPTS: readonly (readonly [text: string, query: string])[] = [
  ["彼女は東京都に住んでいます。", "東京"],
  ["我们把数据库迁移到了上海。", "数据库"],
  ["어제 서울에서 회의를 했습니다.", "서울"],
  ["พรุ่งนี้เราจะไปเชียงใหม่", "เชียงใหม่"],
  ["Вчера мы обновили сервер.", "сервер"],
  ["Το λιμάνι ήταν κλειστό.", "λιμάνι"],
  ["השרת נפל אתמול בלילה", "השרת"],
  ["تعطل الخادم ليلة أمس", "الخادم"],
  ["हमने डेटाबेस बदल दिया", "डेटाबेस"],
  ["Der Schlüssel liegt unter der Fußmatte.", "schlüssel"],
  ["we celebrated with 🎂 and candles", "🎂"],
];
