import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { given } from "../../src/core/fields.ts";
import { createSessionService, type SessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { examinePostgres } from "../../src/stores/postgres/examine-postgres.ts";
import { examineStore } from "../../src/stores/sqlite/examine-sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { temporaryFolder } from "../support/obey.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPool,
  postgresUrl,
} from "../support/postgres.ts";
import { Project } from "../support/rkat-process.ts";

/** A store in which something was said. */
async function spoken(folder: string, memory?: false): Promise<string> {
  const path = join(folder, "rkat.db");
  const stores = sqliteStores({ path });
  const service = createSessionService({
    model: scriptedModel(["Yes."]),
    stores,
    ...given({ memory }),
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Never deploy on a Friday without Grace." });
  await service.close();
  await stores.close();
  return path;
}

/** Replaces text in the file by other text of the same length. */
function forge(path: string, before: string, after: string): void {
  const bytes = readFileSync(path, "latin1");
  expect(bytes).toContain(before);
  writeFileSync(path, bytes.replaceAll(before, after), "latin1");
}

test("a store that nobody changed has no problems", async () => {
  expect(examineStore(await spoken(await temporaryFolder()))).toEqual([]);
});

test("a word of the log that was changed in the file is seen", async () => {
  const path = await spoken(await temporaryFolder(), false);
  forge(path, "Never deploy", "Alway deploy");
  expect(examineStore(path)).toEqual([
    expect.stringMatching(/^Event \d+ of session \S+ has changed since it was stored\.$/),
    // It is in the snapshot, too.
    expect.stringMatching(/^The snapshot of session \S+ has changed since it was stored\./),
  ]);
});

test("a bit that flips in the log is seen", async () => {
  const path = await spoken(await temporaryFolder(), false);
  const bytes = readFileSync(path);
  const at = bytes.indexOf("on a Friday");
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  expect(examineStore(path)).toHaveLength(1);
});

/** Changes of an event's row that leave its text. */
const ELSEWHERE = {
  time: "timestamp_ms = timestamp_ms + 60000",
  id: "event_id = 'another'",
  place: "seq = seq + 100",
};

test.each(Object.entries(ELSEWHERE))("another %s of an event is seen", async (_, change) => {
  const path = await spoken(await temporaryFolder(), false);
  const db = new DatabaseSync(path);
  const { changes } = db
    .prepare(`UPDATE event SET ${change} WHERE event LIKE '%run_started%'`)
    .run();
  db.close();
  expect(changes).toBe(1);
  expect(examineStore(path)).toEqual([
    expect.stringMatching(/^Event \d+ of session \S+ has changed since it was stored\.$/),
  ]);
});

test("events of an earlier rkat, which took a checksum of the text alone, are no problem", async () => {
  const path = await spoken(await temporaryFolder(), false);
  const db = new DatabaseSync(path);
  const rows = db.prepare("SELECT position, event FROM event").all();
  const before = db.prepare("UPDATE event SET checksum = ? WHERE position = ?");
  for (const { position = 0, event } of rows) before.run(crc32(String(event)), position);
  db.close();
  expect(rows.length).toBeGreaterThan(3);
  expect(examineStore(path)).toEqual([]);
});

const GONE = /^Event \d+ of session \S+ is missing\. Restore a backup, or delete the session\.$/;

test("an event that is gone is seen", async () => {
  const path = await spoken(await temporaryFolder());
  const db = new DatabaseSync(path);
  db.exec("DELETE FROM event WHERE seq = 3");
  db.close();
  expect(examineStore(path)).toContainEqual(expect.stringMatching(GONE));
});

test("what was forgotten on purpose is no problem", async () => {
  const path = await spoken(await temporaryFolder());
  const stores = sqliteStores({ path });
  const service = createSessionService({ model: scriptedModel([]), stores });
  await forgetFriday(service);
  await service.close();
  await stores.close();
  expect(examineStore(path)).toEqual([]);
});

/** Forgets the message, with the preference learned from it: what is found first of the two is either. */
async function forgetFriday(service: SessionService): Promise<void> {
  const hits = await service.searchMemory({ query: "deploy Friday Grace" });
  const said = hits.find(({ kind, content }) => kind === "message" && content.includes("Friday"));
  expect(await service.forgetMemory({ ids: [said?.id ?? ""] })).toMatchObject({ forgotten: 2 });
}

describe.skipIf(!hasPostgres)("on a server", NEEDS_POSTGRES, () => {
  /** A service whose log can be changed by hand. */
  async function onServer() {
    const schema = await freshSchema();
    const connectionString = await postgresUrl();
    const pool = await postgresPool();
    const stores = postgresStores({ connectionString, schema });
    const model = scriptedModel(["Yes.", "Yes.", "Yes."]);
    const service = createSessionService({ model, stores });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
    });
    const { sessionId } = await service.createSession({});
    for (const day of ["Friday", "Monday", "Sunday"]) {
      await service.startTurn({ sessionId, prompt: `Never deploy on a ${day} without Grace.` });
    }
    const change = (sql: string) => pool.query(sql.replace("event ", `"${schema}".event `));
    const problems = async () =>
      (await examinePostgres({ connectionString, schema }, "memory-of-all"))
        .filter(({ name }) => name === "events")
        .map(({ detail }) => detail);
    return { service, events: stores.events, change, problems };
  }

  test("each event that was changed in its row is seen, and none of an earlier rkat", async () => {
    const { change, problems } = await onServer();
    expect(await problems()).toEqual([]);
    const prompts = "event like '%run_started%'";
    await change(`update event set checksum = null where ${prompts} and event like '%Sunday%'`);
    await change(`update event set event = replace(event, 'Never', 'Alway') where ${prompts}`);
    expect(await problems()).toEqual(
      Array(2).fill(
        expect.stringMatching(/^Event \d+ of session \S+ has changed since it was stored\.$/),
      ),
    );
  });

  test.each(Object.entries(ELSEWHERE))("another %s of an event is seen", async (_, change) => {
    const { change: changed, problems } = await onServer();
    await changed(`update event set ${change} where event like '%run_started%Monday%'`);
    expect(await problems()).toContainEqual(
      expect.stringMatching(/^Event \d+ of session \S+ has changed since it was stored\.$/),
    );
  });

  test("an event that is gone is seen", async () => {
    const { change, problems } = await onServer();
    await change("delete from event where event like '%run_started%Monday%'");
    expect(await problems()).toEqual([expect.stringMatching(GONE)]);
  });

  test("what was forgotten on purpose, or repaired, is no problem", async () => {
    const { service, events, change, problems } = await onServer();
    await forgetFriday(service);
    expect(await problems()).toEqual([]);
    await change(`update event set event = '{"type":' where event like '%Never deploy%'`);
    expect(await problems()).not.toEqual([]);
    await events.repair?.();
    expect(await problems()).toEqual([]);
  });
});

test.each<[string, (path: string) => void, RegExp]>([
  ["a store of 0 bytes", (path) => truncateSync(path, 0), /is empty/],
  ["a store of an unreleased rkat", (path) => setVersion(path, 1), /written by an unreleased rkat/],
  ["a store of a newer rkat", (path) => setVersion(path, 99), /written by a newer rkat/],
])("`doctor` sees %s", async (_, change, said) => {
  const project = await Project.open();
  expect((await project.rkat(["sessions", "create", "--model", "ollama/a"])).code).toBe(0);
  change(join(project.folder, ".rkat", "rkat.db"));
  const { code, stdout } = await project.rkat(["doctor"]);
  expect(stdout).toMatch(said);
  expect(code).toBe(1);
});

function setVersion(path: string, version: number): void {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
}
