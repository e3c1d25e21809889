import type { Head, Known, News } from "../../indexing/port/index-store.ts";
import { blocksBetween } from "./find-word-blocks.ts";
import * as questions from "./index-questions.ts";
import { NAMESPACE } from "./index-questions.ts";
import type { QuestionBatch } from "./question-batch.ts";
import { spaceAndCodes } from "./vector-questions.ts";

/**
 * Asks for all that a reader lacks, in one statement. The server compares what is known with the head
 * (`stillKnown`), and reads nothing that has not changed.
 */
export function askCatchUp(batch: QuestionBatch, known: Known): (head: Head) => News {
  const changes = batch.bind(known.changes, "bigint");
  const level = batch.bind(known.loadedLevel, "integer");
  const removedAt = batch.bind(known.removedAt, "bigint");
  const generation = batch.bind(known.generation, "integer");
  batch.with(
    "known",
    `select changes <> ${changes} as is_new,
       case when removed_at = ${removedAt} then ${changes} else -1 end as words,
       case when generation = ${generation} then ${changes} else -1 end as columns
     from head`,
  );
  batch.with(
    "searched",
    `select s.number, s.generation, s.state, s.becomes, s.level, s.first_entry, s.last_entry,
       s.first_change, s.last_change, s.postings, s.bytes, s.grown
     from rkat.memory_segment s, head
     where s.namespace = head.number and s.generation = head.generation and s.state = 'whole'`,
  );
  const changed = askChanged(batch, known, level);
  const words = askWords(batch, known, level);
  const [session, vectors] = [askSession(batch, known), spaceAndCodes(batch, known.vectors)];
  return (head) => {
    const isNew = head.changes !== known.changes;
    return {
      head,
      ...changed,
      segments: isNew ? changed.segments : undefined,
      columns: changed.columns.map((row) => ({ ...row, generation: head.generation })),
      sessions: changed.sessions[0] ?? { count: 0, last: 0 },
      words: words(),
      session: session[0],
      space: vectors.spaces[0],
      codes: vectors.codes,
    };
  };
}

function askChanged(batch: QuestionBatch, known: Known, level: string) {
  const loaded = batch.bind(known.loaded, "bigint[]");
  const lacking = `known.is_new and l.level <= ${level}
    and not (known.words >= 0 and l.number = any (${loaded}))`;
  return {
    segments: batch.rows(
      questions.segments("from searched s, known where known.is_new order by s.number"),
      questions.segmentOf,
    ),
    small: batch.rows(
      questions.smallSegments(
        `from known, searched l cross join lateral (
           select s.number, s.words, s.columns from rkat.memory_segment s
           where s.namespace = ${NAMESPACE} and s.number = l.number offset 0
         ) as s where ${lacking} and l.level = 0 order by s.number`,
      ),
      questions.smallSegmentOf,
    ),
    blocks: batch.rows(
      questions.wordBlocks(
        `from known, searched l cross join lateral (
           select b.segment, b.first, b.slot, b.data from rkat.memory_word_block b
           where b.namespace = ${NAMESPACE} and b.segment = l.number
           order by b.first, b.slot offset 0
         ) as b where ${lacking} and l.level > 0`,
      ),
      questions.wordBlockOf,
    ),
    columns: batch.rows(
      questions.columnBlocks(
        `from known, head cross join lateral (
           select c.block, c.changed, c.data from rkat.memory_column_block c
           where c.namespace = head.number and c.is_odd = (head.generation % 2 = 1) offset 0
         ) as c where known.is_new and head.columns_at > known.columns and c.changed > known.columns`,
      ),
      questions.columnBlockOf(0),
    ),
    sessions: batch.rows(
      {
        fields: "count(s.number), coalesce(max(s.number), 0)",
        from: `from known join rkat.memory_session s on s.namespace = ${NAMESPACE} and known.is_new
          and s.number > case when known.words < 0 then 0 else ${batch.bind(known.lastSession, "integer")} end`,
      },
      ([count = 0, last = 0]) => ({ count, last }),
    ),
    labels: batch.rows(
      {
        fields: "l.number, l.text, l.uses",
        from: `from known join rkat.memory_label l on l.namespace = ${NAMESPACE} and known.is_new
          and l.number > case when known.words < 0 then 0 else ${batch.bind(known.lastLabel, "integer")} end`,
      },
      questions.labelOf,
    ),
  };
}

/** For each word, the blocks of segments that are not loaded and that it was not asked of yet. */
function askWords(batch: QuestionBatch, { words }: Known, level: string): () => News["words"] {
  if (words.length === 0) return () => [];
  const columns = { from: "bytea", to: "bytea", after: "bigint" } as const;
  const table = `known, searched s, ${batch.unnest(words, columns)} with ordinality as w (low, high, after, at)`;
  const lacks = `s.level > ${level} and s.last_change > case when known.words < 0 then -1 else w.after end`;
  const from = blocksBetween(
    `(select s.number, w.low, w.high, w.at from ${table} where ${lacks}) as w`,
    "w.number",
  );
  const found = batch.rows(questions.wordBlocks(from, "w.at - 1"), questions.wordBlockOf);
  return () => {
    const all = words.map((): questions.FoundBlock[] => []);
    for (const block of found) all[block.at]?.push(block);
    return all;
  };
}

function askSession(batch: QuestionBatch, { sessionId }: Known): readonly number[] {
  if (sessionId === undefined) return [];
  const from = questions.sessions(`s.id = ${batch.bind(sessionId, "text")}`).from;
  return batch.rows({ fields: "s.number", from }, ([number = 0]) => number);
}
