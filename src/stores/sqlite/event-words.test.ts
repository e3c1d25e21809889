import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/obey.ts";
import type { NewEvent } from "../../core/event.ts";
import { newId } from "../../core/ids.ts";
import { commands } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { openConnection } from "./open-connection.ts";

function said(content: string): NewEvent {
  return {
    event_id: newId(),
    timestamp_ms: 1,
    event: { type: "message_added", message: { role: "user", content } },
  };
}

const append = (db: Connection, session: string, last: number, texts: readonly string[]) =>
  commands.appendEvents(db, "n", session, last, texts.map(said));
const found = (db: Connection, query: string, limit = 10) =>
  commands.searchEvents(db, "n", { query, limit }).map(({ content }) => content);
const indexed = (db: Connection) => db.all("SELECT id FROM event_words_docsize").length;
const purge = (db: Connection, session: string) => {
  commands.hideEvents(db, "n", session);
  while (commands.purgeEvents(db));
};
/** Whether the index has exactly the words of the events that it says it has. */
const isSound = (db: Connection) => {
  const { docs } = db.get<{ docs: number }>(
    "SELECT count(*) AS docs FROM event_words_docsize WHERE id NOT IN (SELECT position FROM event)",
  ) ?? { docs: -1 };
  db.run("INSERT INTO event_words (event_words) VALUES ('integrity-check')");
  return docs === 0;
};

test("an append writes no words; a search of another connection finds them", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const [one, other] = [openConnection(path), openConnection(path)];
  append(one, "s", 0, ["A heron.", "An otter."]);
  expect(indexed(one)).toBe(0);
  expect(found(other, "heron")).toEqual(["A heron."]);
  expect(indexed(one)).toBe(2);
  append(other, "s", 2, ["Another heron."]);
  expect(found(one, "heron").sort()).toEqual(["A heron.", "Another heron."]);
  expect(isSound(one)).toBe(true);
  one.close();
  other.close();
});

test("an append adds the words when many events wait", () => {
  const db = openConnection(":memory:");
  for (let at = 0; at < 127; at += 1) append(db, "s", at, [`Heron ${at}.`]);
  expect(indexed(db)).toBe(0);
  append(db, "s", 127, ["The last."]);
  expect(indexed(db)).toBe(128);
  expect(found(db, "heron", 200)).toHaveLength(127);
  db.close();
});

test("a large append adds its words in steps, and a search finds all of them", () => {
  const db = openConnection(":memory:");
  append(
    db,
    "s",
    0,
    Array.from({ length: 300 }, (_, at) => `Heron ${at}. ${"Some words. ".repeat(1000)}`),
  );
  const first = indexed(db);
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(300);
  expect(found(db, "heron", 500)).toHaveLength(300);
  db.close();
});

test("while another connection writes, a search finds what waits, and the rest by turns with it", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const db = openConnection(path);
  append(db, "s", 0, ["A heron.", "A heron and an otter."]);
  expect(found(db, "heron")).toHaveLength(2);
  append(db, "s", 2, ["A late heron.", "A badger."]);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  expect(found(db, "heron")).toEqual(["A heron.", "A late heron.", "A heron and an otter."]);
  expect(found(db, "badger")).toEqual(["A badger."]);
  expect(found(db, "heron", 2)).toEqual(["A heron.", "A late heron."]);
  expect(indexed(db)).toBe(2);
  other.exec("ROLLBACK");
  other.close();
  expect(found(db, "badger")).toEqual(["A badger."]);
  expect(indexed(db)).toBe(4);
  db.close();
});

test("an event that is redacted while its words wait is found by its new words only", () => {
  const db = openConnection(":memory:");
  append(db, "s", 0, ["A heron.", "An otter."]);
  const redaction = { seq: 1, event: said("A badger.").event };
  commands.redactEvents(db, "n", "s", 2, [redaction], said("Told."));
  expect(found(db, "heron")).toEqual([]);
  expect(found(db, "badger")).toEqual(["A badger."]);
  commands.redactEvents(db, "n", "s", 3, [{ seq: 1, event: said("A lynx.").event }], said("Told."));
  expect(found(db, "badger")).toEqual([]);
  expect(found(db, "lynx")).toEqual(["A lynx."]);
  expect(isSound(db)).toBe(true);
  db.close();
});

test("a session that is deleted while its words wait leaves none, and its positions are not given again", () => {
  const db = openConnection(":memory:");
  append(db, "s", 0, ["A heron."]);
  append(db, "gone", 0, ["Another heron.", "An otter."]);
  purge(db, "gone");
  append(db, "s", 1, ["A badger."]);
  expect(commands.readAllEvents(db, "n", 0, 10).map(({ position }) => position)).toEqual([1, 4]);
  expect(found(db, "heron otter badger").sort()).toEqual(["A badger.", "A heron."]);
  expect(isSound(db)).toBe(true);
  db.close();
});

test("an event that is repaired while its words wait is found by what is left of it", () => {
  const db = openConnection(":memory:");
  append(db, "s", 0, ["A heron.", "An otter."]);
  db.run(`UPDATE event SET event = '{"type":"text_complete","content":7}' WHERE seq = 1`);
  expect(commands.repairEvents(db, "n", 0).repaired).toHaveLength(1);
  expect(found(db, "otter")).toEqual(["An otter."]);
  expect(found(db, "heron")).toEqual([]);
  expect(isSound(db)).toBe(true);
  db.close();
});
