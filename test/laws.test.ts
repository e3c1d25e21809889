import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { openHostService } from "../src/app/host-service.ts";
import type { ApprovalStore } from "../src/core/approval.ts";
import type { EventStore } from "../src/core/event-store.ts";
import type { KnowledgeStore } from "../src/core/knowledge-store.ts";
import type { SessionStore } from "../src/core/session-store.ts";
import type { Stores } from "../src/core/stores.ts";
import { postgresStores } from "../src/postgres.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralKnowledgeStore } from "../src/stores/ephemeral/ephemeral-knowledge-store.ts";
import { EphemeralSessionStore } from "../src/stores/ephemeral/ephemeral-session-store.ts";
import {
  EphemeralApprovalStore,
  ephemeralStores,
} from "../src/stores/ephemeral/ephemeral-stores.ts";
import type { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresEventStore } from "../src/stores/postgres/postgres-event-store.ts";
import { tasksOf as postgresTasks } from "../src/stores/postgres/postgres-tables.ts";
import { sqlStore } from "../src/stores/sql/sql-stores.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { type Database, tasksOf } from "../src/stores/sqlite/database-over.ts";
import { SqliteEventStore } from "../src/stores/sqlite/sqlite-event-store.ts";
import {
  approvalStoreLaws,
  eventStoreLaws,
  importStoreLaws,
  knowledgeStoreLaws,
  leaseLaws,
  type StoresOfImports,
  sessionStoreLaws,
  usersLaws,
} from "../src/testing.ts";
import { copyingDatabase } from "./support/copying-database.ts";
import { type ForgettableRecord, hostRecordLaws } from "./support/host-record-laws.ts";
import { obey } from "./support/obey.ts";
import {
  hasPostgres,
  NEEDS_POSTGRES,
  partitionedAccess,
  postgresAccess,
  postgresDatabase,
} from "./support/postgres.ts";
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
          part: { of: 2, at: 0 },
          open: async (place: string) => make(await postgresDatabase(), place),
        },
      ]
    : [];

/** The file of SQLite on the main thread keeps all laws in the short form, and each other store a part of them. */
const THREADS = Object.entries(OPEN);

describe("EventStore", () => {
  obey<EventStore>(eventStoreLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => new EphemeralEventStore(),
    },
    {
      name: "sqlite without a file",
      durable: false,
      part: { of: 8, at: 2 },
      open: async () => inMemory().events,
    },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      ...(thread === "main thread" ? {} : { part: { of: 8, at: 1 } }),
      open: async (place: string) => new SqliteEventStore(databaseIn(place, open)),
    })),
    ...onPostgres((database, namespace) => new PostgresEventStore(database, { namespace })),
  ]);
});

describe.skipIf(!hasPostgres)("EventStore in partitions", NEEDS_POSTGRES, () => {
  const open = async (namespace: string) => {
    const stores = postgresStores({ ...(await partitionedAccess()), namespace });
    onTestFinished(() => stores.close());
    return stores.events;
  };
  obey<EventStore>(eventStoreLaws, [
    { name: "postgres", durable: true, part: { of: 8, at: 4 }, open },
  ]);
});

describe("SessionStore", () => {
  obey<SessionStore>(sessionStoreLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => new EphemeralSessionStore(),
    },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      ...(thread === "main thread" ? {} : { part: { of: 8, at: 1 } }),
      open: async (place: string) =>
        sqlStore("sessions", "default", tasksOf(databaseIn(place, open))),
    })),
    ...onPostgres((database, namespace) =>
      sqlStore("sessions", namespace, postgresTasks(database)),
    ),
  ]);
});

describe("ApprovalStore", () => {
  obey<ApprovalStore>(approvalStoreLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => new EphemeralApprovalStore(),
    },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      ...(thread === "main thread" ? {} : { part: { of: 5, at: 1 } }),
      open: async (place: string) =>
        sqlStore("approvals", "default", tasksOf(databaseIn(place, open))),
    })),
    ...onPostgres((database, namespace) =>
      sqlStore("approvals", namespace, postgresTasks(database)),
    ),
  ]);
});

describe("KnowledgeStore", () => {
  obey<KnowledgeStore>(knowledgeStoreLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => new EphemeralKnowledgeStore(),
    },
    {
      name: "sqlite without a file",
      durable: false,
      part: { of: 8, at: 2 },
      open: async () => inMemory().knowledge,
    },
    ...THREADS.map(([thread, open]) => ({
      name: `sqlite (${thread})`,
      durable: true,
      ...(thread === "main thread" ? {} : { part: { of: 8, at: 1 } }),
      open: async (place: string) =>
        sqlStore("knowledge", "default", tasksOf(databaseIn(place, open))),
    })),
    ...onPostgres((database, namespace) =>
      sqlStore("knowledge", namespace, postgresTasks(database)),
    ),
  ]);
});

describe("ImportStore", () => {
  obey<StoresOfImports>(importStoreLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => ephemeralStores(),
    },
    {
      name: "sqlite without a file",
      durable: false,
      part: { of: 7, at: 2 },
      open: async () => inMemory(),
    },
    { name: "sqlite", durable: true, open: async (place) => openedIn(place) },
    {
      name: "sqlite in a thread of its own",
      durable: true,
      part: { of: 7, at: 1 },
      open: async (place) => openedIn(place, "worker"),
    },
    ...(hasPostgres
      ? [{ name: "postgres", durable: true, part: { of: 2, at: 0 }, open: openedOnPostgres }]
      : []),
  ]);
});

describe("HostRecord", () => {
  obey<ForgettableRecord>(hostRecordLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => recordIn(ephemeralStores()),
    },
    { name: "sqlite", durable: true, open: async (place) => recordIn(openedIn(place)) },
    ...(hasPostgres
      ? [
          {
            name: "postgres",
            durable: true,
            part: { of: 2, at: 0 },
            open: async (place: string) => recordIn(await openedOnPostgres(place)),
          },
        ]
      : []),
  ]);
});

describe("leases", () => {
  obey<Stores>(leaseLaws, [
    { name: "sqlite", durable: true, open: async (place) => openedIn(place) },
    ...(hasPostgres ? [{ name: "postgres", durable: true, open: openedOnPostgres }] : []),
  ]);
});

describe("Stores of users", () => {
  obey<Stores>(usersLaws, [
    {
      name: "ephemeral",
      durable: false,
      part: { of: 4, at: 3 },
      open: async () => ephemeralStores(),
    },
    {
      name: "sqlite without a file",
      durable: false,
      part: { of: 8, at: 2 },
      open: async () => inMemory(),
    },
    {
      name: "sqlite",
      durable: true,
      open: async (place) => openedIn(place),
    },
    ...(hasPostgres
      ? [{ name: "postgres", durable: true, open: (place: string) => openedOnPostgres(place) }]
      : []),
  ]);
});

describe("the stores of a user", () => {
  const engines = [
    { name: "sqlite", durable: true, open: async (place: string) => openedIn(place) },
    ...(hasPostgres ? [{ name: "postgres", durable: true, open: openedOnPostgres }] : []),
  ];
  const ofAda = <T>(store: (stores: Stores) => T) =>
    engines.map(({ open, ...rest }, at) => ({
      ...rest,
      part: { of: 5, at: 2 * at + 1 },
      open: async (place: string) => store((await open(place)).forUser("ada")),
    }));
  obey(
    eventStoreLaws,
    ofAda(({ events }) => events),
  );
  obey(
    sessionStoreLaws,
    ofAda(({ sessions }) => sessions),
  );
  obey(
    approvalStoreLaws,
    ofAda(({ approvals }) => approvals),
  );
  obey(
    knowledgeStoreLaws,
    ofAda(({ knowledge }) => knowledge),
  );
});

async function openedOnPostgres(namespace: string): Promise<Stores> {
  const stores = postgresStores({ ...(await postgresAccess()), namespace });
  onTestFinished(() => stores.close());
  return stores;
}

/** The list that a host keeps in a session of these stores. */
function recordIn(stores: Stores): ForgettableRecord {
  const { service, recordOf, close } = openHostService(stores);
  onTestFinished(close);
  const record = recordOf("host:chat", {}, (item) => {
    const { text } = item as { readonly text?: unknown };
    return typeof text === "string" ? { message: { role: "user", content: text } } : undefined;
  });
  const forget = async (text: string) => {
    const found = await service.searchMemory({ query: text });
    const ids = found.filter(({ content }) => content === text).map(({ id }) => id);
    await service.forgetMemory({ ids });
  };
  return { record, forget };
}

function openedIn(place: string, thread: "main" | "worker" = "main") {
  const stores = sqliteStores({ path: join(place, "rkat.db"), thread });
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
