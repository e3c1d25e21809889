import type { PostgresDatabase } from "./postgres-database.ts";
import { whetherAgain } from "./postgres-failure.ts";
import type { Statements } from "./statements.ts";

/** Statements under way at once: the server does one while this process makes the next. */
const STATEMENTS_MAX = 2;

/** How work of one kind is grouped and sent. */
export interface Grouping<Work, Answer> {
  /**
   * Takes what goes into the next statement out of what waits: nothing, when all of it has to wait for a statement under way.
   * `free` more statements may be sent now.
   */
  take(waiting: readonly Work[], free: number): readonly Work[];
  /**
   * Does the work of a group in one statement, and returns an answer for each. `isAgain` says that it was sent before, and that
   * the connection was lost before the answer.
   */
  send(
    statements: Statements,
    group: readonly Work[],
    isAgain: boolean,
  ): Promise<readonly Answer[]>;
  /** The statement of a group is no longer under way. */
  ended?(group: readonly Work[]): void;
}

interface Waiting<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Sends work that waits at the same time as one statement, for all that a process does. It goes at once when few statements are
 * under way. Each piece of work has an answer of its own: the error of one does not concern the others.
 */
export class GroupedWork<Work extends object, Answer> {
  readonly #database: PostgresDatabase;
  readonly #grouping: Grouping<Work, Answer>;
  /** In the order in which it came. */
  readonly #waiting = new Map<Work, Waiting<Answer>>();
  #underWay = 0;
  #isDue = false;

  constructor(database: PostgresDatabase, grouping: Grouping<Work, Answer>) {
    this.#database = database;
    this.#grouping = grouping;
  }

  do(work: Work): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(work, { resolve, reject });
      this.#sendSoon();
    });
  }

  /** Callers that were answered together have their next work in the same moment. */
  #sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      while (this.#underWay < STATEMENTS_MAX && this.#waiting.size > 0) {
        const group = this.#grouping.take(
          [...this.#waiting.keys()],
          STATEMENTS_MAX - this.#underWay,
        );
        if (group.length === 0) return;
        void this.#send(group);
      }
    });
  }

  async #send(group: readonly Work[]): Promise<void> {
    const waiting = group.map((work) => {
      const one = this.#waiting.get(work);
      this.#waiting.delete(work);
      return one;
    });
    this.#underWay += 1;
    await this.#run(group, waiting);
    this.#underWay -= 1;
    this.#grouping.ended?.(group);
    this.#sendSoon();
  }

  async #run(
    group: readonly Work[],
    waiting: readonly (Waiting<Answer> | undefined)[],
    wasSent = false,
  ): Promise<void> {
    let isAgain = wasSent;
    try {
      const answers = await this.#database.repeat(async (statements, isRepeated) => {
        isAgain ||= isRepeated;
        try {
          return await this.#grouping.send(statements, group, isAgain);
        } catch (error) {
          if (group.length === 1 || whetherAgain(error)) throw error;
          return undefined;
        }
      });
      if (answers) for (const [at, one] of waiting.entries()) one?.resolve(answers[at] as Answer);
      // The error may be that of one. The others shall not have it.
      else
        for (const [at, work] of group.entries()) await this.#run([work], [waiting[at]], isAgain);
    } catch (error) {
      for (const one of waiting) one?.reject(error);
    }
  }
}
