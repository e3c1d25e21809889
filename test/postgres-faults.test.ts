import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import { ConversingCrowd } from "./support/conversing-crowd.ts";
import { cuttingProxy } from "./support/cutting-proxy.ts";
import {
  freshSchema,
  hasPostgres,
  postgresPool,
  postgresUrl,
  startCluster,
} from "./support/postgres.ts";
import { LONG, trials } from "./support/trials.ts";

const KILLS = trials(4, 1000);
const CRASHES = trials(2, 50);
const TERMINATIONS = trials(10, 200);
const CUTS = trials(10, 300);
const WRITERS = trials(3, 8);
/** Kills between two checks of the logs. */
const KILLS_OF_A_CHECK = 50;

/** Settings of a server that loses nothing of what it acknowledged. */
const SAFE = ["fsync=on", "full_page_writes=on", "synchronous_commit=on"];

describe.skipIf(!hasPostgres)("sessions on PostgreSQL", () => {
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
      writers: WRITERS,
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
      writers: WRITERS,
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
    const writersUrl = new URL(url);
    writersUrl.port = String(proxy.port);
    const crowd = await ConversingCrowd.start({
      url: url.href,
      writersUrl: writersUrl.href,
      schema: await freshSchema(),
      writers: WRITERS,
      pauseMs: 2,
    });
    while (proxy.cuts < CUTS) {
      await crowd.seesMore(10);
      await crowd.follow();
    }
    report(`${proxy.cuts} cuts`, crowd);
    assert.deepEqual(crowd.failures, []);
    await crowd.assertWhole();
  });
});

/** How much happened, for whoever runs the long form. */
function report(what: string, crowd: ConversingCrowd): void {
  if (LONG) console.log(`${what}; ${crowd.events} events were seen`);
}
