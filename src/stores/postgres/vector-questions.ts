import type {
  CodeBlockRow,
  IndexStore,
  Known,
  LackingEntry,
  VectorSpace,
} from "../../indexing/port/index-store.ts";
import { NAMESPACE, NO_BYTES, reader } from "./index-questions.ts";
import type { PartSql, QuestionBatch, ReadRow } from "./question-batch.ts";
import { fromPostgres } from "./statements.ts";

// The questions about vectors. Each adds its part to a batch, and returns the rows that the batch fills in.

export type WantedCodes = Parameters<IndexStore["codeBlocks"]>[1];
export type LackingPage = Parameters<IndexStore["entriesLacking"]>[1];

const SPACES: PartSql = {
  fields: "v.number, v.embedder, v.dimensions, v.changes, v.passages, v.unrelated, v.related",
  from: `from rkat.memory_vector_space v where v.namespace = ${NAMESPACE}`,
};
const storedSpace = reader<VectorSpace>(
  "number",
  "embedder",
  "dimensions",
  "changes",
  "passages",
  "unrelated",
  "related",
);
const spaceOf: ReadRow<VectorSpace> = (fields) => {
  const row = storedSpace(fields);
  return { ...row, embedder: fromPostgres(row.embedder) };
};

export function spaces(batch: QuestionBatch) {
  return batch.rows(SPACES, spaceOf);
}

/** The space of an embedder, and the blocks of its codes that changed. */
export function spaceAndCodes(batch: QuestionBatch, vectors: Known["vectors"]) {
  if (!vectors) return { spaces: [], codes: [] };
  const { fields, from } = SPACES;
  const space = `${from} and v.embedder = ${batch.bind(vectors.embedder, "text")}`;
  const known = batch.bind(vectors.space, "integer");
  const changes = batch.bind(vectors.changes, "bigint");
  return {
    spaces: batch.rows({ fields, from: space }, spaceOf),
    codes: codes(
      batch,
      `from (select v.number, v.changes,
           case when v.number = ${known} then ${changes} else -1 end as after ${space}) as v
         cross join lateral (
           select c.space, c.block, c.changed, c.codes from rkat.memory_code_block c
           where c.space = v.number and c.changed > v.after offset 0
         ) as c where v.changes > v.after`,
    ),
  };
}

export function codeBlocks(batch: QuestionBatch, space: number, which: WantedCodes) {
  const wanted =
    "blocks" in which
      ? `c.block = any (${batch.bind(which.blocks, "integer[]")})`
      : `c.changed > ${batch.bind(which.changedAfter, "bigint")}`;
  return codes(
    batch,
    `from rkat.memory_code_block c where c.space = ${batch.bind(space, "integer")} and ${wanted}`,
  );
}

function codes(batch: QuestionBatch, from: string): readonly CodeBlockRow[] {
  return batch.rows(
    { fields: "c.space, c.block, c.changed", one: "c.codes", from },
    ([space = 0, block = 0, changed = 0], bytes) => ({
      ...{ space, block, changed },
      codes: bytes ?? NO_BYTES,
    }),
  );
}

export function vectorSlots(batch: QuestionBatch, slots: readonly number[]) {
  return batch.rows(
    {
      fields: "x.space, x.slot",
      from: `from rkat.memory_vector_space v cross join lateral (
          select x.space, x.slot from rkat.memory_vector x
          where x.space = v.number and x.slot = any (${batch.bind(slots, "bigint[]")}) offset 0
        ) as x where v.namespace = ${NAMESPACE}`,
    },
    ([space = 0, slot = 0]) => ({ space, slot }),
  );
}

export function vectorPage(batch: QuestionBatch, space: number, after: number, limit: number) {
  return batch.rows(
    {
      fields: "x.slot, x.row is null",
      from: `from rkat.memory_vector x where x.space = ${batch.bind(space, "integer")}
        and x.slot > ${batch.bind(after, "bigint")} order by x.slot limit ${batch.bind(limit, "bigint")}`,
    },
    ([slot = 0, isBlank = false]) => ({ slot, isBlank }),
  );
}

export function vectorRows(batch: QuestionBatch, space: number, slots: readonly number[]) {
  return batch.rows(
    {
      fields: "x.slot",
      one: "x.row",
      from: `from rkat.memory_vector x where x.space = ${batch.bind(space, "integer")}
        and x.slot = any (${batch.bind(slots, "bigint[]")}) and x.row is not null`,
    },
    ([slot = 0], row) => ({ space, slot, row }),
  );
}

const storedLacking = reader<LackingEntry>("key", "slot", "passages", "content", "have");

export function entriesLacking(
  batch: QuestionBatch,
  space: number,
  { oldest, before, limit }: LackingPage,
): readonly LackingEntry[] {
  const own = `x.space = ${batch.bind(space, "integer")}`;
  return batch.rows(
    {
      fields: `e.key, e.slot, e.passages, e.content, (
          select coalesce(json_agg(x.slot), '[]') from rkat.memory_vector x
          where ${own} and x.slot >= e.slot and x.slot < e.slot + e.passages)`,
      from: `from rkat.memory_entry e where e.namespace = ${NAMESPACE}
        and e.key >= ${batch.bind(oldest, "bigint")} and e.key < ${batch.bind(before, "bigint")}
        and e.passages > (select count(*) from rkat.memory_vector x
          where ${own} and x.slot >= e.slot and x.slot < e.slot + e.passages)
        order by e.key desc limit ${batch.bind(limit, "bigint")}`,
    },
    (fields) => {
      const row = storedLacking(fields);
      return { ...row, content: fromPostgres(row.content) };
    },
  );
}
