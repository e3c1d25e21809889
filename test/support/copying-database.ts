import type { CommandArguments, CommandName } from "../../src/stores/sqlite/commands.ts";
import type { Database } from "../../src/stores/sqlite/database-over.ts";
import { packError, unpackError } from "../../src/stores/sqlite/store-failure.ts";

/**
 * A database in this thread that copies what goes in and out, as one in a worker does. Starting a worker
 * takes longer than most laws.
 */
export function copyingDatabase(database: Database): Database {
  return {
    path: database.path,
    get closed() {
      return database.closed;
    },
    async run<Name extends CommandName>(name: Name, ...values: CommandArguments<Name>) {
      try {
        return structuredClone(await database.run(name, ...structuredClone(values)));
      } catch (error) {
        throw unpackError(structuredClone(packError(error)));
      }
    },
    close: () => database.close(),
  };
}
