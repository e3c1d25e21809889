import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MemoryEntry, MemoryStore } from "../src/core/memory-store.ts";
import { SimpleMemoryStore } from "../src/index.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../src/stores/postgres/postgres-memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { hasPostgres, postgresAccess } from "./support/postgres.ts";
import { trials } from "./support/trials.ts";

const WORDS =
  "harbour lantern coffee invoice stuffing Größe château Прибалт склад éclair Zürich парковка mañana número łódka".split(
    " ",
  );
/** A word keeps together with one of these inside. */
const INSIDE = ["\u00ad", "\u2060", "\ufeff", "\ufe0f", "\u200b", "\u200c", "\u200d", "\u0336"];
/** Around a word, with the space that divides it from the next. */
const AROUND = [
  ...INSIDE,
  ..."☕️ ☕ ❤️ ʼ ʻ ’ ‘ ` ´ “ ” « » ， ！ ？ （ ） 、 。 … ‑ – — \u200e \u202b \u202c \u20e3 ㅤ \u00a0".split(
    " ",
  ),
];
/** Between two words, in place of a space. */
const BETWEEN = [..."☕️ ☕ ， ！ （ 、 。 … – — \u200b \u2009 \u3000 ‑ - ㅤ".split(" "), " "];

const ways: Readonly<Record<string, (word: string) => string>> = {
  decomposed: (word) => word.normalize("NFD"),
  wide: (word) =>
    word.replace(/[a-z]/gi, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
  ligatures: (word) => word.replace(/ffi/g, "ﬃ").replace(/ff/g, "ﬀ").replace(/fi/g, "ﬁ"),
  plain: (word) => word,
};

const anyMarked = (word: string) =>
  fc
    .record({
      way: fc.constantFrom(...Object.keys(ways)),
      inside: fc.constantFrom("", "", ...INSIDE),
      at: fc.integer({ min: 2, max: word.length - 2 }),
      // Behind a letter, the digit of 1️⃣ is one of its word.
      before: fc.constantFrom("", "1️⃣", ...AROUND),
      behind: fc.constantFrom("", ...AROUND),
    })
    .map(({ way, inside, at, before, behind }) => {
      const marked = `${word.slice(0, at)}${inside}${word.slice(at)}`;
      return `${before}${ways[way]?.(marked)}${behind}`;
    });

const anyText = fc
  .shuffledSubarray(WORDS, { minLength: 3, maxLength: 3 })
  .chain((words) =>
    fc.record({
      words: fc.constant(words),
      marked: fc.tuple(...words.map(anyMarked)),
      between: fc.tuple(fc.constantFrom(...BETWEEN), fc.constantFrom(...BETWEEN)),
    }),
  )
  .map(({ words, marked, between }) => ({
    words,
    spaced: marked.join(" "),
    close: [words[0], between[0], words[1], between[1], words[2]].join(""),
  }));

const note = (id: string, content: string): MemoryEntry => ({
  id,
  content,
  sessionId: "s",
  turn: 0,
  kind: "message",
});

let users = 0;
const stores: readonly (readonly [string, number, () => Promise<MemoryStore>])[] = [
  ["SQLite", 60, async () => new SqliteMemoryStore(openDatabase({ path: ":memory:" }))],
  ["no index", 60, async () => new SimpleMemoryStore()],
  ...(hasPostgres
    ? [
        [
          "PostgreSQL",
          15,
          async () => {
            const database = new PostgresDatabase(await postgresAccess());
            return new PostgresMemoryStore(database, { namespace: `unseen ${++users}` });
          },
        ] as const,
      ]
    : []),
];

describe.each(stores)("on a store with %s", (_, inputs, open) => {
  test("a text with marks that nobody types is found by its words, and a question with them finds the words", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async ({ words, spaced, close }) => {
        const store = await open();
        try {
          const others = WORDS.filter((word) => !words.includes(word));
          await store.add([
            note("spaced", spaced),
            note("close", close),
            ...others.map((word) => note(word, `Something else about ${word}.`)),
          ]);
          const found = async (query: string) =>
            (await store.search({ query, limit: 5 })).map(({ id }) => id);
          for (const word of words) {
            expect((await found(word)).sort()).toEqual(["close", "spaced"]);
          }
          await store.add([note("plain", words.join(" "))]);
          // Without an index, the words of a question are what its spaces divide.
          if (!(store instanceof SimpleMemoryStore)) {
            expect(await found(spaced)).toContain("plain");
          }
        } finally {
          await store.close();
        }
      }),
      { numRuns: trials(inputs, 500) },
    );
  }, 120_000);
});
