import { type EventEmitter, once } from "node:events";
import { chmodSync, chownSync, statSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { SessionError } from "../src/core/errors.ts";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { CURRENT_TABLES } from "../src/stores/postgres/migrations.ts";
import {
  PostgresDatabase,
  type PostgresDatabaseOptions,
} from "../src/stores/postgres/postgres-database.ts";
import {
  openPool,
  type PostgresPool,
  type PostgresStatement,
} from "../src/stores/postgres/postgres-pool.ts";
import { postgresAddress } from "../src/stores/postgres/server-address.ts";
import { quoted } from "../src/stores/postgres/statements.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { PREPARED_STATEMENTS, startPooler } from "./support/pooler.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPool,
  postgresUrl,
  startCluster,
} from "./support/postgres.ts";
import { execFileSync } from "./support/start-process.ts";

async function openDatabase(options: Partial<PostgresDatabaseOptions> = {}) {
  const { schema = await freshSchema(), ...rest } = options;
  const connectionString = rest.pool ? undefined : (rest.connectionString ?? (await postgresUrl()));
  const where = connectionString === undefined ? {} : { connectionString };
  const database = new PostgresDatabase({ ...rest, ...where, schema });
  onTestFinished(() => database.close());
  return database;
}

/** The address of the test's database for another user, port or database. */
async function addressFor(
  change: Partial<Pick<URL, "username" | "password" | "port" | "pathname">>,
) {
  return Object.assign(new URL(await postgresUrl()), change).href;
}

/** The address of the test's database, with a setting of the server for its connections. */
async function addressWith(setting: string) {
  const url = new URL(await postgresUrl());
  url.searchParams.set("options", `-c ${setting}`);
  return url.href;
}

function thrownBy(work: () => unknown): SessionError {
  try {
    work();
  } catch (error) {
    if (SessionError.is(error)) return error;
  }
  return expect.fail("It did not fail.");
}

/** Statements that the server works on, although nobody should wait for them any more. */
async function sleeping(pool?: InstanceType<typeof pg.Pool>): Promise<number> {
  const { rows } = await (pool ?? (await postgresPool())).query(
    `select count(*)::integer as count from pg_stat_activity
     where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`,
  );
  return (rows[0] as { readonly count: number }).count;
}

async function failure(work: Promise<unknown>): Promise<SessionError> {
  const error = await work.then(
    () => expect.fail("It did not fail."),
    (error) => error,
  );
  if (!SessionError.is(error)) throw error;
  return error;
}

/** The version of a rkat that is newer than this one. */
const NEXT = CURRENT_TABLES + 1;

test("a server that takes a connection and says nothing gives none in time", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const pool = new pg.Pool({ host: "127.0.0.1", port, connectionTimeoutMillis: 100 });
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  await expect(new PostgresDatabase({ pool }).rows("select 1")).rejects.toThrow(
    "gave no connection in time: it does not answer",
  );
});

describe.skipIf(!hasPostgres)("a PostgreSQL database", NEEDS_POSTGRES, () => {
  test("ten processes that start at once make the tables once", async () => {
    const schema = await freshSchema();
    // One that waits for another has to see what that one made.
    const connectionString = await addressWith("default_transaction_isolation=serializable");
    const databases = await Promise.all(
      Array.from({ length: 10 }, () => openDatabase({ schema, connectionString })),
    );
    const sql = "select version from rkat.migration";
    const versions = Array.from({ length: CURRENT_TABLES }, (_, at) => ({ version: at + 1 }));
    const all = await Promise.all(databases.map((database) => database.rows(sql)));
    for (const rows of all) expect(rows).toEqual(versions);
  });

  test("tables of a newer rkat are refused, unless it says that they can be used", async () => {
    const schema = await freshSchema();
    const database = await openDatabase({ schema });
    await database.change(
      `insert into rkat.migration (version, usable_from) values (${NEXT}, ${CURRENT_TABLES})`,
    );
    await (await openDatabase({ schema })).rows("select 1");
    await database.change(
      `insert into rkat.migration (version, usable_from) values (${NEXT + 1}, ${NEXT + 1})`,
    );
    const error = await failure((await openDatabase({ schema })).rows("select 1"));
    expect(error.message).toContain(
      `were made by a newer rkat (version ${NEXT + 1}; this one knows ${CURRENT_TABLES}).`,
    );
    expect(error.hint).toBe("Update rkat here, or name another schema.");
  });

  test("a newer rkat that only adds to the tables leaves them to the older ones", async () => {
    const schema = await freshSchema();
    const connectionString = await postgresUrl();
    const newer = await openDatabase({ schema });
    const tables = await newer.rows<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = $1",
      schema,
    );
    const runTurn = async (prompt: string, change = async () => {}) => {
      const stores = postgresStores({ connectionString, schema });
      const model = scriptedModel([]);
      const service = createSessionService({ model, stores });
      const { sessionId } = await service.createSession({});
      await change();
      await service.startTurn({ sessionId, prompt });
      await expect.poll(() => service.searchMemory({ query: prompt })).toHaveLength(1);
      await service.close();
      await stores.close();
    };
    await runTurn("An otter swims.", async () => {
      for (const { name } of tables) {
        await newer.change(`alter table rkat.${name} add column added text default 'new'`);
      }
      await newer.change(
        `insert into rkat.migration (version, usable_from) values (${NEXT}, ${CURRENT_TABLES})`,
      );
    });
    await runTurn("A heron waits.");
  });

  test("a newer rkat that changes the tables is refused by older ones that are running", async () => {
    const database = await openDatabase();
    await database.rows("select 1 from rkat.event");
    await database.write(async (statements) => {
      await statements.change("alter table rkat.event rename column stems to words");
      await statements.change(
        `insert into rkat.migration (version, usable_from) values (${NEXT}, ${NEXT})`,
      );
    });
    const error = await failure(database.rows("select stems from rkat.event"));
    expect(error.message).toContain(
      `were made by a newer rkat (version ${NEXT}; this one knows ${CURRENT_TABLES}).`,
    );
  });

  test("many deletions in a row share a vacuum, and none goes without one", async () => {
    const pool = await postgresPool();
    const vacuums: string[] = [];
    const counted = {
      query: (statement: PostgresStatement) => {
        if (statement.text.startsWith("vacuum")) vacuums.push(statement.text);
        return pool.query(statement as never);
      },
      connect: () => pool.connect(),
      end: () => pool.end(),
    } as PostgresPool;
    const database = await openDatabase({ pool: counted });
    for (let deletion = 0; deletion < 50; deletion += 1) {
      await database.vacuum("rkat.migration");
    }
    expect(vacuums.length).toBeLessThan(50);
    const before = vacuums.length;
    await database.vacuum("rkat.migration");
    await database.close();
    expect(vacuums.length).toBeGreaterThan(before);
  });

  test("a transaction is done whole or not at all", async () => {
    const database = await openDatabase();
    const count = async () =>
      (await database.row<{ count: number }>("select count(*) as count from rkat.migration"))
        ?.count;
    const insert = "insert into rkat.migration (version, usable_from) values ($1, 1)";
    const boom = new Error("boom");
    await expect(
      database.write(async (statements) => {
        await statements.change(insert, NEXT);
        throw boom;
      }),
    ).rejects.toBe(boom);
    expect(await count()).toBe(CURRENT_TABLES);
    await database.write((statements) => statements.change(insert, NEXT));
    expect(await count()).toBe(NEXT);
  });

  test("a connection to a server that has become read-only is not used again", async () => {
    const { pool, primary } = { pool: await postgresPool(), primary: await openDatabase() };
    await primary.rows("select 1");
    const database = await openDatabase({ pool, schema: primary.schema });
    await database.rows("select 1");
    // What was the primary: the pool gives its connections out first.
    const first = await pool.connect();
    await first.query("set default_transaction_read_only = on");
    first.release();
    const mark = () =>
      database.write((statements) =>
        statements.change("update rkat.position_shift set shift = shift"),
      );
    expect((await failure(mark())).message).toContain("is read-only");
    await mark();
  });

  test("what the server undoes because of others is done again", async () => {
    const database = await openDatabase();
    await database.change(`insert into rkat.migration (version, usable_from) values (${NEXT}, 0)`);
    const add = "update rkat.migration set usable_from = usable_from + 1 where version = $1";
    // Each locks the row that the other one wants next.
    const crossing = [1, NEXT].map((first) =>
      database.write(async (statements) => {
        await statements.change(add, first);
        await statements.row("select pg_sleep(0.1)");
        await statements.change(add, 1 + NEXT - first);
      }),
    );
    await Promise.all(crossing);
    const rows = await database.rows(
      `select usable_from from rkat.migration where version in (1, ${NEXT}) order by version`,
    );
    expect(rows).toEqual([{ usable_from: 3 }, { usable_from: 2 }]);
  });

  test("a connection that the server ends is replaced, and a transaction done once", async () => {
    const database = await openDatabase();
    const other = await postgresPool();
    await database.change(`insert into rkat.migration (version, usable_from) values (${NEXT}, 0)`);
    const add = `update rkat.migration set usable_from = usable_from + 1 where version = ${NEXT}`;
    let started = 0;
    await database.write(async (statements) => {
      started += 1;
      await statements.change(add);
      const row = await statements.row<{ pid: number }>("select pg_backend_pid() as pid");
      if (started === 1) await other.query("select pg_terminate_backend($1)", [row?.pid]);
    });
    expect(started).toBe(2);
    const row = await database.row(
      `select usable_from from rkat.migration where version = ${NEXT}`,
    );
    expect(row).toEqual({ usable_from: 1 });
  });

  test("a connection that the server ends before its first answer is replaced", async () => {
    const pool = await postgresPool();
    let ended = 0;
    const query = async (statement: PostgresStatement) => {
      if (ended > 0) return await pool.query(statement);
      ended += 1;
      throw Object.assign(new Error("terminating connection"), { code: "57P01" });
    };
    const connect = () => pool.connect();
    const database = await openDatabase({ pool: { query, connect, end: () => pool.end() } });
    expect(await database.row("select 1 as one")).toEqual({ one: 1 });
    expect(ended).toBe(1);
  });

  test("a server that gives no connection is waited for once, however much is asked of it", async () => {
    let asked = 0;
    const query = async () => {
      asked += 1;
      throw Object.assign(new Error("too many connections for role"), { code: "53300" });
    };
    const pool = { query, connect: query, end: async () => {} };
    const database = await openDatabase({ pool, retryMs: 50 });
    expect((await failure(database.rows("select 1"))).message).toContain("no connection left");
    expect(asked).toBeGreaterThan(1);
    asked = 0;
    await failure(database.rows("select 1"));
    await failure(database.rows("select 2"));
    expect(asked).toBe(2);
  });

  test("a connection that is being given out has a listener for its end", async () => {
    const pool = (await openPool(await postgresUrl())) as unknown as CallingPool;
    onTestFinished(() => pool.end());
    for (const _ of ["new", "idle"]) {
      const listeners = await new Promise<number>((resolve) => {
        pool.connect((_, client, release) => {
          resolve(client.listenerCount("error"));
          release();
        });
      });
      expect(listeners).toBeGreaterThan(0);
    }
  });

  test("a statement without an answer ends, also on the server, and so does a transaction", async () => {
    const poolers = await Promise.all(PREPARED_STATEMENTS.slice(0, 1).map(startPooler));
    for (const connectionString of [await postgresUrl(), ...poolers]) {
      for (const given of [{ connectionString }, { pool: await postgresPool(connectionString) }]) {
        const database = await openDatabase({ ...given, answerMs: 100, retryMs: 100 });
        const said = "gave no answer in time.";
        expect((await failure(database.rows("select pg_sleep(30)"))).message).toContain(said);
        const work = database.write((statements) => statements.row("select pg_sleep(30)"));
        expect((await failure(work)).message).toContain(said);
        await expect
          .poll(() => database.row("select 1 as one").catch(() => undefined))
          .toEqual({ one: 1 });
        await expect.poll(() => sleeping()).toBe(0);
      }
    }
  });

  test("a statement without an answer ends over TLS too", async () => {
    const cluster = await startCluster();
    const key = join(cluster.folder, "data/server.key");
    const made = ["-keyout", key, "-out", join(cluster.folder, "data/server.crt")];
    const named = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"];
    execFileSync("openssl", ["req", "-x509", ...named, ...made], { stdio: "ignore" });
    chownSync(key, statSync(join(cluster.folder, "data")).uid, -1);
    chmodSync(key, 0o600);
    const admin = await postgresPool(cluster.url);
    await admin.query("alter system set ssl = on");
    await admin.query("select pg_reload_conf()");
    const pool = new pg.Pool({ connectionString: cluster.url, ssl: { rejectUnauthorized: false } });
    onTestFinished(() => pool.end());
    await expect.poll(() => pool.query("select 1").catch(() => undefined)).toBeDefined();
    const database = await openDatabase({ pool, answerMs: 100, retryMs: 0, schema: "over tls" });
    expect((await failure(database.rows("select pg_sleep(30)"))).message).toContain("no answer");
    await expect.poll(() => sleeping(admin)).toBe(0);
  });

  test("a statement ends with the process that waits for it", async () => {
    const database = await openDatabase();
    await database.rows("select 1");
    const client = await database.connect();
    onTestFinished(() => client.release(true));
    const work = client.query({ text: "select pg_sleep(30)" }).catch(() => {});
    await expect.poll(() => sleeping()).toBe(1);
    (client as object as { connection: { stream: Socket } }).connection.stream.destroy();
    await work;
    await expect.poll(() => sleeping()).toBe(0);
  });

  test("a commit whose answer is lost is not done again", async () => {
    const pool = await postgresPool();
    let lost = 0;
    const database = await openDatabase({
      pool: losingCommits(pool, () => {
        lost += 1;
        return lost === 1;
      }),
    });
    await database.rows("select 1");
    lost = 0;
    const add = `insert into rkat.migration (version, usable_from) values (${NEXT}, 0)`;
    await database.write((statements) => statements.change(add));
    expect(lost).toBe(1);
  });

  test("bad input is one sentence that says the way out, and never shows a password", async () => {
    const pool = await postgresPool();
    const roles = [
      "create role guarded login password 'right'",
      "create role powerless login",
      "create role reader login superuser",
      "alter role reader set default_transaction_read_only = on",
    ];
    for (const role of roles) await pool.query(role).catch(() => {});
    const schema = await freshSchema();
    const password = "s3cret";
    const cases = [
      [{ username: "guarded", password }, "refused the user or the password", "Check the user"],
      [{ port: "1", password }, "cannot be reached: no server listens there", "Check the host"],
      [{ pathname: "/nowhere", password }, "does not exist", "Create the database"],
      [{ username: "powerless", password }, "does not allow this user to do that", "Grant"],
      [{ username: "reader", password }, "is read-only", "Connect to the primary server."],
    ] as const;
    for (const [change, said, hint] of cases) {
      const connectionString = await addressFor(change);
      const error = await failure(
        (await openDatabase({ schema, connectionString })).rows("select 1"),
      );
      expect(error.code).toBe("SESSION_STORE_ERROR");
      expect(error.message).toContain(said);
      expect(error.message.replace(/^The store failed\. /, "")).toMatch(
        /^postgres:\/\/127[^\n]*\.$/,
      );
      expect(error.hint).toContain(hint);
      expect(inspect(error, { depth: 9 })).not.toContain(password);
    }
  });

  test("a text that is no address is refused without repeating it", () => {
    for (const connectionString of [
      "",
      "s3cret",
      "host=db password=s3cret",
      "mysql://root:s3cret@db/x",
      "postgres://root:s3cret@:port/x",
      "postgres:/s3cret",
      "postgres:s3cret",
      " postgres://root:s3cret@db/x",
      "postgres://root:s3cret/@db/x",
      "postgres://root:/s3cret@db/x",
      "postgres://root:5432/s3cret@db/x",
      "postgres://root:#s3cret@db/x",
    ]) {
      const error = thrownBy(() => new PostgresDatabase({ connectionString }));
      expect(error.code).toBe("INVALID_PARAMS");
      expect(error.message).toBe("The connection string is not an address of PostgreSQL.");
      expect(inspect(error)).not.toContain("s3cret");
    }
  });

  test("an address that would not do what it seems to say is refused, and says why", () => {
    const cases = [
      [
        "db1:5432,db2:5432/x",
        "The connection string names several hosts, and rkat connects to one.",
      ],
      ["db/x?shema=a", "In the address of the store, one parameter looks like schema, and is not."],
      [
        "db/x?Namespace=a",
        "In the address of the store, one parameter looks like namespace, and is not.",
      ],
      ["db/x?schema=a&schema=b", "In the address of the store, schema is there twice."],
      ["db/x?schema=a?namespace=b", "In the address of the store, it has a second question mark."],
    ];
    for (const [rest = "", message] of cases) {
      const error = thrownBy(() => postgresAddress(`postgres://root:s3,cret@${rest}`));
      expect([error.code, error.message]).toEqual(["INVALID_PARAMS", message]);
      expect(inspect(error)).not.toContain("s3,cret");
    }
    const others = "application_name=a&channel_binding=require&pgbouncer=true&options=-c%20x%3Dy";
    const kept = postgresAddress(`postgres://root:s3,cret@db/x?${others}&schema=a`);
    expect(new URL(kept.connectionString).searchParams.size).toBe(4);
    for (const schema of ["pg_mine", "PG_CATALOG", "information_schema"]) {
      const error = thrownBy(
        () => new PostgresDatabase({ connectionString: "postgres://db/x", schema }),
      );
      expect([error.code, error.message]).toEqual([
        "INVALID_PARAMS",
        "PostgreSQL keeps information_schema, and names that begin with pg_, for itself.",
      ]);
    }
  });

  test("messages name a socket and a file as what they are", async () => {
    const socket = await openDatabase({
      connectionString: "postgres://root:s3cret@/x?host=/nowhere/at-all&port=6543",
    });
    expect((await failure(socket.rows("select 1"))).message).toContain(
      "postgres://%2Fnowhere%2Fat-all:6543/x cannot be reached: there is no such socket (ENOENT).",
    );
    const file = await openDatabase({
      connectionString:
        "postgres://root:s3cret@db/x?sslmode=verify-full&sslrootcert=/nowhere/ca.pem",
    });
    const error = await failure(file.rows("select 1"));
    expect(error.message).toContain(
      "A file that the address of postgres://db/x names cannot be read (ENOENT).",
    );
    expect(error.hint).toContain("sslrootcert");
  });

  test("an old server, a replica without tables and a database that lacks characters are refused", async () => {
    const answering = (server: object) => ({
      async query({ text }: { readonly text: string }) {
        if (text.includes("server_version_num")) return { rows: [server] };
        throw Object.assign(new Error("no such table"), { code: "42P01" });
      },
      connect: () => expect.fail("It was used all the same."),
      end: async () => {},
    });
    const old = await openDatabase({
      pool: answering({ number: 140_009, version: "14.9", replica: false }),
    });
    expect((await failure(old.rows("select 1"))).message).toContain(
      "is PostgreSQL 14.9; rkat needs 15 or newer.",
    );
    const replica = await openDatabase({
      pool: answering({ number: 160_000, version: "16.0", replica: true }),
    });
    expect((await failure(replica.rows("select 1"))).message).toContain("is a replica");
    const narrow = await openDatabase({
      pool: answering({ number: 160_000, version: "16.0", replica: false, encoding: "LATIN1" }),
    });
    expect((await failure(narrow.rows("select 1"))).message).toContain("has the encoding LATIN1");
  });

  test("commits without answers are asked for although they had all connections of the pool", async () => {
    const connectionString = await postgresUrl();
    const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 2000 });
    onTestFinished(() => pool.end());
    let loses = false;
    const database = await openDatabase({
      pool: losingCommits(pool, () => loses),
    });
    await database.rows("select 1");
    loses = true;
    const add = "insert into rkat.migration (version, usable_from) values ($1, 0)";
    const versions = [NEXT, NEXT + 1, NEXT + 2, NEXT + 3];
    await Promise.all(
      versions.map((version) => database.write((statements) => statements.change(add, version))),
    );
    const rows = await database.rows(
      `select version from rkat.migration where version > ${CURRENT_TABLES}`,
    );
    expect(rows).toHaveLength(versions.length);
  });

  test("values come back as rkat writes them", async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    for (const output of ["hex", "escape"]) {
      const connectionString = await addressWith(`bytea_output=${output}`);
      const row = await (await openDatabase({ connectionString })).row(
        `select 9007199254740991::int8 as large, count(*) as count, $1::bytea as bytes,
           true as yes, 1.5::float8 as half, null as nothing, '{"a":1}'::json as json`,
        bytes,
      );
      expect(row).toEqual({
        large: Number.MAX_SAFE_INTEGER,
        count: 1,
        bytes,
        yes: true,
        half: 1.5,
        nothing: null,
        json: '{"a":1}',
      });
    }
  });

  test("a schema may have any name", async () => {
    const odd = `it's "$&" and $$ ${process.pid}`;
    const [url, admin] = [await postgresUrl(), await postgresPool()];
    onTestFinished(async () => void (await admin.query(`drop schema ${quoted(odd)} cascade`)));
    const database = await openDatabase({ connectionString: url, schema: odd });
    await database.change("update rkat.position_shift set server = 'another'");
    await database.change(
      "insert into rkat.approval (namespace, id, session_id, approval) values ('n', 'i', 's', 'a')",
    );
    await (await openDatabase({ connectionString: url, schema: odd })).rows("select 1");
    const { rows } = await admin.query("select from pg_namespace where nspname = $1", [odd]);
    expect(rows).toHaveLength(1);
  });
});

/** The pool of `pg`, which calls before anything else happens. */
interface CallingPool {
  connect(done: (error: unknown, client: EventEmitter, release: () => void) => void): void;
  end(): Promise<void>;
}

/** The pool, with commits whose answers are lost. */
function losingCommits(
  pool: Pick<PostgresPool, "query" | "connect" | "end">,
  isLost: () => boolean,
): PostgresPool {
  return {
    query: (statement) => pool.query(statement),
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      return {
        async query(statement) {
          const result = await client.query(statement);
          if (statement.text !== "commit" || !isLost()) return result;
          throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
        },
        release: (error) => client.release(error),
      };
    },
  };
}
