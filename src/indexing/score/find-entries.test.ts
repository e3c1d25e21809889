import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexedEntry, inMemoryIndex } from "../../../test/support/in-memory-index.ts";
import { trials } from "../../../test/support/trials.ts";
import type { MemoryEntry } from "../../core/memory-store.ts";
import type { EntryQuery, FoundEntry } from "./entry-query.ts";
import { findEntries } from "./find-entries.ts";
import { hasOnlyStopWords, readQuestion } from "./question.ts";
import { matchOf } from "./score.ts";

type Said = Partial<MemoryEntry> & Pick<MemoryEntry, "content">;

function search(said: readonly Said[], query: string | Partial<EntryQuery>) {
  const entries = said.map(
    (rest, index): MemoryEntry => ({
      id: `${index}`,
      sessionId: "s",
      turn: index,
      kind: "message",
      ...rest,
    }),
  );
  const index = inMemoryIndex(entries.map(indexedEntry));
  const asked = typeof query === "string" ? { texts: [query] } : query;
  return findEntries(index, { texts: [], limit: 10, minMatch: 0, ...asked }).map((found) => ({
    ...found,
    id: index.entryAt(found.slot)?.id ?? "",
    content: index.entryAt(found.slot)?.content ?? "",
  }));
}

/** A score depends on the other results, a match does not. */
function withoutScore<Found extends FoundEntry>({ score: _, ...rest }: Found) {
  return rest;
}

const best = (said: readonly Said[], query: string) => search(said, query)[0]?.content;

/** Other talk around the answers, so that words have a rarity. */
const SMALL_TALK: readonly Said[] = [
  "Hey, good to see you!",
  "Work was long, and the train was late.",
  "That sounds great, thanks for telling me.",
  "The kids are at school until four.",
  "I made soup and bread for dinner.",
  "See you soon, take care!",
].map((content) => ({ content, sessionId: "small talk" }));

describe("ranking", () => {
  test("a rare word counts more than a frequent one", () => {
    const said = [
      { content: "The boat needs paint." },
      { content: "The mast needs a carpenter." },
      ...["oars", "sails", "rope", "hull"].map((part) => ({ content: `The boat has ${part}.` })),
    ];
    expect(best(said, "boat carpenter")).toBe("The mast needs a carpenter.");
  });

  test("more of the question's words in one passage are better", () => {
    const said = [
      { content: "Biscuit barked." },
      { content: "The vet weighed Biscuit." },
      { content: "The vet moved." },
      ...SMALL_TALK,
    ];
    expect(best(said, "the vet and Biscuit")).toBe("The vet weighed Biscuit.");
  });

  test("who is named in the question is who said it", () => {
    const said = [
      { content: "I went hiking on Sunday.", speaker: "Melanie" },
      { content: "I went hiking on Sunday!", speaker: "Caroline" },
      ...SMALL_TALK,
    ];
    expect(best(said, "When did Caroline go hiking?")).toBe("I went hiking on Sunday!");
  });

  test("the answer to a question has some of the question's words", () => {
    const said = [
      { content: "Which instrument do you play?", speaker: "Ada" },
      { content: "The cello.", speaker: "Bo" },
      { content: "Nice.", speaker: "Ada" },
      ...SMALL_TALK,
    ];
    expect(search(said, "Which instrument does Bo play?")[0]?.content).toBe("The cello.");
  });

  test("words around a passage count a little", () => {
    const said = [
      { content: "We looked at the lighthouse." },
      { content: "It was closed." },
      ...SMALL_TALK,
      { content: "The shop was closed.", sessionId: "another" },
    ];
    const found = search(said, "Was the lighthouse closed?").map(({ content }) => content);
    expect(found.indexOf("It was closed.")).toBeLessThan(found.indexOf("The shop was closed."));
  });

  test("words of another session are not around it", () => {
    const said = [
      { content: "We looked at the lighthouse.", sessionId: "one" },
      { content: "Nothing else.", sessionId: "other" },
    ];
    expect(search(said, "lighthouse").map(({ content }) => content)).toEqual([
      "We looked at the lighthouse.",
    ]);
  });

  test("a session about the question lifts what it has", () => {
    const said = [
      { content: "The budget.", sessionId: "a" },
      ...SMALL_TALK,
      { content: "The wedding is in June.", sessionId: "b" },
      ...["Flowers.", "Rings.", "A band.", "Guests."].map((content) => ({
        content,
        sessionId: "b",
      })),
      { content: "The budget!", sessionId: "b" },
    ];
    expect(best(said, "What is the budget of the wedding?")).toBe("The wedding is in June.");
    const [, second] = search(said, "What is the budget of the wedding?");
    expect(second?.content).toBe("The budget!");
  });

  test("what the user said comes before what they were told, unless that is asked for", () => {
    const said = [
      { content: "Your mortgage ends in 2030.", role: "assistant" },
      { content: "My mortgage ends in 2030.", role: "user" },
      ...SMALL_TALK,
    ];
    expect(best(said, "When does the mortgage end?")).toBe("My mortgage ends in 2030.");
    const told = search(said, "What did you say about the mortgage?");
    expect(told[0]?.match).toBeCloseTo(told[1]?.match ?? 0, 5);
  });

  test("who asks when gets what says when", () => {
    const said = [
      { content: "The harbour opened for everybody." },
      { content: "The harbour opened two years ago." },
      ...SMALL_TALK,
    ];
    expect(best(said, "When did the harbour open?")).toBe("The harbour opened two years ago.");
  });

  test("a time that the question names is looked for", () => {
    const said = [
      { content: "We planned the garden.", time: "2024-03-08", sessionId: "a" },
      { content: "We planned the garden!", time: "2024-05-07", sessionId: "b" },
      { content: "Late again.", time: "2024-05-15", sessionId: "c" },
    ];
    expect(best(said, "What garden was planned last week?")).toBe("We planned the garden!");
    expect(best(said, "What garden was planned in March?")).toBe("We planned the garden.");
  });

  test("forms of a word are that word", () => {
    const said = [{ content: "She went swimming with wolves." }, ...SMALL_TALK];
    expect(best(said, "Did the women swim with a wolf?")).toBe("She went swimming with wolves.");
  });

  test("of two that score the same, the older comes first", () => {
    const said = [
      { content: "Same words.", time: "2024-05-02", sessionId: "b" },
      { content: "Same words.", time: "2024-05-01", sessionId: "a" },
      { content: "Same words.", sessionId: "c" },
    ];
    expect(search(said, "same words").map(({ id }) => id)).toEqual(["1", "0", "2"]);
  });

  test("an entry is one result, and as good as its best passage", () => {
    const long = `${"Of this and that we talked. ".repeat(30)}The anchor is in the shed.`;
    const said = [{ content: long }, { content: "An anchor." }, ...SMALL_TALK];
    const found = search(said, "Where is the anchor? In the shed?");
    expect(found[0]?.content).toBe(long);
    expect(found.filter(({ id }) => id === "0")).toHaveLength(1);
  });

  test("several questions are asked together, and an entry scores what it scores best", () => {
    const said = [{ content: "The oak fell." }, { content: "The elm stands." }, ...SMALL_TALK];
    const found = search(said, { texts: ["oak", "the elm stands"] });
    expect(found.map(({ id }) => id)).toEqual(["1", "0"]);
    for (const [place, query] of ["the elm stands", "oak"].entries()) {
      const { match, score } = search(said, query)[0] ?? {};
      expect(found[place]).toMatchObject({ match, score });
    }
  });
});

describe("nothing relevant", () => {
  const said = [
    { content: "Melanie paints sunrises by the lake.", speaker: "Melanie" },
    { content: "I signed up for a pottery class.", speaker: "Caroline" },
    ...SMALL_TALK,
  ];
  const floor = (query: string) => search(said, { texts: [query], minMatch: undefined as never });

  test.each([
    "How do I renew the TLS certificate of the staging server?",
    "Which soup kitchen in Lisbon serves the mayor of Kyoto?",
  ])("is the answer to %s", (query) => {
    expect(floor(query)).toEqual([]);
  });

  test.each(["What does Melanie paint?", "pottery", "Which class did Caroline sign up for?"])(
    "is not the answer to %s",
    (query) => {
      expect(floor(query)).not.toEqual([]);
    },
  );
});

describe("the words of a question", () => {
  const atFloor = (said: readonly Said[], query: string) =>
    search(said, { texts: [query], minMatch: undefined as never }).map(({ content }) => content);

  test("one word of a long answer of the assistant finds it", () => {
    const content = `${"You can choose between several of them, as you like. ".repeat(5)}I set up pnpm.`;
    const said = [{ content, role: "assistant" }, ...SMALL_TALK];
    expect(atFloor(said, "pnpm")).toEqual([content]);
  });

  test("words in passages far from each other are words of the same entry", () => {
    const apart = "Much was said about the weather, trains and dinners. ".repeat(12);
    const content = `The package is old. ${apart} A manager called. ${apart} Take pnpm. ${apart}`;
    const said = [{ content, role: "assistant" }, ...SMALL_TALK];
    expect(atFloor(said, "package manager pnpm")).toContain(content);
  });

  test("around an entry bring no entry that has none of them, except an answer", () => {
    const said = [
      { content: "Staging uses port 4310.", role: "user" },
      { content: "Noted.", role: "assistant" },
      { content: "Which port does production use?", role: "user" },
      { content: "4320.", role: "assistant" },
      { content: "Thanks.", role: "user" },
    ];
    const found = search(said, "which port does staging use").map(({ content }) => content);
    expect(found[0]).toBe("Staging uses port 4310.");
    expect(found).toContain("4320.");
    expect(found).not.toContain("Noted.");
    expect(found).not.toContain("Thanks.");
  });
});

describe("explained", () => {
  const said = [
    { content: "Which instrument do you play?", speaker: "Ada", time: "2024-05-01" },
    { content: "I play the cello since last year.", speaker: "Bo", time: "2024-05-01" },
    { content: "Ok.", role: "assistant" },
    ...SMALL_TALK,
  ];
  const query = "When in May did Bo start to play an instrument?";

  test("the parts add up to the match", () => {
    for (const { match, explanation } of search(said, { texts: [query], explain: true })) {
      const parts = explanation?.parts ?? [];
      const sum = parts.reduce((total, { adds = 0 }) => total + adds, 0);
      const times = parts.reduce((product, { times = 1 }) => product * times, 1);
      expect(matchOf(sum * times, readQuestion(query))).toBeCloseTo(match, 4);
    }
  });

  test("a match that is raised, because the entry has all words, says so", () => {
    const long = `${"We talked about this and that. ".repeat(20)} It is a cello.`;
    const said = [{ content: long, role: "assistant" }, ...SMALL_TALK];
    const [hit] = search(said, { texts: ["cello"], explain: true });
    const parts = hit?.explanation?.parts ?? [];
    expect(parts.map(({ name }) => name)).toContain("all words");
    const sum = parts.reduce((total, { adds = 0 }) => total + adds, 0);
    const times = parts.reduce((product, { times = 1 }) => product * times, 1);
    expect(matchOf(sum * times, readQuestion("cello"))).toBeCloseTo(hit?.match ?? 0, 4);
  });

  test("parts say what they are about", () => {
    const found = search(said, { texts: [query], explain: true });
    const parts = found.find(({ id }) => id === "1")?.explanation?.parts ?? [];
    expect(parts.map(({ name, of }) => (of === undefined ? name : `${name}: ${of}`))).toEqual([
      "date: may",
      "speaker: bo",
      "word: play",
      "neighbour: play",
      "answers: play",
      "neighbour: instrument",
      "answers: instrument",
      "session",
      "speaker named: Bo",
      "from that time",
      "question",
    ]);
  });

  test("nothing is explained that was not asked for", () => {
    expect(search(said, query)[0]?.explanation).toBeUndefined();
  });
});

describe("whatever is stored and asked", () => {
  const word = fc.constantFrom(..."oak elm ash fir bay yew may 8 東京 don't a_b".split(" "));
  const content = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(" "));
  const said = fc.record({
    content: fc.tuple(content, fc.constantFrom("", "?")).map(([text, end]) => text + end),
    sessionId: fc.constantFrom("one", "two"),
    speaker: fc.constantFrom("May", "Bay Oak", "user", "assistant"),
    role: fc.constantFrom("user", "assistant"),
    time: fc.constantFrom("2024-05-08", "2023-01-01T10:00", "2024-05-01"),
  });
  const store = fc.array(said, { minLength: 1, maxLength: 12 });

  test("matches and scores are from 0 to 1, best first, and each entry is found once", () => {
    fc.assert(
      fc.property(store, content, (entries, query) => {
        const found = search(entries, query);
        for (const of of ["match", "score"] as const) {
          const all = found.map((entry) => entry[of]);
          expect(all).toEqual(all.toSorted((one, other) => other - one));
          expect(all.every((value) => value > 0 && value <= 1)).toBe(true);
        }
        expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
      }),
    );
  });

  test("an entry is found by any of its words, stop words in quotes, whatever the other entries are", () => {
    fc.assert(
      fc.property(store, fc.nat(), fc.infiniteStream(fc.boolean()), (entries, which, kept) => {
        const entry = which % entries.length;
        const own = (entries[entry]?.content ?? "").replace("?", "").split(" ");
        const subset = own.filter(() => kept.next().value);
        const plain = (subset.length > 0 ? subset : own).join(" ");
        const query = hasOnlyStopWords(plain) ? `"${plain}"` : plain;
        const options = { texts: [query], minMatch: undefined as never };
        const found = search(entries, { ...options, limit: entries.length });
        expect(found.map(({ id }) => Number(id))).toContain(entry);
        const match = found.find(({ id }) => Number(id) === entry)?.match ?? 0;
        expect(match).toBeGreaterThanOrEqual(0.4999);
        // Only entries that match as much can take its place.
        const rivals = found.filter((other) => other.match >= match);
        const few = search(entries, { ...options, limit: rivals.length });
        expect(few.map(({ id }) => Number(id))).toContain(entry);
      }),
      { numRuns: trials(30, 500) },
    );
  });

  test("filters hold, and take nothing away from what they let through", () => {
    fc.assert(
      fc.property(store, content, (entries, query) => {
        const all = search(entries, { texts: [query], limit: 99 });
        for (const filter of [
          { sessionId: "one" },
          { role: "user" },
          { since: "2024-01-01", until: "2024-05-01" },
        ]) {
          const wanted = all.filter(({ id }) => {
            const { sessionId, role, time } = entries[Number(id)] ?? {};
            if (filter.sessionId) return sessionId === filter.sessionId;
            return filter.role ? role === filter.role : time === "2024-05-01";
          });
          const found = search(entries, { texts: [query], limit: 99, ...filter });
          expect(found.map(withoutScore)).toEqual(wanted.map(withoutScore));
        }
      }),
    );
  });

  test("the first of many are the first of all", () => {
    fc.assert(
      fc.property(store, content, fc.nat(5), (entries, query, limit) => {
        const all = search(entries, { texts: [query], limit: 99 });
        expect(search(entries, { texts: [query], limit })).toEqual(all.slice(0, limit));
      }),
    );
  });

  test("the best of a crowd are found without a look at all of it", () => {
    const crowd = fc.array(
      fc.record({
        ...{ content: fc.tuple(content, fc.constantFrom("", "?")).map((parts) => parts.join("")) },
        sessionId: fc.nat(20).map((number) => `session ${number}`),
        speaker: fc.constantFrom("May", "Bay Oak", "user", "assistant"),
        role: fc.constantFrom("user", "assistant"),
      }),
      { minLength: 200, maxLength: 600, size: "max" },
    );
    fc.assert(
      fc.property(crowd, fc.boolean(), content, fc.nat(12), (entries, isSorted, query, limit) => {
        const stored = isSorted
          ? entries.toSorted((one, other) => one.sessionId.localeCompare(other.sessionId))
          : entries;
        const all = search(stored, { texts: [query], limit: 9999 });
        expect(search(stored, { texts: [query], limit })).toEqual(all.slice(0, limit));
        const [{ sessionId }] = entries as [(typeof entries)[0]];
        const own = all.filter(({ id }) => stored[Number(id)]?.sessionId === sessionId);
        const found = search(stored, { texts: [query], limit, sessionId });
        expect(found.map(withoutScore)).toEqual(own.slice(0, limit).map(withoutScore));
        if (limit === 0) return;
        for (const [found, filter] of [
          [all, {}],
          [own, { sessionId }],
        ] as const) {
          const most = found[0]?.match ?? 0;
          for (const bestMatch of [most - 0.05, most, most + 0.001, 0.3, 0.5, 0.7]) {
            const sure = search(stored, { texts: [query], limit, ...filter, bestMatch });
            // An early end is allowed only where nothing is sure enough.
            const mayBeEmpty = found.length === 0 || most < bestMatch;
            if (sure.length === 0 && mayBeEmpty) continue;
            expect(sure.map(withoutScore)).toEqual(found.slice(0, limit).map(withoutScore));
          }
        }
      }),
      { numRuns: trials(6, 40) },
    );
  });

  test("the order in which sessions were stored changes no score", () => {
    fc.assert(
      fc.property(store, content, (entries, query) => {
        const bySession = entries.toSorted((one, other) =>
          one.sessionId < other.sessionId ? -1 : one.sessionId > other.sessionId ? 1 : 0,
        );
        const scores = (stored: readonly Said[]) =>
          search(stored, { texts: [query], limit: 99 })
            .map(({ content, match }) => `${content} ${match.toFixed(5)}`)
            .sort();
        expect(scores(entries)).toEqual(scores(bySession));
      }),
    );
  });

  test("what others say elsewhere does not lose a result", () => {
    fc.assert(
      fc.property(store, content, (entries, query) => {
        const before = new Set(search(entries, { texts: [query], limit: 99 }).map(({ id }) => id));
        const more = [...entries, { content: "wholly unrelated", sessionId: "elsewhere" }];
        const after = new Set(search(more, { texts: [query], limit: 99 }).map(({ id }) => id));
        expect(after).toEqual(before);
      }),
    );
  });
});

test("a speaker at the edge of a block of slots takes no place from results of the block beside it", () => {
  const said = (content: string, sessionId: string, turn: number, speaker = "Bob") =>
    indexedEntry({ id: `${sessionId}${turn}`, content, sessionId, turn, kind: "message", speaker });
  // Slots 2 to 59, four empty ones, and slot 64 in the next block.
  const index = inMemoryIndex([
    ...Array.from({ length: 58 }, (_, turn) => said(turn % 9 === 0 ? "kiln" : "weir", "s", turn)),
    said("heron", "r", 0, "Zora"),
  ]);
  const query = { texts: ["Zora kiln"], minMatch: 0 };
  const all = findEntries(index, { ...query, limit: 100 });
  for (const limit of [2, 3, 4, 5]) {
    expect(findEntries(index, { ...query, limit })).toEqual(all.slice(0, limit));
  }
});

test("a search in one session gives its entries the matches that they have among all sessions", () => {
  const said = (content: string, sessionId: string, turn: number, speaker = "Bob") =>
    indexedEntry({ id: `${sessionId}${turn}`, content, sessionId, turn, kind: "message", speaker });
  // Zora, whom the question names, speaks in another session, far away.
  const index = inMemoryIndex([
    ...["kiln", "weir", "heron"].map((content, turn) => said(content, "s", turn)),
    ...Array.from({ length: 200 }, (_, turn) => said("weir", "t", turn)),
    said("gull", "r", 0, "Zora"),
  ]);
  const query = { texts: ["Zora kiln heron"], minMatch: 0, limit: 300 };
  const own = findEntries(index, { ...query, sessionId: "s" });
  const all = findEntries(index, query);
  expect(own.length).toBeGreaterThan(1);
  const same = all.filter(({ slot }) => own.some((found) => found.slot === slot));
  expect(own.map(withoutScore)).toEqual(same.map(withoutScore));
});

test("what is no result takes no place from one that is, however few are asked for", () => {
  const said = [
    ...Array.from({ length: 40 }, (_, at) => ({ content: `The reason for price ${at} is work.` })),
    ...Array.from({ length: 100 }, (_, at) => ({ content: `Walk ${at} is along shore${at}.` })),
    { content: "Some fish live long. Zebrafish are kept in tanks.", role: "assistant" },
  ];
  const index = inMemoryIndex(
    said.map((rest, turn) =>
      indexedEntry({ id: `${turn}`, sessionId: `${turn % 5}`, turn, kind: "message", ...rest }),
    ),
  );
  for (const text of ["zebrafish price reason", "the price of work and walks", "why zebrafish"]) {
    const all = findEntries(index, { texts: [text], limit: 1000 });
    expect(all.length, text).toBeGreaterThan(0);
    for (const limit of [1, 2, 3, 7, 10, 30]) {
      const found = findEntries(index, { texts: [text], limit });
      expect(found, `${text} ${limit}`).toEqual(all.slice(0, limit));
    }
  }
});

test("of a time that is asked for, what has the words comes first, however few are asked for", () => {
  const said = [
    ...Array.from({ length: 12 }, (_, at) => ["2026-05-04", `On Friday I painted wall ${at}.`]),
    ...Array.from({ length: 12 }, (_, at) => ["2026-05-08", `The train was late again ${at}.`]),
    ["2026-05-08", "It is Friday, so there was fish at the canteen, as on each other one."],
  ] as const;
  const index = inMemoryIndex(
    said.map(([time, content], turn) =>
      indexedEntry({ id: `${turn}`, sessionId: "s", turn, kind: "message", time, content }),
    ),
  );
  const asked = { texts: ["what did I say on Friday"], at: "2026-05-09T10:00:00Z" };
  const all = findEntries(index, { ...asked, limit: 100 });
  for (const limit of [1, 2, 5, 13, 20]) {
    expect(findEntries(index, { ...asked, limit }), `${limit}`).toEqual(all.slice(0, limit));
  }
});
