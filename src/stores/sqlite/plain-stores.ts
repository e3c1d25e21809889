import type { Stores } from "../../core/stores.ts";
import { sqlStores, withUsers } from "../sql/sql-stores.ts";
import { databaseOver, tasksOf } from "./database-over.ts";
import { SqliteEventStore } from "./sqlite-event-store.ts";
import { CommandRunner, plainCommands } from "./sqlite-tables.ts";

/** Stores without the one of memory, and a search of the log. */
export interface PlainStores extends Omit<Stores, "memory" | "trash" | "forUser" | "users"> {
  forUser(user: string): PlainStores;
}

/** The stores of a SQLite file that need no index, for a process that ends at once: it loads a third of the code. */
export function plainStores(path: string): PlainStores {
  const database = databaseOver(path, new CommandRunner(path, plainCommands));
  const tasks = tasksOf(database);
  return withUsers(
    "default",
    (namespace) => ({
      ...sqlStores(namespace, tasks),
      events: new SqliteEventStore(database, { namespace }),
      close: () => database.close(),
    }),
    { all: (start) => database.run("namespacesBelow", start) },
  );
}
