import { expect, test } from "vitest";
import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import { Connection } from "../sqlite/connection.ts";
import { sqliteTables } from "../sqlite/sqlite-tables.ts";
import {
  changed,
  type Dialect,
  insertAll,
  isIn,
  joined,
  rows,
  runSync,
  sql,
  table,
  transaction,
  words,
  written,
} from "./sql.ts";
import { SqlImportStore } from "./sql-import-store.ts";

const NUMBERED: Dialect = {
  parameter: (number) => `$${number}`,
  isIn: (values) => sql`= any(${values})`,
  table: (name) => words(name),
  labels: () => sql``,
  hasLabels: () => sql``,
  readsSource: true,
  logsDifferences: false,
  lease: {
    until: sql``,
    length: sql``,
    now: () => sql``,
    span: () => sql``,
    locked: sql``,
    left: () => sql``,
  },
};

test("values become parameters, counted through statements within statements", () => {
  const one = sql`name = ${"'; drop table event; --"}`;
  const all = joined([one, sql`id ${isIn(["a", "b"])}`, words("true")], " and ");
  expect(written(sql`select ${1} from t where ${all} limit ${2}`, NUMBERED)).toEqual({
    text: "select $1 from t where name = $2 and id = any($3) and true limit $4",
    values: [1, "'; drop table event; --", ["a", "b"], 2],
  });
  expect(written(joined([], " and "), NUMBERED)).toEqual({ text: "", values: [] });
});

test("rows come out of a table of values as they went in, each in its place", () => {
  const tables = sqliteTables(new Connection(":memory:"));
  const texts = ["", "a\0b", "\ud800", '"quoted", [1]\\', "日本", "' --"];
  const columns = {
    text: ["text", texts],
    number: ["bigint", [0, -1, 2 ** 52, 3, 4, 5]],
    flag: ["boolean", [true, false, true, false, true, false]],
    bytes: ["bytea", texts.map((_, at) => Uint8Array.of(at, 0, 255))],
    none: ["text", texts.map(() => null)],
  } as const;
  const found = runSync(
    rows<Record<string, unknown>>(sql`select * from ${table("added", columns)} order by place`),
    tables,
  );
  expect(found).toEqual(
    texts.map((text, at) => ({
      text: text.toWellFormed(),
      number: columns.number[1][at],
      flag: Number(columns.flag[1][at]),
      bytes: columns.bytes[1][at],
      none: null,
      place: at + 1,
    })),
  );
  const [same] = runSync(
    rows(sql`select 1 as yes where ${"a\0b"} ${isIn(texts)} and ${"\ud800"} ${isIn(texts)}`),
    tables,
  );
  expect(same).toEqual({ yes: 1 });
});

test("a transaction that fails leaves nothing, whatever it did before", () => {
  const db = new Connection(":memory:");
  db.exec("create table kept (namespace text, id text)");
  const add = (id: string) => [insertAll("rkat.kept", "n", { id: ["text", [id]] }, sql``)];
  const work = transaction("write", function* () {
    yield* changed(add("one"));
    throw new Error("no");
  });
  expect(() => runSync(work, sqliteTables(db))).toThrow("no");
  expect(runSync(changed(add("two")), sqliteTables(db)).count).toBe(1);
  expect(db.all("select id from kept")).toEqual([{ id: "two" }]);
});

test("a commit of sessions waits for the disk, unless a transcript or a file has all of it", () => {
  const modeOf = (...asked: Parameters<SqlImportStore["commit"]>) =>
    new SqlImportStore("n").commit(...asked).next().value;
  const fork = { sessionId: "s", lastSeq: 0, events: [], ids: [] } as const;
  const snapshot = {} as SessionSnapshot;
  const file = { agent: "codex", stamp: "1", sessions: 0, messages: 0 };
  expect(modeOf([{ ...fork, snapshot }])).toMatchObject({ mode: "write" });
  expect(modeOf([{ ...fork, snapshot, ids: ["m"] }])).toMatchObject({ mode: "write unsynced" });
  expect(modeOf([], new Map([["a.jsonl", file]]))).toMatchObject({ mode: "write unsynced" });
  expect(modeOf([{ ...fork, snapshot, ids: ["m"] }], new Map(), { durable: true })).toMatchObject({
    mode: "write",
  });
});
