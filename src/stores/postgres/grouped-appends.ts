import { type Append, type AppendRows, appendAll, appendRows } from "./append-events.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { whetherAgain } from "./postgres-failure.ts";
import type { Statements } from "./statements.ts";

/** Statements under way at once: the server does one while this process makes the next. */
const STATEMENTS_MAX = 2;
/** Appends of one statement, and its events and characters when it has more than one append. */
const GROUP = { appendsMin: 4, appendsMax: 64, eventsMax: 1000, charactersMax: 1_000_000 } as const;

interface Waiting {
  readonly log: string;
  readonly rows: AppendRows;
  resolve(isDone: boolean): void;
  reject(error: unknown): void;
}

/**
 * Sends the appends that wait at the same time as one statement, for all sessions of a process. An append goes
 * at once when few are under way. Each has an answer of its own: one that is refused does not concern
 * the others.
 */
export class GroupedAppends {
  readonly #database: PostgresDatabase;
  #waiting: Waiting[] = [];
  /** The logs that statements under way append to. */
  readonly #busy = new Set<string>();
  #underWay = 0;
  #isDue = false;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Returns whether it was done, as `appendAll` does. */
  async append(append: Append): Promise<boolean> {
    const log = JSON.stringify([append.namespace, append.sessionId]);
    const rows = appendRows(append);
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ log, rows, resolve, reject });
      this.#sendSoon();
    });
  }

  /** Writers that were answered together append their next events in the same moment. */
  #sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      while (this.#underWay < STATEMENTS_MAX) {
        const group = this.#nextGroup();
        if (group.length === 0) return;
        void this.#send(group);
      }
    });
  }

  /** At most one append to each log: the next one begins where it ends. */
  #nextGroup(): readonly Waiting[] {
    const share = Math.ceil(this.#waiting.length / (STATEMENTS_MAX - this.#underWay));
    const size = Math.min(Math.max(GROUP.appendsMin, share), GROUP.appendsMax);
    const group: Waiting[] = [];
    let events = 0;
    let characters = 0;
    this.#waiting = this.#waiting.filter((one) => {
      const { rows, log } = one;
      events += rows.events.length;
      characters += rows.characters;
      const isFull =
        group.length === size || events > GROUP.eventsMax || characters > GROUP.charactersMax;
      if ((isFull && group.length > 0) || this.#busy.has(log)) return true;
      this.#busy.add(log);
      group.push(one);
      return false;
    });
    // Processes that lock rows in the same order do not wait for each other in a circle.
    return group.sort((one, other) => (one.log < other.log ? -1 : 1));
  }

  async #send(group: readonly Waiting[]): Promise<void> {
    this.#underWay += 1;
    await this.#run(group);
    this.#underWay -= 1;
    for (const { log } of group) this.#busy.delete(log);
    this.#sendSoon();
  }

  async #run(group: readonly Waiting[], wasSent = false): Promise<void> {
    let isAgain = wasSent;
    try {
      const rows = group.map(({ rows }) => rows);
      const done = await this.#database.repeat(async (statements, isRepeated) => {
        isAgain ||= isRepeated;
        try {
          return await appended(statements, rows, isAgain);
        } catch (error) {
          if (group.length === 1 || whetherAgain(error)) throw error;
          return undefined;
        }
      });
      // The error may be that of one append. The others shall not have it.
      if (done) for (const [at, { resolve }] of group.entries()) resolve(done[at] ?? false);
      else for (const one of group) await this.#run([one], isAgain);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

/** `isAgain` says that the connection was lost before an answer, which may have been that all are stored. */
async function appended(
  statements: Statements,
  rows: readonly AppendRows[],
  isAgain: boolean,
): Promise<readonly boolean[]> {
  const done = await appendAll(statements, rows);
  if (!isAgain) return done;
  const stored: boolean[] = [];
  for (const [at, { append }] of rows.entries()) {
    stored.push(done[at] || (await isStored(statements, append)));
  }
  return stored;
}

async function isStored(
  statements: Statements,
  { namespace, sessionId, lastSeq, events }: Append,
): Promise<boolean> {
  const row = await statements.row<{ event_id: string }>(
    `select event_id from rkat.event
     where log = (select key from rkat.log where namespace = $1 and session_id = $2) and seq = $3`,
    namespace,
    sessionId,
    lastSeq + events.length,
  );
  return row !== undefined && row.event_id === events.at(-1)?.event_id;
}
