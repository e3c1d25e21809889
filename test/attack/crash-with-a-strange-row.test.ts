import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import fc from "fast-check";
import pg from "pg";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import {
  createSessionService,
  defineTool,
  SessionError,
  type SessionService,
} from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { allowWarning } from "../support/expect-warning.ts";
import { temporaryFolder } from "../support/obey.ts";
import { hasPostgres, postgresPool, postgresUrl } from "../support/postgres.ts";
import { trials } from "../support/trials.ts";

// What work in the background finds is told by warnings.
beforeAll(() => allowWarning(/^RkatWarning/));

const shell = defineTool({
  name: "shell",
  description: "Runs a command.",
  input: z.object({ command: z.string() }),
  execute: ({ command }) => `ran ${command} without trouble`,
});

function serviceOn(stores: Stores): SessionService {
  return createSessionService({
    model: scriptedModel((_, call) =>
      call % 3 === 0
        ? { toolCalls: [{ id: `c${call}`, name: "shell", args: { command: "make" } }] }
        : `The answer ${call} is in src/main.ts.`,
    ),
    stores,
    tools: [shell],
    approvals: { policies: { shell: "ask" }, timeoutMs: 1 },
    compaction: {
      autoCompactThreshold: 1700,
      minTurnsBetweenCompactions: 1,
      summarizer: "fallback",
    },
  });
}

/** Two conversations, a call that waits, knowledge, notes, an import, and a session in the trash. */
async function fill(stores: Stores): Promise<readonly string[]> {
  const service = serviceOn(stores);
  const ids: string[] = [];
  for (const fruit of ["apples", "bananas", "cherries"]) {
    const { sessionId } = await service.createSession({
      labels: { fruit },
      memory: true,
      knowledge: true,
    });
    ids.push(sessionId);
    for (const turn of [1, 2, 3, 4]) {
      const prompt = `Always count the ${fruit} of row ${turn}. ${"They are red. ".repeat(30)}`;
      // Some of them pause, because a call waits for approval.
      await service.startTurn({ sessionId, prompt }).catch((error) => requirePlain("turn", error));
    }
    await service.updateTask({ sessionId, goal: `Sell ${fruit}` });
  }
  await service.archive({ sessionId: ids[1] ?? "" });
  await service.delete({ sessionId: ids.pop() ?? "" });
  await service.addMemory({ content: "The port is 7443." });
  await service.addKnowledge({ content: "Always run the tests." });
  await service.importTranscripts({ text: '{"messages":[{"role":"user","content":"Mine."}]}' });
  await service.searchMemory({ query: "apples" });
  await service.close();
  return ids;
}

/** Everything that reads, and a turn. Each gives a value, or fails with a sentence. */
async function askAll(stores: Stores, [one = "", other = ""]: readonly string[]) {
  const service = serviceOn(stores);
  const ofOne = { sessionId: one };
  const all: Readonly<Record<string, () => Promise<unknown>>> = {
    list: () => service.list({ includeArchived: true }),
    "list of the trash": () => service.list({ deleted: true }),
    "list by label": () => service.list({ labels: { fruit: "apples" } }),
    read: () => service.read(ofOne),
    "read the other": () => service.read({ sessionId: other }),
    context: () => service.context(ofOne),
    pins: () => service.pins(ofOne),
    allowed: () => service.allowedCalls(ofOne),
    searchMemory: () => service.searchMemory({ query: "apples in a row", neighbours: 1 }),
    "search in a session": () => service.searchMemory({ query: "red", ...ofOne }),
    listMemory: () => service.listMemory({ limit: 100 }),
    memoryStats: () => service.memoryStats({}),
    searchHistory: () => service.searchHistory({ query: "apples" }),
    approvals: () => service.listApprovals({}),
    knowledge: () => service.listKnowledge({ limit: 100 }),
    "knowledge by words": () => service.listKnowledge({ query: "count" }),
    events: () => Array.fromAsync(stores.events.read(one, 0)),
    "all events": () => stores.events.readAll(0, 1000),
    imports: () => stores.imports.files(),
    copy: () => stores.knowledge.copy?.() ?? Promise.resolve(),
    sources: () => stores.sessions.sources([one, other]),
    turn: () => service.startTurn({ ...ofOne, prompt: "And now?" }),
    resume: () => service.resume(ofOne),
    distill: () => service.distillKnowledge({}),
    note: () => service.addMemory({ content: "Another note." }),
    restore: () => service.unarchive({ sessionId: other }),
  };
  const answers: Record<string, unknown> = {};
  for (const [name, ask] of Object.entries(all)) {
    answers[name] = await ask().catch((error) => requirePlain(name, error));
  }
  await service.close().catch((error) => requirePlain("close", error));
  return answers;
}

function requirePlain(name: string, error: unknown): undefined {
  if (!SessionError.is(error) || error.code === "INTERNAL_ERROR") {
    throw new Error(`${name} ends with ${error}`, { cause: error });
  }
  expect(error.message).toMatch(/^[A-Z"].*[.:]/s);
  expect(error.hint).not.toBe("");
  return undefined;
}

const VALUES: readonly SQLInputValue[] = [
  ...[null, "", "x", "{}", "[]", "null", "[null]", '{"type":"run_started"}', "1", "9e99"],
  ...[-1, 0, 1.5, 2 ** 31, 2 ** 53, 2n ** 62n, -(2n ** 63n), 1e308],
  ...[new Uint8Array(), Uint8Array.of(0, 255, 7), new Uint8Array(600).fill(255)],
];

/** Another text of the JSON in a column, with a field that is gone or has a value of another type. */
function damagedField(text: string, at: number): string {
  const value = JSON.parse(text.split("\n")[0] ?? "");
  const places: [Record<string, unknown>, string][] = [];
  const visit = (inner: unknown) => {
    if (typeof inner !== "object" || inner === null) return;
    for (const name of Object.keys(inner)) {
      places.push([inner as Record<string, unknown>, name]);
      visit((inner as Record<string, unknown>)[name]);
    }
  };
  visit(value);
  const [owner, name] = places[at % Math.max(1, places.length)] ?? [];
  if (!owner || name === undefined) return "7";
  const strange = [undefined, null, 7, "x", {}, [], [7], true];
  owner[name] = strange[Math.floor(at / places.length) % strange.length];
  return JSON.stringify(value);
}

interface Damage {
  readonly table: number;
  readonly column: number;
  readonly value: number;
  readonly row: number;
}

/** Puts a value into a column of a row, or of all rows. The tables forget their types first. Says what it did. */
function damage(path: string, { table, column, value, row }: Damage): string {
  const db = new DatabaseSync(path, { defensive: false });
  try {
    db.exec(`PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' NOT NULL', ''),
        'STRICT, WITHOUT ROWID', 'WITHOUT ROWID'), ') STRICT', ')')
        WHERE type = 'table' AND name NOT LIKE 'event_words%' AND sql NOT LIKE '%WITHOUT ROWID%';
      PRAGMA writable_schema = RESET;`);
    const tables = db
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
         AND name NOT LIKE 'event_words%' ORDER BY name`,
      )
      .all()
      .map(({ name }) => String(name))
      .filter((name) => db.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get());
    const name = tables[table % tables.length] ?? "";
    const columns = db.prepare(`SELECT name, type FROM pragma_table_info('${name}')`).all();
    const of = String(columns[column % columns.length]?.name);
    const rows = db.prepare(`SELECT "${of}" AS value FROM ${name}`).all();
    const before = rows[row % rows.length]?.value ?? null;
    const isJson = typeof before === "string" && /^[[{]/.test(before);
    const after =
      isJson && value % 3 > 0
        ? damagedField(before, value)
        : (VALUES[value % VALUES.length] as SQLInputValue);
    const where = row % 5 === 0 ? "" : ` WHERE "${of}" IS ?`;
    try {
      db.prepare(`UPDATE ${name} SET "${of}" = ?${where}`).run(after, ...(where ? [before] : []));
    } catch (error) {
      return `${name}.${of}: ${error}`;
    }
    return `${name}.${of} = ${String(after).slice(0, 2000)}${where}`;
  } finally {
    db.close();
  }
}

const number = fc.nat({ max: 2 ** 20 });
const anyDamage = fc.record({ table: number, column: number, value: number, row: number });

/** Whether every request on the stores ends as it should, and shows no session the words of another. */
async function requireWell(stores: Stores, ids: readonly string[], what: string): Promise<void> {
  try {
    const { read } = await askAll(stores, ids);
    expect(JSON.stringify(read) ?? "").not.toContain("bananas");
  } catch (error) {
    throw new Error(`${what}: ${error}`, { cause: error });
  } finally {
    await stores.close();
  }
}

// Both take over two seconds: after each damage of a random row, every command reads the store.
test("a row that rkat did not write ends nothing but the request, with a sentence (SQLite)", async () => {
  const folder = await temporaryFolder();
  const [good, bad] = ["good.db", "bad.db"].map((name) => join(folder, name)) as [string, string];
  const stores = sqliteStores({ path: good });
  const ids = await fill(stores);
  await stores.close();
  const law = fc.asyncProperty(anyDamage, async (where) => {
    for (const end of ["", "-wal", "-shm"]) rmSync(bad + end, { force: true });
    cpSync(good, bad);
    const what = damage(bad, where);
    await requireWell(sqliteStores({ path: bad }), ids, what);
  });
  await fc.assert(law, { numRuns: trials(5, 5000) });
}, 3_600_000);

test("a store whose tables lack a column says so (SQLite)", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "rkat.db");
  const stores = sqliteStores({ path });
  const ids = await fill(stores);
  await stores.close();
  const db = new DatabaseSync(path);
  db.exec("ALTER TABLE event RENAME COLUMN timestamp_ms TO other");
  db.close();
  const opened = sqliteStores({ path });
  const read = Array.fromAsync(opened.events.read(ids[0] ?? "", 0));
  await expect(read).rejects.toMatchObject({
    code: "SESSION_STORE_ERROR",
    message: `The store failed. ${path} failed (no such column: timestamp_ms).`,
    hint: expect.stringContaining("rkat doctor"),
  });
  await requireWell(opened, ids, "no timestamp_ms");
});

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

/** The same for a table of PostgreSQL, which keeps the types of its columns, or loses one. */
async function damageTable(
  pool: InstanceType<typeof pg.Pool>,
  { table, column, value, row }: Damage,
): Promise<string> {
  const found = await pool.query(
    `select table_name as table, column_name as column, data_type as type
     from information_schema.columns where table_schema = 'rkat' order by 1, 2`,
  );
  const tables = Map.groupBy(found.rows as readonly Column[], (each) => each.table);
  const [name = "", columns = []] = [...tables][table % tables.size] ?? [];
  const { column: of, type } = columns[column % columns.length] ?? ({} as Column);
  const at = `rkat."${name}"`;
  const run = async (sql: string, ...values: unknown[]) => {
    try {
      await pool.query(sql, values);
      return `${sql} ${JSON.stringify(values).slice(0, 2000)}`;
    } catch (error) {
      return `${sql}: ${error}`;
    }
  };
  if (value % 4 === 0) return await run(`alter table ${at} drop column "${of}" cascade`);
  if (value % 4 === 1) {
    await run(`alter table ${at} alter column "${of}" drop not null`);
    return await run(`update ${at} set "${of}" = null`);
  }
  if (value % 4 === 2 && type !== "text") {
    await run(`alter table ${at} alter column "${of}" drop default`);
    const text = ["x", "", "-1", "NaN"][row % 4];
    return await run(`alter table ${at} alter column "${of}" type text using '${text}'`);
  }
  if (type !== "text")
    return await run(`update ${at} set "${of}" = $1`, [-1, 0, 2 ** 31 - 1][row % 3]);
  const rows = await pool.query(`select "${of}" as value from ${at}`);
  const values = rows.rows as readonly { readonly value: unknown }[];
  const before = values[row % Math.max(1, values.length)]?.value;
  const isJson = typeof before === "string" && /^[[{]/.test(before);
  const after = isJson ? damagedField(before, value >> 2) : String(VALUES[1 + (value % 9)]);
  return await run(`update ${at} set "${of}" = $1 where "${of}" = $2`, after, before);
}

// Takes over two seconds: each trial copies a database, and waits for stores that cannot be used.
test.runIf(hasPostgres)(
  "a row that rkat did not write ends nothing but the request, with a sentence (PostgreSQL)",
  async () => {
    const admin = await postgresPool();
    const url = new URL(await postgresUrl());
    const [good, bad] = ["good", "bad"].map((name) => `strange_${name}_${process.pid}`);
    const addressOf = (name = "") => Object.assign(new URL(url), { pathname: `/${name}` }).href;
    const drop = (name = "") => admin.query(`drop database if exists ${name} with (force)`);
    await drop(good);
    await admin.query(`create database ${good}`);
    const stores = postgresStores({ connectionString: addressOf(good) });
    const ids = await fill(stores);
    await stores.close();
    const law = fc.asyncProperty(anyDamage, async (where) => {
      await drop(bad);
      await admin.query(`create database ${bad} template ${good}`);
      const pool = new pg.Pool({ connectionString: addressOf(bad), max: 1 });
      const what = await damageTable(pool, where);
      await pool.end();
      await requireWell(
        postgresStores({ connectionString: addressOf(bad), retryMs: 500 }),
        ids,
        what,
      );
    });
    try {
      await fc.assert(law, { numRuns: trials(1, 1000) });
    } finally {
      await drop(bad);
      await drop(good);
    }
  },
  3_600_000,
);
