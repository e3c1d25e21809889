import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
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
    const again = await project.json(["move", "--to", "back.db", "--json"]);
    expect(again).toEqual({ ...(there as object), to: file });
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

test("a store that somebody else made is moved only if you say so, and your own one always", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  await project.rkat(["run", "The harbour is closed on Mondays."]);
  const own = { RKAT_TRUST: "" };
  await project.rkat(["trust"]);
  const args = ["move", "--to", "copies/second.db"];
  expect(await project.rkat(args, "", own)).toMatchObject({ code: 0 });
  // The same command goes on, and the way back is open.
  expect(await project.rkat(args, "", own)).toMatchObject({ code: 0 });
  const back = ["move", "--from", "copies/second.db", "--to", ".rkat/rkat.db"];
  expect(await project.rkat(back, "", own)).toMatchObject({ code: 0 });
  // What git and `unzip` bring is another file.
  mkdirSync(join(project.folder, "vendor", ".rkat"), { recursive: true });
  for (const brought of ["vendor/theirs.db", "vendor/.rkat/rkat.db"]) {
    copyFileSync(join(project.folder, "copies/second.db"), join(project.folder, brought));
    for (const move of [
      ["move", "--from", brought, "--to", ".rkat/rkat.db"],
      ["move", "--to", brought],
    ]) {
      const { code, stderr } = await project.rkat(move, "", own);
      expect([code, stderr]).toEqual([
        expect.not.toBeOneOf([0]),
        expect.stringMatching(/ was not made by you on this machine\.[\s\S]*--trust/),
      ]);
    }
    const trusted = ["move", "--from", brought, "--to", ".rkat/rkat.db", "--trust"];
    expect(await project.rkat(trusted, "", own)).toMatchObject({ code: 0 });
  }
});
