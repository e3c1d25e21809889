import { newId } from "../../core/ids.ts";
import type { Statements } from "./statements.ts";

/** Takes or renews the lease. Only the server's clock counts. */
const TAKE = `
  insert into rkat.memory_lease as l (namespace, work, owner, held_until)
  values ($1, $2, $3, clock_timestamp() + $4::double precision * interval '1 millisecond')
  on conflict (namespace, work) do update set owner = excluded.owner, held_until = excluded.held_until
    where l.owner = excluded.owner or l.held_until < clock_timestamp()
  returning 1`;

const RELEASE = "delete from rkat.memory_lease where namespace = $1 and work = $2 and owner = $3";

/** Lets one process at a time do some work on a namespace in the background. */
export class PostgresLease {
  readonly #db: Statements;
  readonly #key: readonly [namespace: string, work: string, owner: string];

  constructor(db: Statements, namespace: string, work: string) {
    this.#db = db;
    this.#key = [namespace, work, newId()];
  }

  /** Returns false when another process has it. */
  async take(ttlMs: number): Promise<boolean> {
    return (await this.#db.row(TAKE, ...this.#key, ttlMs)) !== undefined;
  }

  async release(): Promise<void> {
    await this.#db.change(RELEASE, ...this.#key);
  }
}
