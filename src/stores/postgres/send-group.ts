import type { PostgresDatabase } from "./postgres-database.ts";
import { whetherAgain } from "./postgres-failure.ts";
import type { Statements } from "./statements.ts";

/** Work that is sent with that of others, and who waits for it. */
export interface Grouped<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Does the work of a group in one statement. `isAgain` says that it was sent before, and the answer was lost. */
export type SendGroup<One, Answer> = (
  statements: Statements,
  group: readonly One[],
  isAgain: boolean,
) => Promise<readonly Answer[]>;

/** Sends a group as one statement, and gives each its own answer. The error of one does not concern the others. */
export async function sendGroup<Answer, One extends Grouped<Answer>>(
  database: PostgresDatabase,
  group: readonly One[],
  send: SendGroup<One, Answer>,
  wasSent = false,
): Promise<void> {
  let isAgain = wasSent;
  try {
    const answers = await database.repeat(async (statements, isRepeated) => {
      isAgain ||= isRepeated;
      try {
        return await send(statements, group, isAgain);
      } catch (error) {
        if (group.length === 1 || whetherAgain(error)) throw error;
        return undefined;
      }
    });
    // The error may be that of one. The others shall not have it.
    if (answers) for (const [at, { resolve }] of group.entries()) resolve(answers[at] as Answer);
    else for (const one of group) await sendGroup(database, [one], send, isAgain);
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}
