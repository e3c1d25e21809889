import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import { createSessionService } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/obey.ts";
import { execFileSync } from "../support/start-process.ts";
import { sampled } from "../support/trials.ts";

const SESSION = "id TEXT PRIMARY KEY, directory, title, time_created, time_updated";
const MESSAGE = "id TEXT PRIMARY KEY, session_id, time_created, data";
const PART = "id TEXT PRIMARY KEY, message_id, data";
const INFO = JSON.stringify({ role: "user", time: { created: 1 } });
const SAYS = JSON.stringify({ type: "text", text: "hello" });
/** As many rows as anybody likes, from a few bytes. */
const ENDLESS =
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e12) SELECT";
/** As many letters, once the file is written: SQLite computes what it inserts. */
const SHORT = "hex(zeroblob(000000004))";
const LONG = "hex(zeroblob(400000000))";

const tables = (some: Partial<Record<"session" | "message" | "part" | "project", string>> = {}) => {
  const all = {
    session: `CREATE TABLE session (${SESSION}); INSERT INTO session VALUES ('s', '/a', 'A', 1, 1);`,
    message: `CREATE TABLE message (${MESSAGE}); INSERT INTO message VALUES ('m', 's', 1, '${INFO}');`,
    part: `CREATE TABLE part (${PART}); INSERT INTO part VALUES ('p', 'm', '${SAYS}');`,
    ...some,
  };
  return Object.values(all).join("\n");
};

const copies = (into: string, count: number, values: string) =>
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
   INSERT INTO ${into} SELECT ${values} FROM n;`;

/** What a stranger's database does, and what the report says of it; nothing where it is read. */
const DATABASES: Readonly<Record<string, readonly [schema: string, told?: RegExp]>> = {
  "is as opencode makes it": [tables()],
  "computes the content of a message": [
    tables({
      message: `CREATE TABLE message (id, session_id, time_created, data AS (${SHORT}));
        INSERT INTO message VALUES ('m', 's', 1);`,
    }),
    /"message" computes the column "data"/,
  ],
  "computes the content of ten thousand parts": [
    tables({
      part: `CREATE TABLE part (id, message_id, data AS ('{"type":"text","text":"' || ${SHORT} || '"}'));
        ${copies("part", 10_000, "i, 'm'")}`,
    }),
    /"part" computes the column "data"/,
  ],
  "computes what an id is": [
    tables({
      part: `CREATE TABLE part (message_id, data, id AS (${SHORT})); INSERT INTO part VALUES ('m', '${SAYS}');`,
    }),
    /"part" computes the column "id"/,
  ],
  "computes the title of a session": [
    tables({
      session: `CREATE TABLE session (id, directory, title AS (${SHORT}), time_created);
        INSERT INTO session VALUES ('s', '/a', 1);`,
    }),
    /"session" computes the column "title"/,
  ],
  "computes the folder of a project": [
    tables({
      project: `CREATE TABLE project (id, worktree AS (${SHORT})); ${copies("project", 1000, "i")}`,
    }),
    /"project" computes/,
  ],
  "computes a column that nobody needs": [
    tables({
      part: `CREATE TABLE part (${PART}, extra AS (${SHORT})); INSERT INTO part VALUES ('p', 'm', '${SAYS}');`,
    }),
    /"part" computes the column "extra"/,
  ],
  "has a view for its sessions": [
    tables({ session: `CREATE VIEW session AS ${ENDLESS} i AS id, '/a' AS directory FROM n;` }),
    /"session" is not a table that only stores/,
  ],
  "has a view for its messages": [
    tables({
      message: `CREATE VIEW message AS ${ENDLESS} i AS id, 's' AS session_id, 1 AS time_created, '${INFO}' AS data FROM n;`,
    }),
    /"message" is not a table/,
  ],
  "has views that double each other for its parts": [
    tables({
      part: `CREATE VIEW v0 AS SELECT 1 AS id, 'm' AS message_id, '${SAYS}' AS data;
        ${Array.from({ length: 40 }, (_, at) => `CREATE VIEW v${at + 1} AS SELECT a.* FROM v${at} a, v${at} b;`).join("\n")}
        CREATE VIEW part AS SELECT * FROM v40;`,
    }),
    /"part" is not a table/,
  ],
  "has a virtual table for its sessions": [
    tables({ session: `CREATE VIRTUAL TABLE session USING fts5(id, directory, title);` }),
    /"session" is not a table/,
  ],
  "has a long default for old rows": [
    tables({
      part: `CREATE TABLE part (id, message_id); ${copies("part", 20_000, "i, 'm'")}
        ALTER TABLE part ADD COLUMN data DEFAULT '${JSON.stringify({ type: "text", text: "x".repeat(200_000) })}';`,
    }),
    /more than its file can hold/,
  ],
  "has a column in the place of the numbers of rows": [
    tables({
      part: `CREATE TABLE part (${PART}, rowid); INSERT INTO part VALUES ('p', 'm', '${SAYS}', 1);`,
    }),
    /hides the numbers of its rows/,
  ],
  "has an index over something long": [
    tables({
      part: `CREATE TABLE part (${PART}); INSERT INTO part VALUES ('p', 'm', '${SAYS}');
        CREATE INDEX long ON part (substr(${SHORT}, 1, 1), message_id);`,
    }),
  ],
  "has a message of 70 MB": [
    tables({
      message: `CREATE TABLE message (${MESSAGE}); INSERT INTO message VALUES ('m', 's', 1, hex(zeroblob(35000000)));`,
    }),
    /record m is not JSON, or larger than 64 MB/,
  ],
  "has a title of 20 MB": [
    tables({
      session: `CREATE TABLE session (${SESSION}); INSERT INTO session VALUES ('s', '/a', hex(zeroblob(10000000)), 1, 1);`,
    }),
  ],
  "has a number that JavaScript has not": [
    tables({
      message: `CREATE TABLE message (${MESSAGE}); INSERT INTO message VALUES ('m', 's', 9007199254740993, '${INFO}');`,
    }),
    /a number that is too large/,
  ],
};

function databaseIn(folder: string, schema: string): string {
  const path = join(folder, "opencode.db");
  const db = new DatabaseSync(path);
  db.exec(schema);
  db.close();
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(SHORT); at >= 0; at = bytes.indexOf(SHORT)) bytes.write(LONG, at);
  writeFileSync(path, bytes);
  return path;
}

async function imported(path: string, folder: string) {
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  onTestFinished(() => stores.close());
  const { sessions, messages, skipped } = await importTranscripts({ stores, path });
  return { sessions, messages, told: skipped.map(({ reason }) => reason).join("\n") };
}

for (const [what, [schema, told]] of Object.entries(DATABASES)) {
  test(`a database of opencode that ${what} is ${told ? "refused with a sentence" : "read"}`, async () => {
    const folder = await temporaryFolder();
    const report = await imported(databaseIn(folder, schema), folder);
    if (told) expect(report).toEqual({ ...report, messages: 0, told: expect.stringMatching(told) });
    else expect(report).toEqual({ sessions: 1, messages: 1, told: "" });
  });
}

test.each([
  ["-wal", "link"],
  ["-wal", "link to a pipe"],
  ["-wal", "pipe"],
  ["-shm", "link"],
  ["-journal", "link"],
  ["-journal", "pipe"],
])("a database with %s beside it as a %s is not opened", async (end, what) => {
  const folder = await temporaryFolder();
  const isLog = end !== "-journal";
  const path = databaseIn(folder, `${isLog ? "PRAGMA journal_mode = WAL;" : ""}${tables()}`);
  const elsewhere = join(folder, "elsewhere");
  if (what === "link") writeFileSync(elsewhere, "the user's own words ".repeat(100));
  else execFileSync("mkfifo", [what === "pipe" ? path + end : elsewhere]);
  if (what !== "pipe") symlinkSync(elsewhere, path + end);
  expect(await imported(path, folder)).toEqual({
    sessions: 0,
    messages: 0,
    told: `what is called opencode.db${end} is no regular file`,
  });
});

const PAGE = 512;

/** Lets inner pages lead to each other, each entry of one to the next, so that few pages are endless rows. */
function foldPages(path: string, root: number): void {
  const bytes = readFileSync(path);
  const entries = (page: number) => bytes.readUInt16BE((page - 1) * PAGE + 3);
  const entry = (page: number, at: number) => {
    const start = (page - 1) * PAGE;
    return start + bytes.readUInt16BE(start + 12 + 2 * at);
  };
  const inner = Array.from({ length: Math.min(10, entries(root)) }, (_, at) =>
    bytes.readUInt32BE(entry(root, at)),
  );
  for (const [at, page] of [root, ...inner].entries()) {
    const below = inner[at];
    if (below === undefined) continue;
    for (let each = 0; each < entries(page); each += 1) {
      bytes.writeUInt32BE(below, entry(page, each));
    }
    bytes.writeUInt32BE(below, (page - 1) * PAGE + 8);
  }
  writeFileSync(path, bytes);
}

test.each(["project", "session", "message", "part"])(
  "a database whose pages lead to each other has no more rows of %s than its file can hold",
  async (table) => {
    const folder = await temporaryFolder();
    const columns = { project: "id, worktree", session: SESSION, message: MESSAGE, part: PART };
    const plain = columns[table as keyof typeof columns].replace(" TEXT PRIMARY KEY", "");
    const values = plain
      .split(", ")
      .map((name) => ({ session_id: "'s'", message_id: "'m'" })[name] ?? "hex(zeroblob(40))");
    const path = databaseIn(
      folder,
      `PRAGMA page_size = ${PAGE}; ${tables({
        [table]: `CREATE TABLE ${table} (${plain}); ${copies(table, 2_000, values.join(", "))}`,
      })}`,
    );
    const db = new DatabaseSync(path);
    const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table);
    db.close();
    foldPages(path, Number(root?.rootpage));
    const { messages, told } = await imported(path, folder);
    expect([messages, told]).toEqual([0, expect.stringMatching(/more than its file can hold/)]);
  },
);

test("a database in the body of POST /import is read within the same limits", async () => {
  const folder = await temporaryFolder();
  // Before there is a server: making one blocks this process for seconds, in which a server gives up idle connections.
  const bodies: [what: string, body: Buffer<ArrayBuffer>][] = [];
  for (const [what, [schema]] of sampled(Object.entries(DATABASES), { of: 3, at: 0 }, "attacks")) {
    bodies.push([what, readFileSync(databaseIn(await temporaryFolder(), schema))]);
  }
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({ model: "none", stores });
  const server = await serveRest({ service, port: 0 });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await service.close();
    await stores.close();
  });
  for (const [what, body] of bodies) {
    const url = `${server.url}/import?name=opencode.db`;
    const headers = { "content-type": "application/octet-stream" };
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    expect([what, text.length < 5_000, response.status < 500]).toEqual([what, true, true]);
  }
  // The first can be read. Another one that can has the same session.
  expect(await service.list({})).toEqual([expect.objectContaining({ messageCount: 1 })]);
});
