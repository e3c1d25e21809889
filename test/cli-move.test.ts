import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";

/** An address whose schema no other test uses. */
async function newAddress(): Promise<string> {
  const schema = await freshSchema();
  const client = new (await import("pg")).default.Client({
    connectionString: await postgresUrl(),
  });
  await client.connect();
  await client.query(`create database "${schema}"`);
  await client.end();
  const url = new URL(await postgresUrl());
  url.pathname = `/${encodeURIComponent(schema)}`;
  return url.href;
}

test.skipIf(!hasPostgres)(
  "a project goes to PostgreSQL and comes back",
  NEEDS_POSTGRES,
  async () => {
    const project = await Project.open({ provider: await providerForTest() });
    await project.rkat(["run", "The harbour is closed on Mondays."]);
    const address = await newAddress();
    const there = await project.json(["move", "--to", address, "--json"]);
    expect(there).toMatchObject({ sessions: 1, users: 0 });
    const file = join(project.folder, "back.db");
    const back = await project.rkat(["move", "--from", address, "--to", file]);
    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toMatch(/^Both stores have the same: 1 session, /);
    expect(await project.json(["move", "--to", file, "--json"])).toEqual(there);
    expect(readFileSync(file).includes("harbour")).toBe(true);
  },
);

test("a store that is not there is not moved, and none is made", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  const { code, stderr } = await project.rkat(["move", "--to", join(project.folder, "new.db")]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("There is no store at ");
});

test("a move says where the second store is, whatever --dir names", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  await project.rkat(["run", "hello"]);
  const args = ["--dir", project.folder, "move", "--to", "copies/second.db"];
  const { code, stdout, stderr } = await project.rkat(args);
  const second = join(project.folder, "copies", "second.db");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`\nThe second store is ${second}. The first one is unchanged.\n`);
});

test("a store is not moved into itself", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  await project.rkat(["run", "hello"]);
  symlinkSync(".rkat/rkat.db", join(project.folder, "link.db"));
  for (const same of [".rkat/rkat.db", "link.db"]) {
    const { code, stderr } = await project.rkat(["move", "--to", same]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("Both stores are the same.")]);
  }
});
