import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { CURRENT_TABLES } from "../src/stores/postgres/migrations.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPool,
  postgresUrl,
} from "./support/postgres.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";

const PASSWORD = "s3cret";

/** The address of a schema of its own, with a password that the server does not ask for. */
async function storeAddress(): Promise<string> {
  const url = new URL(await postgresUrl());
  url.password = PASSWORD;
  url.searchParams.set("schema", await freshSchema());
  url.searchParams.set("namespace", "shop");
  return url.href;
}

describe.skipIf(!hasPostgres)("the command on PostgreSQL", NEEDS_POSTGRES, () => {
  // The server starts with the first test that asks for it.
  beforeAll(() => postgresUrl());

  test("what one project stores is found from another folder, and no file of a store is made", async () => {
    const RKAT_STORE = await storeAddress();
    const provider = await providerForTest();
    const here = await Project.open({ provider });
    const there = await Project.open({ provider });
    const ran = await here.rkat(["run", "The kettle is made of copper."], "", { RKAT_STORE });
    expect(ran.stderr).not.toContain(PASSWORD);
    expect(ran.code).toBe(0);
    const found = await there.rkat(["memory", "search", "copper kettle", "--json"], "", {
      RKAT_STORE,
    });
    expect(found.stdout).toContain("The kettle is made of copper.");
    const said = await there.rkat(["--store", RKAT_STORE, "history", "search", "kettle"]);
    expect(said.stdout).toContain("copper");
    expect(existsSync(join(here.folder, ".rkat/rkat.db"))).toBe(false);
    expect((await there.rkat(["history", "search", "kettle"])).stdout).not.toContain("copper");
  });

  test("`repair` needs no folder of the project, and `sessions project` makes it", async () => {
    const RKAT_STORE = await storeAddress();
    const provider = await providerForTest();
    const elsewhere = await Project.open({ provider });
    await elsewhere.rkat(["run", "The kettle is made of copper."], "", { RKAT_STORE });
    const project = await Project.open();
    const repaired = await project.rkat(["repair"], "", { RKAT_STORE });
    expect(repaired.stdout).toContain("Every event can be read.");
    expect(existsSync(join(project.folder, ".rkat"))).toBe(false);
    const written = await project.rkat(["sessions", "project", "--json"], "", { RKAT_STORE });
    expect(written.code).toBe(0);
    expect(JSON.parse(written.stdout)).toMatchObject({ sessions: 1 });
  });

  test("what to type next names the same store, without its password", async () => {
    const store = await storeAddress();
    const project = await Project.open();
    const { stderr } = await project.rkat(["--store", store, "sessions", "show", "nosuch"]);
    expect(stderr).toContain(`rkat --store '${store.replace(PASSWORD, "***")}' sessions list`);
    expect(stderr).not.toContain(PASSWORD);
  });

  test("`doctor` looks at the server, and neither it nor `config` shows the password", async () => {
    const RKAT_STORE = await storeAddress();
    const project = await Project.open();
    const { code, stdout } = await project.rkat(["doctor"], "", { RKAT_STORE });
    for (const name of [
      "store",
      "postgres",
      "connections",
      "autovacuum",
      "partitions",
      "transactions",
    ]) {
      expect(stdout).toMatch(new RegExp(`^✓ ${name} `, "m"));
    }
    expect(code).toBe(0);
    const shown = [
      stdout,
      ...(await Promise.all(
        [["config"], ["config", "--json"], ["sessions", "list"]].map(async (command) => {
          const ended = await project.rkat(command, "", { RKAT_STORE });
          return ended.stdout + ended.stderr;
        }),
      )),
    ].join("");
    expect(shown).toContain("postgres://***@127.0.0.1");
    expect(shown).not.toContain(PASSWORD);
  });

  test("what the server refuses is one sentence with the way out, and exit code 1", async () => {
    const pool = await postgresPool();
    for (const role of [
      "create role guarded login password 'right'",
      "create role powerless login",
      "create role reader login superuser",
      "alter role reader set default_transaction_read_only = on",
    ]) {
      await pool.query(role).catch(() => {});
    }
    const newer = await storeAddress();
    const project = await Project.open();
    await project.rkat(["doctor"], "", { RKAT_STORE: newer });
    const schema = new URL(newer).searchParams.get("schema");
    const later = CURRENT_TABLES + 1;
    const insert = `insert into "${schema}".migration (version, usable_from) values ($1, $1)`;
    await pool.query(insert, [later]);
    const cases = [
      [{ username: "guarded" }, "refused the user or the password"],
      [{ username: "powerless" }, "does not allow this user to do that"],
      [{ username: "reader" }, "is read-only"],
      [{ pathname: "/nowhere" }, "does not exist"],
      [{ hostname: "nowhere.invalid" }, "cannot be reached: the host name"],
    ] as const;
    const asked = await Promise.all(
      cases.map(async ([change, said]) => [
        Object.assign(new URL(await storeAddress()), change).href,
        said,
      ]),
    );
    for (const [RKAT_STORE = "", said] of [...asked, [newer, "were made by a newer rkat"]]) {
      const { code, stderr } = await project.rkat(["sessions", "list"], "", { RKAT_STORE });
      expect(code).toBe(1);
      expect(stderr.match(/^error: .*$/gm)).toEqual([expect.stringContaining(said as string)]);
      expect(stderr.match(/^hint: .*$/gm)).toHaveLength(1);
      expect(stderr).not.toContain("warning:");
      expect(stderr).not.toContain(PASSWORD);
    }
  });

  test("a server that is not there is one sentence with the way out, and exit code 1", async () => {
    const project = await Project.open();
    const RKAT_STORE = `postgres://rkat:${PASSWORD}@127.0.0.1:1/x`;
    const { code, stderr } = await project.rkat(["sessions", "list"], "", { RKAT_STORE });
    expect(code).toBe(1);
    const said = "cannot be reached: no server listens there (ECONNREFUSED).";
    expect(stderr.split(said)).toHaveLength(2);
    expect(stderr).not.toContain(PASSWORD);
    const doctor = await project.rkat(["doctor"], "", { RKAT_STORE });
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(/^✗ store .*reached/m)]);
  });
});

test.each([`mysql://root:${PASSWORD}@db/x`, `host=db password=${PASSWORD}`])(
  "what is no address of PostgreSQL is refused without showing a password (%s)",
  async (RKAT_STORE) => {
    const project = await Project.open();
    const { code, stderr } = await project.rkat(["sessions", "list"], "", { RKAT_STORE });
    expect(code).toBe(3);
    expect(stderr).toContain("must be an address such as");
    expect(stderr).not.toContain(PASSWORD);
  },
);

test("a part of the address that cannot be is named", async () => {
  const project = await Project.open();
  for (const [query, said] of [
    ["namespace=", "The namespace is empty."],
    ["notify=1", "In the address of the store, notify has to be true or false."],
    ["schema=a.b", "The schema's name has to have 1 to 63 bytes, and no dot."],
  ]) {
    const RKAT_STORE = `postgres://rkat:${PASSWORD}@127.0.0.1:1/x?${query}`;
    const { code, stderr } = await project.rkat(["sessions", "list"], "", { RKAT_STORE });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`error: ${said}`)]);
    expect(stderr).not.toContain(PASSWORD);
  }
});

test("a stranger's file that names a database is ignored, and no trust would help", async () => {
  const project = await Project.open({ config: 'store = "postgres://attacker@example.org/x"' });
  const { code, stdout, stderr } = await project.rkat(["config"], "", { RKAT_TRUST: "" });
  expect(code).toBe(0);
  expect(stderr).toContain("ignored store, because it decides where your words go.");
  expect(stdout + stderr).not.toContain("attacker");
  expect(stderr).not.toContain("rkat trust");
});

test("a project's file does not decide where words go, not even a trusted one", async () => {
  const project = await Project.open({ config: 'store = "postgres://attacker@example.org/x"' });
  const trusted = await project.rkat(["sessions", "list"]);
  expect(trusted.code).toBe(3);
  expect(trusted.stderr).toContain("store must not be set by a project's file");
});
