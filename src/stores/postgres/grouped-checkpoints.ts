import { GroupedWork } from "./grouped-work.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { Statements } from "./statements.ts";

interface Asked {
  readonly namespace: string;
  readonly projection: string;
}

/** Reads the checkpoints that are asked for at the same time with one statement, for all namespaces of a process. */
export class GroupedCheckpoints {
  readonly #work: GroupedWork<Asked, number>;

  constructor(database: PostgresDatabase) {
    this.#work = new GroupedWork(database, {
      take: (waiting) => waiting.slice(0, ASKED_MAX),
      send,
    });
  }

  /** How far a projection of a namespace has come; 0 when it has not begun. */
  read(namespace: string, projection: string): Promise<number> {
    return this.#work.do({ namespace, projection });
  }
}

const ASKED_MAX = 500;

const READ = `
  select (select position from rkat.projection_checkpoint as saved
    where saved.namespace = asked.namespace and saved.projection = asked.projection) as position
  from unnest($1::text[], $2::text[]) with ordinality as asked (namespace, projection, at) order by at`;

async function send(statements: Statements, asked: readonly Asked[]): Promise<readonly number[]> {
  const rows = await statements.prepared<{ position: number | null }>(
    READ,
    asked.map(({ namespace }) => namespace),
    asked.map(({ projection }) => projection),
  );
  return asked.map((_, at) => rows[at]?.position ?? 0);
}
