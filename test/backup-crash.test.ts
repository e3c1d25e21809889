import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { newId } from "../src/core/ids.ts";
import { postgresStores } from "../src/postgres.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { postgresAddress } from "../src/stores/postgres/server-address.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";
import { Project } from "./support/rkat-process.ts";
import { LONG, trials } from "./support/trials.ts";

const TRIALS = trials(1, 30, "crash points");
const EVENTS = LONG ? 4_000 : 300;

async function filledProject(): Promise<Project> {
  const project = await Project.open();
  await project.rkat(["memory", "add", "The harbour is closed on Mondays."]);
  const stores = sqliteStores({ path: join(project.folder, ".rkat/rkat.db") });
  const batch = Array.from({ length: EVENTS }, (_, at) => ({
    event_id: newId(),
    timestamp_ms: at,
    event: { type: "text_complete" as const, content: `word-${at} `.repeat(100) },
  }));
  await stores.events.append("one", 0, batch);
  await stores.forUser("ada").events.append("two", 0, batch.slice(0, 100));
  await stores.close();
  return project;
}

/** Starts a command, and kills it when it is in the middle: some time after `isBegun`. */
async function killed(project: Project, args: readonly string[], isBegun: () => boolean) {
  const { child, ended } = project.start(args);
  while (!isBegun() && child.exitCode === null) await sleep(2);
  await sleep(Math.random() * (LONG ? 60 : 10));
  child.kill("SIGKILL");
  await ended;
}

const isUnfinished = (folder: string) =>
  existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".unfinished"));

async function contentOf(stores: Stores): Promise<unknown> {
  const all = [stores, stores.forUser("ada")];
  const content = await Promise.all(
    all.map(async ({ events, memory }) => ({
      events: (await events.readAll(0, 1e6)).map(({ sessionId, stored }) => ({
        sessionId,
        stored,
      })),
      memory: (await memory.list({ limit: 1e6 })).map(({ id }) => id).sort(),
    })),
  );
  await stores.close();
  return content;
}

const contentIn = (folder: string) =>
  contentOf(sqliteStores({ path: join(folder, ".rkat/rkat.db") }));

// Each takes over two seconds: it starts processes, and kills half of them.
describe("killed in the middle", () => {
  test(
    `a backup leaves no file, and the next one leaves nothing else, ${TRIALS} times`,
    async () => {
      const project = await filledProject();
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const place = join(project.folder, `backups-${trial}`);
        const file = join(place, "shop.backup");
        await killed(project, ["backup", file], () => isUnfinished(place));
        // Killed too late, it is whole.
        const isWritten = existsSync(file);
        const args = isWritten ? ["backup", file, "--force"] : ["backup", file];
        expect(await project.rkat(args)).toMatchObject({ code: 0 });
        expect(readdirSync(place)).toEqual(["shop.backup"]);
        const compared = await project.json(["restore", file, "--compare", "--json"]);
        expect(compared).toMatchObject({ same: true });
      }
    },
    60_000 * TRIALS,
  );

  test(
    `a restore leaves no store or a whole one, ${TRIALS} times`,
    async () => {
      const project = await filledProject();
      const expected = await contentIn(project.folder);
      const file = join(project.folder, "shop.backup");
      await project.rkat(["backup", file]);
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const folder = join(project.folder, `there-${trial}`);
        const args = ["--dir", folder, "restore", file];
        await killed(project, args, () => isUnfinished(join(folder, ".rkat")));
        if (!existsSync(join(folder, ".rkat/rkat.db"))) {
          expect(await project.rkat(args)).toMatchObject({ code: 0 });
          expect(isUnfinished(join(folder, ".rkat"))).toBe(false);
        }
        expect(await contentIn(folder)).toEqual(expected);
      }
    },
    60_000 * TRIALS,
  );

  test(
    `an import of an export goes on when it is run again, ${TRIALS} times`,
    async () => {
      const project = await filledProject();
      const expected = await contentIn(project.folder);
      const file = join(project.folder, "shop.jsonl");
      await project.rkat(["export", file]);
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const folder = join(project.folder, `imported-${trial}`);
        const args = ["--dir", folder, "import", file];
        await killed(project, args, () => existsSync(join(folder, ".rkat/rkat.db")));
        expect(await project.rkat(args)).toMatchObject({ code: 0 });
        expect(await contentIn(folder)).toEqual(expected);
      }
    },
    60_000 * TRIALS,
  );

  test.skipIf(!hasPostgres)(
    `a restore into PostgreSQL leaves nothing or all of it, and goes on when it is run again, ${TRIALS} times`,
    { ...NEEDS_POSTGRES, timeout: 60_000 * TRIALS },
    async () => {
      const project = await filledProject();
      const expected = await contentIn(project.folder);
      const nothing = await contentOf(sqliteStores({ path: ":memory:" }));
      const file = join(project.folder, "shop.backup");
      await project.rkat(["backup", file]);
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const url = new URL(await postgresUrl());
        url.searchParams.set("schema", await freshSchema());
        // The events of another name are in another partition.
        if (trial % 2 === 1) url.searchParams.set("partitions", "4");
        const args = ["--store", url.href, "restore", file];
        const start = Date.now();
        await killed(project, args, () => Date.now() - start > 400 + Math.random() * 600);
        const left = await contentOf(postgresStores(postgresAddress(url.href)));
        expect([nothing, expected]).toContainEqual(left);
        const again = await project.rkat(args);
        // Killed too late, it was whole.
        expect(again.code === 0 || again.stderr.includes("Nothing was restored over it")).toBe(
          true,
        );
        expect(await contentOf(postgresStores(postgresAddress(url.href)))).toEqual(expected);
      }
    },
  );
});
