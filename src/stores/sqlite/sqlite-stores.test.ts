import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { spawn } from "../../../test/support/start-process.ts";
import { SessionState } from "../../core/session-state.ts";
import { sqlStore } from "../sql/sql-stores.ts";
import { openDatabase } from "./database.ts";
import { type Database, tasksOf } from "./database-over.ts";
import { SqliteEventStore } from "./sqlite-event-store.ts";

let folder = "";
let path = "";
let database: Database;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
  path = join(folder, "rkat.db");
  database = openDatabase({ path });
});
afterEach(async () => {
  vi.useRealTimers();
  await database.close();
  rmSync(folder, { recursive: true });
});

test("namespaces never see each other", async () => {
  const [one, other] = ["one", "other"].map((namespace) => ({
    events: new SqliteEventStore(database, { namespace }),
    sessions: sessionsIn(namespace),
  }));
  if (!one || !other) throw new Error("unreachable");
  await one.events.append("s", 0, [said("the heliotrope")]);
  await one.events.saveCheckpoint("files", 5);
  await one.sessions.save({ ...new SessionState("s").snapshot(), seq: 1 });
  await one.sessions.acquire("session:s", OWNER, 60_000);

  expect(await other.events.lastSeq("s")).toBe(0);
  expect(await Array.fromAsync(other.events.read("s", 0))).toEqual([]);
  expect(await other.events.readAll(0, 10)).toEqual([]);
  expect(await other.events.search({ query: "heliotrope", limit: 10 })).toEqual([]);
  expect(await other.events.checkpoint("files")).toBe(0);
  expect(await other.sessions.load("s")).toBeUndefined();
  expect(await other.sessions.list({})).toEqual([]);
  expect(await other.sessions.acquire("session:s", { ...OWNER, id: "b" }, 60_000)).toBe(true);

  await other.events.append("s", 0, [said("another heliotrope")]);
  await other.events.delete("s");
  await other.sessions.delete("s");
  expect(await one.events.search({ query: "heliotrope", limit: 10 })).toHaveLength(1);
  expect(await one.sessions.list({})).toHaveLength(1);
});

test("nothing of a deleted session's text stays in the file, however large the word index is", async () => {
  const events = new SqliteEventStore(database);
  const sessions = sessionsIn("default");
  const secret = "Zanzibarsecret";
  const filler = (event: number) =>
    said(Array.from({ length: 400 }, (_, index) => `w${event * 400 + index}`).join(" "));
  await events.append(
    "other",
    0,
    Array.from({ length: 300 }, (_, event) => filler(event)),
  );
  await events.append("s", 0, [said(`The password is ${secret}, ${"and so on ".repeat(900)}`)]);
  await sessions.save({ ...new SessionState("s").snapshot(), last_assistant_text: secret });
  await events.append(
    "other",
    300,
    Array.from({ length: 300 }, (_, event) => filler(300 + event)),
  );
  expect(filesHold("zanzibarsecret")).toBe(true);
  await events.delete("s");
  await sessions.delete("s");
  // The word index keeps words without what they have in common with the one before.
  expect(filesHold("zibarsecret")).toBe(false);
  expect(filesHold('"id":"s"')).toBe(false);
});

function sessionsIn(namespace: string) {
  return sqlStore("sessions", namespace, tasksOf(database));
}

function filesHold(text: string): boolean {
  return [path, `${path}-wal`]
    .filter((file) => existsSync(file))
    .some((file) => readFileSync(file, "latin1").toLowerCase().includes(text));
}

test("a lease ends exactly at its time", async () => {
  vi.useFakeTimers({ now: 1000, toFake: ["Date"] });
  const sessions = sessionsIn("default");
  const other = { ...OWNER, id: "b" };
  expect(await sessions.acquire("k", OWNER, 50)).toBe(true);
  vi.setSystemTime(1049);
  expect(await sessions.acquire("k", other, 50)).toBe(false);
  expect(await sessions.acquire("k", OWNER, 50)).toBe(true);
  vi.setSystemTime(1098);
  expect(await sessions.acquire("k", other, 50)).toBe(false);
  vi.setSystemTime(1099);
  expect(await sessions.acquire("k", other, 50)).toBe(true);
});

test("a lease that was taken by a clock a day ahead is void", async () => {
  const DAY_MS = 86_400_000;
  vi.useFakeTimers({ now: DAY_MS, toFake: ["Date"] });
  const sessions = sessionsIn("default");
  const other = { ...OWNER, id: "b" };
  expect(await sessions.acquire("k", OWNER, 15_000)).toBe(true);
  vi.setSystemTime(10_000);
  expect(await sessions.acquire("k", other, 15_000)).toBe(true);
  expect(await sessions.acquire("k", OWNER, 15_000)).toBe(false);
});

test("the lease of a process of this host that is gone can be taken at once", async () => {
  const sessions = sessionsIn("default");
  const child = spawn(process.execPath, ["--eval", ""]);
  await once(child, "close");
  const gone = { id: "gone", host: "here", pid: child.pid ?? 0 };
  const living = { id: "living", host: "here", pid: process.pid };
  const elsewhere = { id: "elsewhere", host: "there", pid: process.pid };
  expect(await sessions.acquire("k", gone, 60_000)).toBe(true);
  expect(await sessions.acquire("k", elsewhere, 60_000)).toBe(false);
  expect(await sessions.acquire("k", living, 60_000)).toBe(true);
  expect(await sessions.acquire("k", { ...living, id: "same process" }, 60_000)).toBe(false);
});

test("words are found in their other forms, accents and all", async () => {
  const events = new SqliteEventStore(database);
  await events.append("s", 0, [said("She was compacting histories in the Café")]);
  for (const query of ["compacted", "history", "cafe", "CAFÉ"]) {
    expect(await events.search({ query, limit: 1 }), query).toHaveLength(1);
  }
});

const OWNER = { id: "a", host: "elsewhere.example", pid: 1 };

function said(prompt: string) {
  const event = { type: "run_started", session_id: "s", prompt } as const;
  return { event_id: "e", timestamp_ms: 1, event };
}
