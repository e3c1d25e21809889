import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import { type Asking, change, changed, row, rows, type Sql } from "./sql.ts";
import { insertAll, isIn, sql } from "./statement.ts";

/** Keeps the marks of forgotten texts, with a key that the database was given for it. */
export class SqlForgottenTexts implements Asking<ForgottenTexts & ForgottenMarks> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *add(sessionId: string, texts: readonly string[]): Sql<void> {
    if (texts.length === 0) return;
    const marks = forgottenMarks(yield* requireKey(), sessionId, texts);
    yield* this.restore(marks.filter((mark) => mark !== undefined));
  }

  *has(sessionId: string, texts: readonly string[]): Sql<readonly boolean[]> {
    const kept = yield* rows<{ key: Uint8Array | null; other: string | null }>(
      sql`select (select key from rkat.forgetting_key) as key, other.mark as other
        from (select 1 from rkat.forgotten_text where namespace = ${this.#namespace} limit 1) as one
        left join rkat.forgotten_text as other
          on other.namespace = ${this.#namespace} and mark >= 'key ' and mark < 'key!'`,
    );
    if (kept.length === 0) return texts.map(() => false);
    const others = kept.flatMap(({ other }) => other ?? []);
    const each = marksOfEach(kept[0]?.key ?? undefined, others, sessionId, texts);
    const found = yield* rows<{ mark: string }>(sql`select mark from rkat.forgotten_text
      where namespace = ${this.#namespace} and mark ${isIn(each.flat())}`);
    const known = new Set(found.map(({ mark }) => mark));
    return each.map((marks) => marks.some((mark) => known.has(mark)));
  }

  *copy(): Sql<readonly string[]> {
    const kept = yield* rows<{ mark: string }>(
      sql`select mark from rkat.forgotten_text where namespace = ${this.#namespace}`,
    );
    if (kept.length === 0) return [];
    return forgottenCopy(
      yield* requireKey(),
      kept.map(({ mark }) => mark),
    );
  }

  *restore(copy: readonly string[]): Sql<void> {
    if (copy.length === 0) return;
    const marks = { mark: ["text", copy] } as const;
    const isKnown = sql`on conflict do nothing`;
    yield* change(insertAll("rkat.forgotten_text", this.#namespace, marks, isKnown));
  }
}

/** The key of the database. It gets one at its first use. */
function* requireKey(): Sql<Uint8Array> {
  const known = yield* row<Key>(KEY);
  if (known) return keyIn(known);
  const { rows: added } = yield* changed([
    sql`insert into rkat.forgetting_key (only_one, key) values (true, ${newForgettingKey()})
      on conflict do nothing returning key`,
  ]);
  // Another process may have been faster.
  const [own = yield* row<Key>(KEY)] = added as readonly Key[];
  return keyIn(own);
}

function keyIn(found: Key | undefined): Uint8Array {
  if (found?.key instanceof Uint8Array) return found.key;
  throw new TypeError("the key that forgetting uses is missing");
}

interface Key {
  readonly key: Uint8Array;
}
const KEY = sql`select key from rkat.forgetting_key`;
