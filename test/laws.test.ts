import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import type { ApprovalStore } from "../src/core/approval-store.ts";
import type { EventStore } from "../src/core/event-store.ts";
import type { KnowledgeStore } from "../src/core/knowledge-store.ts";
import type { SessionStore } from "../src/core/session-store.ts";
import type { Stores } from "../src/core/stores.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { EphemeralApprovalStore } from "../src/stores/ephemeral/ephemeral-approval-store.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralKnowledgeStore } from "../src/stores/ephemeral/ephemeral-knowledge-store.ts";
import { EphemeralSessionStore } from "../src/stores/ephemeral/ephemeral-session-store.ts";
import { ephemeralStores } from "../src/stores/ephemeral/ephemeral-stores.ts";
import { PostgresApprovalStore } from "../src/stores/postgres/postgres-approval-store.ts";
import type { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresEventStore } from "../src/stores/postgres/postgres-event-store.ts";
import { PostgresKnowledgeStore } from "../src/stores/postgres/postgres-knowledge-store.ts";
import { PostgresSessionStore } from "../src/stores/postgres/postgres-session-store.ts";
import { type Database, openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteApprovalStore } from "../src/stores/sqlite/sqlite-approval-store.ts";
import { SqliteEventStore } from "../src/stores/sqlite/sqlite-event-store.ts";
import { SqliteKnowledgeStore } from "../src/stores/sqlite/sqlite-knowledge-store.ts";
import { SqliteSessionStore } from "../src/stores/sqlite/sqlite-session-store.ts";
import {
  approvalStoreLaws,
  eventStoreLaws,
  knowledgeStoreLaws,
  sessionStoreLaws,
  usersLaws,
} from "../src/testing.ts";
import { copyingDatabase } from "./support/copying-database.ts";
import { obey } from "./support/obey.ts";
import { hasPostgres, postgresDatabase } from "./support/postgres.ts";
import { LONG } from "./support/trials.ts";

const OPEN = {
  "main thread": (path: string) => openDatabase({ path }),
  "as in a worker thread": (path: string) => copyingDatabase(openDatabase({ path })),
  ...(LONG ? { "worker thread": (path: string) => openDatabase({ path, thread: "worker" }) } : {}),
};
/** A subject on PostgreSQL: each place is a namespace of its own. */
const onPostgres = <T>(make: (database: PostgresDatabase, namespace: string) => T) =>
  hasPostgres
    ? [
        {
          name: "postgres",
          durable: true,
          open: async (place: string) => make(await postgresDatabase(), place),
        },
      ]
    : [];

const THREADS = Object.entries(OPEN);

describe("EventStore", () => {
  obey<EventStore>(eventStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralEventStore() },
    { name: "sqlite without a file", durable: false, open: async () => inMemory().events },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      open: async (place: string) => new SqliteEventStore(databaseIn(place, open)),
    })),
    ...onPostgres((database, namespace) => new PostgresEventStore(database, { namespace })),
  ]);
});

describe("SessionStore", () => {
  obey<SessionStore>(sessionStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralSessionStore() },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      open: async (place: string) => new SqliteSessionStore(databaseIn(place, open)),
    })),
    ...onPostgres((database, namespace) => new PostgresSessionStore(database, { namespace })),
  ]);
});

describe("ApprovalStore", () => {
  obey<ApprovalStore>(approvalStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralApprovalStore() },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      open: async (place: string) => new SqliteApprovalStore(databaseIn(place, open)),
    })),
    ...onPostgres((database, namespace) => new PostgresApprovalStore(database, { namespace })),
  ]);
});

describe("KnowledgeStore", () => {
  obey<KnowledgeStore>(knowledgeStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralKnowledgeStore() },
    { name: "sqlite without a file", durable: false, open: async () => inMemory().knowledge },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      open: async (place: string) => new SqliteKnowledgeStore(databaseIn(place, open)),
    })),
    ...onPostgres((database, namespace) => new PostgresKnowledgeStore(database, { namespace })),
  ]);
});

describe("Stores of users", () => {
  obey<Stores>(usersLaws, [
    { name: "ephemeral", durable: false, open: async () => ephemeralStores() },
    { name: "sqlite without a file", durable: false, open: async () => inMemory() },
    {
      name: "sqlite",
      durable: true,
      open: async (place) => openedIn(place),
    },
  ]);
});

describe("the stores of a user", () => {
  const ada = async (place: string) => openedIn(place).forUser("ada");
  const sqlite = { name: "sqlite", durable: true };
  obey(eventStoreLaws, [{ ...sqlite, open: async (place) => (await ada(place)).events }]);
  obey(sessionStoreLaws, [{ ...sqlite, open: async (place) => (await ada(place)).sessions }]);
  obey(approvalStoreLaws, [{ ...sqlite, open: async (place) => (await ada(place)).approvals }]);
  obey(knowledgeStoreLaws, [{ ...sqlite, open: async (place) => (await ada(place)).knowledge }]);
});

function openedIn(place: string) {
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  onTestFinished(() => stores.close());
  return stores;
}

function inMemory() {
  const stores = sqliteStores({ path: ":memory:" });
  onTestFinished(() => stores.close());
  return stores;
}

function databaseIn(place: string, open: (path: string) => Database): Database {
  const database = open(join(place, "rkat.db"));
  onTestFinished(() => database.close());
  return database;
}
