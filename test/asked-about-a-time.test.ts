import { describe, expect, onTestFinished, test } from "vitest";
import type { MemoryEntry, MemoryQuery, MemoryStore } from "../src/core/memory-store.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../src/stores/postgres/postgres-memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { hasPostgres, postgresAccess } from "./support/postgres.ts";

/** A Thursday in Berlin. */
const AT = "2026-11-26T10:00:00+01:00[Europe/Berlin]";

const SAID: Readonly<Record<string, readonly [time: string, content: string, role?: string]>> = {
  spring: ["2026-04-02T09:00:00Z", "We tried the database index on branch seven."],
  q3: ["2026-08-14T09:00:00Z", "The database index was rebuilt for the release."],
  weekBefore: ["2026-11-17T09:00:00Z", "The budget of the kitchen is 900 euros."],
  monday: ["2026-11-23T08:00:00Z", "The database index stays as it is."],
  tuesday: ["2026-11-24T08:00:00Z", "Lunch with Mira was moved to one."],
  tuesdayAnswer: ["2026-11-24T08:01:00Z", "I have changed the calendar.", "assistant"],
  tuesdayLate: ["2026-11-24T23:30:00Z", "The harbour is closed for boats."],
  wednesday: ["2026-11-25T12:00:00Z", "The lantern on the pier is broken."],
  today: ["2026-11-26T07:00:00Z", "The heating needs a new valve."],
};

const ENTRIES = Object.entries(SAID).map(
  ([id, [time, content, role = "user"]], turn): MemoryEntry => ({
    id,
    time,
    content,
    role,
    turn,
    sessionId: `s${turn % 3}`,
    kind: "message",
  }),
);

const OPEN: Readonly<Record<string, () => Promise<MemoryStore>>> = {
  sqlite: async () => new SqliteMemoryStore(openDatabase({ path: ":memory:" })),
  ...(hasPostgres
    ? {
        postgres: async () =>
          new PostgresMemoryStore(new PostgresDatabase(await postgresAccess()), {
            namespace: crypto.randomUUID(),
          }),
      }
    : {}),
};

describe.each(Object.entries(OPEN))("on %s", (_, open) => {
  async function asking() {
    const store = await open();
    onTestFinished(() => store.close());
    await store.add(ENTRIES);
    return async (query: string, more: Partial<MemoryQuery> = {}) =>
      (await store.search({ query, limit: 10, at: AT, ...more })).map(({ id }) => id);
  }

  test("words that no list has, beside a day that is near, list that day: after what has the words, and not in English", async () => {
    const ask = await asking();
    expect(await ask("co mówiłem wczoraj")).toEqual(["tuesdayLate", "wednesday"]);
    expect(await ask("昨天说了什么")).toEqual(["tuesdayLate", "wednesday"]);
    expect(await ask("что сломалось вчера")).toEqual(["tuesdayLate", "wednesday"]);
    expect(await ask("kto naprawił budget wczoraj")).toEqual([
      "weekBefore",
      "tuesdayLate",
      "wednesday",
    ]);
    expect(await ask("who mended the bicycle yesterday")).toEqual([]);
    expect(await ask("kto naprawił mój stary zielony rower wczoraj rano w garażu")).toEqual([]);
    expect(await ask("kto naprawił rower w zeszłym roku")).toEqual([]);
    expect(await ask("co mówiłem wczoraj", { minScore: 0.3 })).toEqual([]);
    expect(await ask("co mówiłem wczoraj", { bestMatch: 0.1 })).toEqual([]);
  });

  test("a question that has only a time lists that time, what people said first", async () => {
    const ask = await asking();
    expect(await ask("what did I say yesterday")).toEqual(["tuesdayLate", "wednesday"]);
    expect(await ask("What did we talk about last Tuesday?")).toEqual([
      "tuesday",
      "weekBefore",
      "tuesdayAnswer",
    ]);
    expect(await ask("was haben wir letzten Montag besprochen")).toEqual(["monday"]);
    expect(await ask("what happened in Q3")).toEqual(["q3"]);
    expect(await ask("im Frühling")).toEqual(["spring"]);
    expect(await ask("two weeks ago")).toEqual([]);
    expect(await ask("today")).toEqual(["today"]);
    expect(await ask("what did I say since Wednesday")).toEqual([
      "tuesdayLate",
      "wednesday",
      "today",
    ]);
  });

  test("of a week or a month ago, what was said on the same day of it comes first", async () => {
    const store = await open();
    onTestFinished(() => store.close());
    const days = ["2026-09-03", "2026-09-25", "2026-11-16", "2026-11-19", "2026-11-21"];
    await store.add(
      days.map((id, turn) => ({
        id,
        time: `${id}T09:00:00Z`,
        content: `The lantern number ${turn} is broken.`,
        turn,
        sessionId: "s",
        kind: "message",
        role: "user",
      })),
    );
    const ask = async (query: string) =>
      (await store.search({ query, limit: 10, at: AT })).map(({ id }) => id.slice(5));
    expect(await ask("what did I say a week ago")).toEqual(["11-19", "11-21", "11-16"]);
    expect(await ask("was wurde vor zwei Monaten gesagt")).toEqual(["09-25", "09-03"]);
    expect(await ask("what did I say last week")).toEqual(["11-16", "11-19", "11-21"]);
  });

  test("a day of the week is a word too, when no word says which week", async () => {
    const store = await open();
    onTestFinished(() => store.close());
    const time = "2026-11-25T09:00:00Z";
    const said = ["Sunday", "Friday", "Monday"].map((day, turn): MemoryEntry => {
      const content = `Never deploy on a ${day}, said Grace.`;
      return { id: day, content, time, turn, sessionId: `s${turn}`, kind: "message", role: "user" };
    });
    await store.add([...ENTRIES, ...said]);
    const ask = async (query: string) =>
      (await store.search({ query, limit: 10, at: AT })).map(({ id }) => id);
    expect((await ask("deploy Friday Grace"))[0]).toBe("Friday");
    expect((await ask("may I deploy on a Monday?"))[0]).toBe("Monday");
    expect(await ask("Friday")).toEqual(["Friday"]);
    expect(await ask("Monday")).toEqual(["Monday", "monday"]);
    expect(await ask("what did I say on Monday")).toEqual(["monday", "Monday"]);
    expect(await ask("what did I say last Monday")).toEqual(["monday"]);
  });

  test("the zone of who asks decides which day it was", async () => {
    const ask = await asking();
    expect(await ask("yesterday", { at: "2026-11-26T10:00:00Z" })).toEqual(["wednesday"]);
    expect(await ask("yesterday", { at: "2026-11-27T02:00:00Z[America/New_York]" })).toEqual([
      "wednesday",
    ]);
  });

  test("an entry of the time that a question names comes first", async () => {
    const ask = await asking();
    expect((await ask("what about the database index in spring"))[0]).toBe("spring");
    expect((await ask("the database index in Q3"))[0]).toBe("q3");
    expect((await ask("the database index this week"))[0]).toBe("monday");
    expect((await ask("Datenbank database index letzten Montag"))[0]).toBe("monday");
  });

  test("filters hold, and the floor of the query", async () => {
    const ask = await asking();
    expect(await ask("what did I say since Monday", { sessionId: "s1" })).toEqual([
      "tuesday",
      "wednesday",
    ]);
    expect(await ask("yesterday", { role: "assistant" })).toEqual([]);
    expect(await ask("yesterday", { minScore: 0.6 })).toEqual([]);
    expect(await ask("yesterday", { limit: 1 })).toEqual(["tuesdayLate"]);
  });

  test("without a time at which it is asked, words of time count from the newest entry, as before", async () => {
    const store = await open();
    onTestFinished(() => store.close());
    await store.add(ENTRIES);
    expect(await store.search({ query: "what did I do yesterday", limit: 10 })).toEqual([]);
  });
});
