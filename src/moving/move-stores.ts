import { given } from "../core/fields.ts";
import type { Stores } from "../core/stores.ts";
import { type MoveCounts, NamespaceMove } from "./namespace-move.ts";

export interface MoveReport extends MoveCounts {
  readonly users: number;
}

export interface MoveOptions {
  readonly signal?: AbortSignal;
  /** Called with the number of entries processed, of the log and of memory together. */
  readonly onProgress?: (done: number) => void;
}

/**
 * Copies everything of one store into another: sessions, memory, knowledge, what was forgotten and
 * imported, the trash and the users. The source stays as it is, and may be used meanwhile.
 *
 * It can be stopped at any time: the next call goes on, and nothing is there twice. When it resolves,
 * both were compared.
 *
 * @throws SessionError `SESSION_CONFLICT` when a session was continued in both stores
 * @throws SessionError `NOT_POSSIBLE` when the other store has work to do first
 * @throws SessionError `SESSION_STORE_ERROR` when the copy is not the same
 */
export async function moveStores(
  from: Stores,
  to: Stores,
  { signal, onProgress }: MoveOptions = {},
): Promise<MoveReport> {
  let done = 0;
  const advance = (entries: number) => {
    done += entries;
    onProgress?.(done);
  };
  const options = { advance, ...given({ signal }) };
  const moved = [await new NamespaceMove(from, to, options).run()];
  const users = await from.users();
  for (const user of users) {
    moved.push(await new NamespaceMove(from.forUser(user), to.forUser(user), options).run());
  }
  const sum = (name: keyof MoveCounts) => moved.reduce((total, counts) => total + counts[name], 0);
  return {
    users: users.length,
    sessions: sum("sessions"),
    events: sum("events"),
    memories: sum("memories"),
    knowledge: sum("knowledge"),
    imported: sum("imported"),
    deleted: sum("deleted"),
  };
}
