import type { ApprovalAnswer, ApprovalStore, PendingApproval } from "../../core/approval.ts";
import { SessionError } from "../../core/errors.ts";
import { checkedMethod } from "../../core/store-arguments.ts";
import type { AgeLimits, Stores } from "../../core/stores.ts";
import { requireUserName } from "../../core/stores.ts";
import { WorkQueue } from "../../core/work-queue.ts";
import { storedAnswer, storedApproval } from "../stored-json.ts";
import {
  type Asking,
  change,
  changed,
  clean,
  insertAll,
  isIn,
  joined,
  rows,
  type Sql,
  type Statement,
  sql,
  table,
  words,
} from "./sql.ts";
import { SqlForgottenTexts, SqlImportStore } from "./sql-import-store.ts";
import { SqlKnowledgeStore } from "./sql-knowledge-store.ts";
import { SqlSessionStore } from "./sql-session-store.ts";

/** Keeps what waits for approval, where every process may answer. */
class SqlApprovalStore implements Asking<ApprovalStore> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *add(approvals: readonly PendingApproval[]): Sql<void> {
    if (approvals.length === 0) return;
    const isKnown = sql`order by place on conflict (namespace, id) do nothing`;
    yield* change(insertAll("rkat.approval", this.#namespace, columnsOf(approvals), isKnown));
  }

  *replace(approvals: readonly PendingApproval[]): Sql<void> {
    if (approvals.length === 0) return;
    yield* change(sql`update rkat.approval as old set approval = replaced.approval
      from ${table("replaced", columnsOf(approvals))}
      where old.namespace = ${this.#namespace} and old.id = replaced.id`);
    yield* clean("rkat.approval");
  }

  *list({ sessionId }: { readonly sessionId?: string }): Sql<readonly PendingApproval[]> {
    const ofSession = sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`;
    const found = yield* rows<{ approval: string }>(sql`select approval from rkat.approval
      where namespace = ${this.#namespace} ${ofSession} and answer is null order by key`);
    return found.map(({ approval }) => storedApproval(approval));
  }

  *answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Sql<boolean> {
    const { count, isAgain } = yield* changed([
      sql`update rkat.approval set answer = ${JSON.stringify(answer)}
        where namespace = ${this.#namespace} and id = ${approvalId} and session_id = ${sessionId}
          and answer is null`,
    ]);
    // The answer that was lost may have been that it is stored.
    return count > 0 || (isAgain && (yield* this.answers([approvalId])).size > 0);
  }

  *answers(approvalIds: readonly string[]): Sql<ReadonlyMap<string, ApprovalAnswer>> {
    const found = yield* rows<{ id: string; answer: string }>(sql`select id, answer
      from rkat.approval
      where namespace = ${this.#namespace} and id ${isIn(approvalIds)} and answer is not null`);
    return new Map(found.map(({ id, answer }) => [id, storedAnswer(answer)]));
  }

  *remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Sql<void> {
    const going =
      "sessionId" in which
        ? sql`session_id = ${which.sessionId}`
        : sql`id ${isIn(which.approvalIds)}`;
    yield* change(sql`delete from rkat.approval where namespace = ${this.#namespace} and ${going}`);
  }
}

function columnsOf(approvals: readonly PendingApproval[]) {
  return {
    id: ["text", approvals.map(({ approvalId }) => approvalId)],
    session_id: ["text", approvals.map(({ sessionId }) => sessionId)],
    approval: ["text", approvals.map((approval) => JSON.stringify(approval))],
  } as const;
}

const CLASSES = {
  approvals: SqlApprovalStore,
  forgotten: SqlForgottenTexts,
  imports: SqlImportStore,
  knowledge: SqlKnowledgeStore,
  sessions: SqlSessionStore,
};
type Classes = typeof CLASSES;

/** A call of a store's method as plain data, so that it can be sent to the thread of the database. */
export interface Task {
  readonly store: keyof Classes;
  readonly namespace: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The code of a task. */
export function codeOf({ store, namespace, method, args }: Task): Sql<unknown> {
  const methods = new CLASSES[store](namespace) as unknown as Methods;
  return (methods[method] as Methods[string])(...args);
}
type Methods = Readonly<Record<string, (...args: readonly unknown[]) => Sql<unknown>>>;

/** A database as the stores of the plain tables need it. */
export interface TaskRunner {
  run(task: Task): Promise<unknown>;
  close(): Promise<void>;
}

/** A store of one namespace. Closing it closes the database. */
export function sqlStore<Name extends keyof Classes>(
  store: Name,
  namespace: string,
  database: TaskRunner,
): Required<Stores>[Name] {
  const names = Object.getOwnPropertyNames(CLASSES[store].prototype);
  const methods = names
    .filter((name) => name !== "constructor")
    .map((method) => {
      const run = (...args: readonly unknown[]) => database.run({ store, namespace, method, args });
      return [method, checkedMethod(store, method, run)];
    });
  return { ...Object.fromEntries(methods), close: () => database.close() };
}

/** The stores of all plain tables. */
export function sqlStores(namespace: string, database: TaskRunner) {
  const imports = sqlStore("imports", namespace, database);
  const commits = new WorkQueue();
  return {
    sessions: sqlStore("sessions", namespace, database),
    approvals: sqlStore("approvals", namespace, database),
    knowledge: sqlStore("knowledge", namespace, database),
    forgotten: sqlStore("forgotten", namespace, database),
    imports: {
      ...imports,
      // In their order, and on one connection.
      commit: (...args: Parameters<typeof imports.commit>) =>
        commits.run(() => imports.commit(...args)),
    },
  };
}

/** Tables that have a row of each namespace with something in it, besides the index of memory. */
const FILLED = [
  "rkat.log",
  "rkat.snapshot",
  "rkat.knowledge_entry",
  "rkat.forgotten_text",
  "rkat.imported_message",
];

/** The namespaces that begin with `start` and have something in them. `others` are tables of one database. */
export function* namespacesBelow(
  start: string,
  others: readonly string[] = [],
): Sql<readonly string[]> {
  const all = [...FILLED, ...others].map(
    (table) => sql`select name from (${namespacesIn(table, start)}) as found`,
  );
  const inMemory = sql`select name from rkat.memory_namespace
    where passages > 0 and substr(name, 1, length(${start})) = ${start}`;
  const found = yield* rows<{ name: string }>(joined([...all, inMemory], " union "));
  return found.map(({ name }) => name);
}

/** Each namespace is one step in an index, so rows are not counted through. */
export function namespacesIn(table: string, start: string): Statement {
  const next = (than: Statement) =>
    sql`select min(namespace) from ${words(table)} where namespace > ${than}`;
  const isBelow = sql`substr(name, 1, length(${start})) = ${start}`;
  return sql`with recursive step (name) as (
      ${next(sql`${start}`)} union all
      select (${next(words("step.name"))}) from step where ${isBelow}
    )
    select name from step where ${isBelow}`;
}

/**
 * Namespaces below the one of a project: its trash, and its users. Neither a namespace nor a user has a
 * line break, so no two are the same.
 *
 *     default
 *     default ⏎ trash
 *     default ⏎ user ada
 *     default ⏎ user ada ⏎ trash
 */
export const trashOf = (namespace: string) => `${namespace}\n${TRASH}`;

const TRASH = "trash";
const USER = "user ";

/** The name is in each index, as that of a user is. */
const NAMESPACE_CHARACTERS_MAX = 200;

/** @throws SessionError `INVALID_PARAMS` when it is empty, long, or has a line break */
export function requireNamespace(namespace: string): string {
  const isLong = namespace.length > NAMESPACE_CHARACTERS_MAX;
  if (namespace !== "" && !isLong && !namespace.includes("\n")) return namespace;
  const problem = isLong
    ? `has more than ${NAMESPACE_CHARACTERS_MAX} characters`
    : namespace === ""
      ? "is empty"
      : "has a line break in it";
  throw new SessionError("INVALID_PARAMS", {
    message: `The namespace ${problem}.`,
    hint: 'Use a short name on one line, or leave it out: the default is "default".',
  });
}

type WithUsers<Own> = Own & {
  forUser(user: string): WithUsers<Own>;
  users(): Promise<readonly string[]>;
  usersWithOld?(limits: AgeLimits): Promise<readonly string[]>;
};

/** The namespaces that begin with a text. */
interface NamespacesBelow {
  /** The namespaces that have something in them. */
  all(start: string): Promise<readonly string[]>;
  /** The namespaces that have something old, with trash as `trashOf` names it. */
  withOld?(start: string, limits: AgeLimits): Promise<readonly string[]>;
}

/** The stores of a namespace and of its users. `storesIn` opens those of one namespace. */
export function withUsers<Own>(
  namespace: string,
  storesIn: (namespace: string) => Own,
  below: NamespacesBelow,
): WithUsers<Own> {
  const before = `${namespace}\n${USER}`;
  const withOld = below.withOld;
  // A user's trash is below the user.
  const usersIn = (names: readonly string[]) => [
    ...new Set(names.map((name) => name.slice(before.length).split("\n", 1).join())),
  ];
  return {
    ...storesIn(namespace),
    forUser: (user) => ({
      ...storesIn(before + requireUserName(user)),
      forUser() {
        throw new SessionError("USER_NOT_ALLOWED");
      },
      users: async () => [],
    }),
    async users() {
      return usersIn(await below.all(before));
    },
    ...(withOld
      ? {
          async usersWithOld(limits: AgeLimits) {
            return usersIn(await withOld(before, limits));
          },
        }
      : {}),
  };
}
