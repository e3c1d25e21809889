import assert from "node:assert/strict";
import { chownSync, closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { ConversingCrowd } from "./support/conversing-crowd.ts";
import { cuttingProxy } from "./support/cutting-proxy.ts";
import { allowWarning } from "./support/expect-warning.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPool,
  postgresUrl,
  startCluster,
} from "./support/postgres.ts";
import { note } from "./support/running-test.ts";
import { stallingProxy } from "./support/stalling-proxy.ts";
import { execFileSync } from "./support/start-process.ts";
import { swallowingProxy } from "./support/swallowing-proxy.ts";
import { LONG, trials } from "./support/trials.ts";

const KILLS = trials(1, 1000, "crash points");
const CRASHES = trials(1, 50, "crash points");
const TERMINATIONS = trials(2, 200, "crash points");
const CUTS = trials(2, 300, "crash points");
const STALLS = trials(1, 60, "crash points");
/** Processes of the test with stalls. */
const STALLED = LONG ? 4 : 2;
/** One in so many stalls is longer than a lease. */
const LONG_STALL = { every: 20, ms: 17_000 } as const;
const FULL_DISKS = trials(1, 10, "crash points");
const WRITERS = LONG ? 8 : 2;
/** Writers of a fault that each writer meets for itself. */
const EACH = LONG ? 8 : 1;
/** Kills between two checks of the logs. */
const KILLS_OF_A_CHECK = 50;

/** Settings of a server that loses nothing of what it acknowledged. */
const SAFE = ["fsync=on", "full_page_writes=on", "synchronous_commit=on"];

describe.skipIf(!hasPostgres)("sessions on PostgreSQL", NEEDS_POSTGRES, () => {
  // Each takes over two seconds: the writers are processes, and some have a database server of their own.
  test(`survive ${KILLS} times that one of ${WRITERS} writers is killed`, {
    timeout: 60_000 + KILLS * 3000,
  }, async () => {
    const crowd = await ConversingCrowd.start({
      url: await postgresUrl(),
      schema: await freshSchema(),
      writers: WRITERS,
      pauseMs: LONG ? 40 : 5,
    });
    for (let kill = 0; kill < KILLS; kill += 1) {
      await crowd.kill(kill % crowd.size);
      await crowd.seesMore(10);
      await sleep(Math.random() * 60);
      await crowd.follow();
      if (kill % KILLS_OF_A_CHECK === 0) await crowd.assertLogsWhole();
    }
    report(`${KILLS} kills`, crowd);
    assert.deepEqual(crowd.failures, []);
    await crowd.assertWhole();
  });

  test(`survive ${CRASHES} crashes of the server`, {
    timeout: 60_000 + CRASHES * 20_000,
  }, async () => {
    const cluster = await startCluster(SAFE);
    const crowd = await ConversingCrowd.start({
      url: cluster.url,
      schema: "rkat",
      writers: EACH,
      pauseMs: 5,
    });
    for (let crash = 0; crash < CRASHES; crash += 1) {
      await crowd.seesMore(50);
      await sleep(Math.random() * 100);
      await cluster.crash();
      await crowd.seesMore(10);
      await crowd.follow();
      await crowd.assertLogsWhole();
    }
    report(`${CRASHES} crashes`, crowd);
    await crowd.assertWhole();
  });

  test(`survive ${TERMINATIONS} connections that the server ends`, {
    timeout: 60_000 + TERMINATIONS * 2000,
  }, async () => {
    const schema = await freshSchema();
    const own = await postgresPool();
    const url = `${await postgresUrl()}?application_name=crowd`;
    const crowd = await ConversingCrowd.start({
      url: await postgresUrl(),
      writersUrl: url,
      schema,
      writers: EACH,
      pauseMs: 2,
    });
    let ended = 0;
    while (ended < TERMINATIONS) {
      const { rows } = await own.query(
        `select pg_terminate_backend(pid) from (
             select pid from pg_stat_activity where application_name = 'crowd'
             order by (state = 'active') desc, random() limit 1) as one`,
      );
      ended += rows.length;
      await crowd.seesMore(3);
      await crowd.follow();
    }
    report(`${ended} terminations`, crowd);
    assert.deepEqual(crowd.failures, []);
    await crowd.assertWhole();
  });

  test(`survive ${CUTS} cuts of the network around a commit`, {
    timeout: 60_000 + CUTS * 3000,
  }, async () => {
    const url = new URL(await postgresUrl());
    const proxy = await cuttingProxy(Number(url.port), [".event (", "commit"], 0.05);
    const crowd = await crowdBehind(proxy, EACH);
    while (proxy.cuts < CUTS) {
      await crowd.seesMore(10);
      await crowd.follow();
    }
    report(`${proxy.cuts} cuts`, crowd);
    assert.deepEqual(crowd.failures, []);
    await crowd.assertWhole();
  });

  test(`of ${STALLED} processes survive ${STALLS} stalls of the network, and memory is complete and once`, {
    timeout: 60_000 + STALLS * 6000,
  }, async () => {
    const url = new URL(await postgresUrl());
    const proxy = await stallingProxy(Number(url.port));
    const crowd = await crowdBehind(proxy, STALLED, { watches: true });
    const server = await postgresPool();
    for (let stall = 1; stall <= STALLS; stall += 1) {
      const isLong = stall % LONG_STALL.every === 0;
      const stalled = proxy.stall(isLong ? LONG_STALL.ms : 50 + 1500 * Math.random());
      await server.query(END_LISTENING);
      await stalled;
      await crowd.seesMore(10);
      await crowd.follow();
    }
    report(`${STALLS} stalls`, crowd);
    await crowd.assertWhole();
  });

  test(`survive a full disk, ${FULL_DISKS} times`, {
    timeout: 60_000 + FULL_DISKS * 30_000,
  }, async ({ skip }) => {
    const disk = smallDisk();
    if (!disk) return skip("Only root can make a small disk.");
    const cluster = await startCluster();
    const url = new URL(cluster.url);
    const server = await postgresPool(url.href);
    chownSync(disk, statSync(cluster.folder).uid, statSync(cluster.folder).gid);
    await server.query(`create tablespace small location '${disk}'`);
    await server.query("create database small tablespace small");
    url.pathname = "/small";
    const crowd = await ConversingCrowd.start({
      url: url.href,
      schema: "rkat",
      writers: EACH,
      pauseMs: 2,
    });
    for (let time = 0; time < FULL_DISKS; time += 1) {
      crowd.failures.length = 0;
      const ballast = fill(disk);
      const isFull = () => crowd.failures.some((line) => line.includes("has no disk space left"));
      await expect.poll(isFull, { timeout: 60_000 }).toBe(true);
      rmSync(ballast);
      await crowd.seesMore(30);
      await crowd.follow();
    }
    report(`${FULL_DISKS} full disks`, crowd);
    await crowd.assertWhole();
  });

  test("survive a pool without a free connection", async () => {
    // What follows the log waits for a connection too.
    allowWarning(/gave no connection in time/);
    const pool = new pg.Pool({
      connectionString: await postgresUrl(),
      max: 2,
      connectionTimeoutMillis: 500,
    });
    const stores = postgresStores({ pool, schema: await freshSchema() });
    const service = createSessionService({ model: scriptedModel([]), stores });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
      await pool.end();
    });
    const { sessionId } = await service.createSession({});
    const held = await Promise.all([pool.connect(), pool.connect()]);
    await expect(service.startTurn({ sessionId, prompt: "too early" })).rejects.toThrow(
      "gave no connection in time: it does not answer, or all connections of the pool are in use.",
    );
    for (const client of held) client.release();

    // How long twenty of them wait for two connections says something of the machine only.
    (
      pool as unknown as { options: { connectionTimeoutMillis: number } }
    ).options.connectionTimeoutMillis = 0;
    const prompts = Array.from({ length: 20 }, (_, index) => `prompt ${index}`);
    const made = await Promise.all(prompts.map(() => service.createSession({})));
    const sessions = [sessionId, ...made.map(({ sessionId }) => sessionId)];
    await Promise.all(
      sessions.map((sessionId) => service.startTurn({ sessionId, prompt: "in time" })),
    );
    for (const sessionId of sessions) {
      const types: string[] = [];
      for await (const { event } of stores.events.read(sessionId, 0)) types.push(event.type);
      assert.equal(types.filter((type) => type === "run_completed").length, 1);
    }
  });
});

// Takes over two seconds: that is how long a session waits for an answer here.
test.skipIf(!hasPostgres)(
  "a network that swallows everything ends a turn with one sentence",
  NEEDS_POSTGRES,
  async () => {
    // What follows the log may meet the network too.
    allowWarning(/The store failed\. The PostgreSQL server/);
    const url = new URL(await postgresUrl());
    const proxy = await swallowingProxy(Number(url.port));
    url.port = String(proxy.port);
    const pool = new pg.Pool({ connectionString: url.href, connectionTimeoutMillis: 1500 });
    pool.on("error", () => {});
    const stores = postgresStores({
      pool,
      schema: await freshSchema(),
      answerMs: 1500,
      retryMs: 1000,
    });
    const service = createSessionService({ model: scriptedModel([]), stores });
    onTestFinished(async () => {
      proxy.swallows = false;
      await service.close();
      await stores.close();
      await pool.end();
    });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "before" });
    proxy.swallows = true;
    const error = await service.startTurn({ sessionId, prompt: "into the void" }).then(
      () => expect.fail("It did not fail."),
      (error) => error,
    );
    expect(error).toMatchObject({ code: "SESSION_STORE_ERROR" });
    expect(error.message).toMatch(
      /^The store failed\. The PostgreSQL server (?:gave no answer in time|gave no connection in time: [^.]*|lost the connection [^.]*)\.$/,
    );
    proxy.swallows = false;
    await expect
      .poll(async () => (await service.startTurn({ sessionId, prompt: "after" })).stopReason)
      .toBe("end_turn");
    const prompts: string[] = [];
    for await (const { event } of stores.events.read(sessionId, 0)) {
      if (event.type === "run_started") prompts.push(event.prompt as string);
    }
    expect(prompts.filter((prompt) => prompt !== "into the void")).toEqual(["before", "after"]);
  },
);

/** Processes that reach the tests' server through a proxy. */
async function crowdBehind(
  { port }: { readonly port: number },
  writers: number,
  options: { readonly watches?: boolean } = {},
): Promise<ConversingCrowd> {
  const url = await postgresUrl();
  const writersUrl = new URL(url);
  writersUrl.port = String(port);
  return await ConversingCrowd.start({
    url,
    writersUrl: writersUrl.href,
    schema: await freshSchema(),
    writers,
    pauseMs: 2,
    ...options,
  });
}

/** The server ends the connections that hear of events. */
const END_LISTENING = `select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen rkat_%'`;

/** How much happened, for the reader of a long run. */
function report(what: string, crowd: ConversingCrowd): void {
  if (LONG) note(`${what}; ${crowd.events} events were seen`);
}

const DISK_BYTES = 64 * 2 ** 20;

/** A file system of its own, gone when the test ends. Only root can make one. */
function smallDisk(): string | undefined {
  const folder = mkdtempSync(join("/tmp", "rkat-disk-"));
  const remove = () => rmSync(folder, { recursive: true });
  try {
    const options = ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", folder];
    execFileSync("mount", options, { stdio: "ignore" });
  } catch {
    remove();
    return undefined;
  }
  onTestFinished(() => {
    execFileSync("umount", ["--lazy", folder]);
    remove();
  });
  return folder;
}

/** Fills a file system with one file, and returns it. */
function fill(folder: string): string {
  const file = join(folder, "ballast");
  const bytes = Buffer.alloc(65_536);
  const open = openSync(file, "w");
  try {
    while (writeSync(open, bytes) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(open);
  }
  return file;
}
