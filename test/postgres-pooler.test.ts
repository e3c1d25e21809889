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
import { freshSchema, hasPostgres, postgresPlace, postgresUrl } from "./support/postgres.ts";

const TURNS = 20;

describe.skipIf(!hasPostgres).each(PREPARED_STATEMENTS)(
  "through PgBouncer in transaction mode, with %i prepared statements",
  (prepared) => {
    let started: Promise<string> | undefined;
    const pooler = () => {
      started ??= startPooler(prepared);
      return started;
    };
    const opened = async (place: string) => {
      const { schema } = await postgresPlace();
      const stores = postgresStores({ connectionString: await pooler(), schema, namespace: place });
      onTestFinished(() => stores.close());
      return stores;
    };
    const subject = <T>(name: string, store: (stores: Stores) => T) => [
      { name, durable: true, open: async (place: string) => store(await opened(place)) },
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

    test("processes that share a session lose nothing, and write nothing twice", async () => {
      const crowd = await ConversingCrowd.start({
        url: await postgresUrl(),
        writersUrl: await pooler(),
        schema: await freshSchema(),
        writers: 4,
      });
      await crowd.seesMore(TURNS * 5);
      expect(crowd.failures).toEqual([]);
      await crowd.assertWhole();
    });
  },
);
