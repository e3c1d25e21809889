import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Stores } from "../src/core/stores.ts";
import { postgresStores } from "../src/postgres.ts";
import {
  approvalStoreLaws,
  eventStoreLaws,
  knowledgeStoreLaws,
  leaseLaws,
  memoryStoreLaws,
  sessionStoreLaws,
  usersLaws,
} from "../src/testing.ts";
import { ConversingCrowd } from "./support/conversing-crowd.ts";
import { obey } from "./support/obey.ts";
import { PREPARED_STATEMENTS, startPooler } from "./support/pooler.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPlace,
  postgresUrl,
} from "./support/postgres.ts";
import { LONG, type Part } from "./support/trials.ts";

/** A part of each kind's laws in the short form: a pool of one keeps others than a pooler. */
const PARTS = { one: { of: 6, at: 1 }, pooler: { of: 6, at: 4 } } as const;

/** Opens stores of their own for each place. */
type Open = (place: string) => Promise<Stores>;

/** In test/laws.test.ts and test/memory-laws.test.ts stores with a pool of their own keep more of the laws, and all in the long form. */
function obeyAll(open: Open, part: Part): void {
  const subject = <T>(name: string, store: (stores: Stores) => T) => [
    { name, durable: true, part, open: async (place: string) => store(await open(place)) },
  ];
  obey(
    eventStoreLaws,
    subject("events", ({ events }) => events),
  );
  obey(
    sessionStoreLaws,
    subject("sessions", ({ sessions }) => sessions),
  );
  obey(
    memoryStoreLaws,
    subject("memory", ({ memory }) => memory),
  );
  obey(
    approvalStoreLaws,
    subject("approvals", ({ approvals }) => approvals),
  );
  obey(
    knowledgeStoreLaws,
    subject("knowledge", ({ knowledge }) => knowledge),
  );
  obey(
    leaseLaws,
    subject("leases", (stores) => stores),
  );
  obey(
    usersLaws,
    subject("users", (stores) => stores),
  );
}

describe.skipIf(!hasPostgres).each(PREPARED_STATEMENTS)(
  "through PgBouncer in transaction mode, with %i prepared statements",
  NEEDS_POSTGRES,
  (prepared) => {
    let started: Promise<string> | undefined;
    const pooler = () => {
      started ??= startPooler(prepared);
      return started;
    };
    obeyAll(async (place) => {
      const { schema } = await postgresPlace();
      const stores = postgresStores({
        connectionString: await pooler(),
        schema,
        namespace: place,
      });
      onTestFinished(() => stores.close());
      return stores;
    }, PARTS.pooler);

    // On one core, the processes take a minute to start and to say what they have to.
    test("processes that share a session lose nothing, and write nothing twice", {
      timeout: 180_000,
    }, async () => {
      const crowd = await ConversingCrowd.start({
        url: await postgresUrl(),
        writersUrl: await pooler(),
        schema: await freshSchema(),
        writers: LONG ? 4 : 2,
      });
      await crowd.seesMore(LONG ? 100 : 40);
      expect(crowd.failures).toEqual([]);
      await crowd.assertWhole();
    });
  },
);

describe.skipIf(!hasPostgres)("on a pool of one connection", NEEDS_POSTGRES, () => {
  obeyAll(async (place) => {
    const { connectionString, schema } = await postgresPlace();
    const pool = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis: 10_000 });
    const stores = postgresStores({ pool, schema, namespace: place });
    onTestFinished(async () => {
      await stores.close();
      await pool.end();
    });
    return stores;
  }, PARTS.one);
});
