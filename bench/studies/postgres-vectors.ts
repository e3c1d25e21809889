import { parseArgs } from "node:util";
import pg from "pg";
import { clusteredEmbedder } from "../clustered-embedder.ts";
import { madeUpBatches, madeUpQuestions } from "../data/entries.ts";
import { median, note, timed } from "../measuring.ts";

/**
 * pgvector's index against one-bit codes in the memory of a process.
 *
 *     node bench/studies/postgres-vectors.ts --postgres postgres://… [--size 100000] [--questions 40]
 *
 * The server needs the extension `vector`. "codes" compares all one-bit codes, as rkat does. "bit" and "halfvec" ask
 * an HNSW index for as many candidates. Each then ranks the candidates by their exact cosines; recall is the share
 * of the ten nearest that it finds. A filter leaves a share of the entries. "iterative" is pgvector's scan that goes
 * on until it has enough; "off" is its default. The schema `rkat_vectors` is dropped before and after.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    size: { type: "string", default: "100000" },
    questions: { type: "string", default: "40" },
    candidates: { type: "string", default: "300" },
  },
});
const size = Number(values.size);
const candidates = Number(values.candidates);
const LIMIT = 10;
const DIMENSIONS = 384;
const FILTERS = { "all of them": 1000, half: 500, "1 %": 10, ".1 %": 1 };

const embedder = clusteredEmbedder();
const texts = [...madeUpBatches(0, size, 1000)].flat().map(({ content }) => content);
const vectors = await embedder.embed(texts);
const codes = new Uint32Array((size * DIMENSIONS) / 32);
for (const [at, vector] of vectors.entries()) codes.set(codeOf(vector), at * (DIMENSIONS / 32));
const asked = madeUpQuestions(size, Number(values.questions)).map(({ text }) => text);
const questions = await embedder.embed(asked.slice(0, Number(values.questions)));
/** Which entries a filter leaves: those whose part is below its number. */
const parts = Uint16Array.from(texts, (_, at) => (Math.imul(at, 2654435761) >>> 8) % 1000);

const pool = new pg.Pool({ connectionString: values.postgres, max: 1 });
try {
  await pool.query("create extension if not exists vector");
  await pool.query("drop schema if exists rkat_vectors cascade");
  await pool.query("create schema rkat_vectors");
  await pool.query(
    `create table rkat_vectors.vector (slot integer primary key, part smallint not null,
       code bit(${DIMENSIONS}) not null, half halfvec(${DIMENSIONS}) not null)`,
  );
  console.log(`insert ${size}: ${seconds(await timed(() => insert(0, size)))}`);
  for (const [name, column] of [
    ["bit", "code bit_hamming_ops"],
    ["halfvec", "half halfvec_cosine_ops"],
  ] as const) {
    const sql = `create index vector_${name} on rkat_vectors.vector using hnsw (${column})`;
    const took = await timed(() => pool.query(sql));
    const { rows } = await pool.query(
      `select pg_size_pretty(pg_relation_size('rkat_vectors.vector_${name}')) as size`,
    );
    const [row] = rows as readonly { readonly size: string }[];
    console.log(`${name}: index built in ${seconds(took)}, ${row?.size}`);
  }
  await pool.query("vacuum analyze rkat_vectors.vector");
  for (const [name, below] of Object.entries(FILTERS)) await compare(name, below);
  await compareCold();
  await pool.query("drop index rkat_vectors.vector_halfvec");
  await again("with the bit index");
  await pool.query("drop index rkat_vectors.vector_bit");
  await again("without an index");
} finally {
  await pool.query("drop schema if exists rkat_vectors cascade");
  await pool.end();
}

/** What a process that has nothing yet waits for: the codes, or an answer of the index. */
async function compareCold() {
  await pool.query(
    "create table rkat_vectors.block (number integer primary key, codes bytea not null)",
  );
  await pool.query("alter table rkat_vectors.block alter codes set storage external");
  const bytes = Buffer.from(codes.buffer);
  const blockBytes = (512 * DIMENSIONS) / 8;
  for (let number = 0; number * blockBytes < bytes.length; number += 1) {
    const block = bytes.subarray(number * blockBytes, (number + 1) * blockBytes);
    await pool.query("insert into rkat_vectors.block values ($1, $2)", [number, block]);
  }
  const ways: Record<
    string,
    (client: InstanceType<typeof pg.Client>, code: string) => Promise<unknown>
  > = {
    "codes of all": async (client) => {
      const { rows } = await client.query(
        "select encode(codes, 'base64') as codes from rkat_vectors.block",
      );
      return (rows as readonly { codes: string }[]).map((row) => Buffer.from(row.codes, "base64"));
    },
    "bit index": (client, code) =>
      client.query(
        `set hnsw.ef_search = ${candidates}; set enable_seqscan = off;
         select slot from rkat_vectors.vector order by code <~> B'${code}' limit ${candidates}`,
      ),
    "no index, no extension": (client, code) =>
      client.query(
        `set max_parallel_workers_per_gather = 0; set enable_indexscan = off;
         select slot from rkat_vectors.vector order by bit_count(code # B'${code}') limit ${candidates}`,
      ),
  };
  const times: Record<string, number[]> = {};
  for (const question of questions) {
    for (const [way, ask] of Object.entries(ways)) {
      const took = await timed(async () => {
        const client = new pg.Client({ connectionString: values.postgres });
        await client.connect();
        await ask(client, bitsOf(question));
        await client.end();
      });
      note(times, way, took);
    }
  }
  for (const [way, all] of Object.entries(times)) {
    console.log(`new connection, ${way}: ${median(all).toFixed(1)} ms`);
  }
}

/** Removes 2000 rows, and times that they are added again. */
async function again(name: string) {
  const some = Math.min(2000, size);
  await pool.query("delete from rkat_vectors.vector where slot < $1", [some]);
  const took = await timed(() => insert(0, some));
  console.log(`${some} added ${name}: ${seconds(took)}`);
}

async function insert(from: number, to: number) {
  for (let start = from; start < to; start += 500) {
    const slots = Array.from({ length: Math.min(500, to - start) }, (_, at) => start + at);
    await pool.query(
      `insert into rkat_vectors.vector select slot, part, code::bit(${DIMENSIONS}), half::halfvec(${DIMENSIONS})
       from unnest($1::integer[], $2::smallint[], $3::text[], $4::text[]) as r (slot, part, code, half)`,
      [
        slots,
        slots.map((slot) => parts[slot]),
        slots.map((slot) => bitsOf(vectors[slot] as Float32Array)),
        slots.map((slot) => JSON.stringify([...(vectors[slot] as Float32Array)])),
      ],
    );
  }
}

async function compare(name: string, below: number) {
  const ways: Record<string, (question: Float32Array) => Promise<readonly number[]>> = {
    codes: async (question) => byCodes(question, below),
    "bit, off": (question) => byIndex("bit", "off", question, below),
    "bit, iterative": (question) => byIndex("bit", "relaxed_order", question, below),
    "halfvec, iterative": (question) => byIndex("halfvec", "relaxed_order", question, below),
  };
  const recalls: Record<string, number[]> = {};
  const times: Record<string, number[]> = {};
  for (const question of questions) {
    const all = texts.flatMap((_, at) => ((parts[at] as number) < below ? [at] : []));
    const nearest = ranked(question, all);
    for (const [way, find] of Object.entries(ways)) {
      let found: readonly number[] = [];
      const ms = await timed(async () => {
        found = ranked(question, await find(question));
      });
      note(times, way, ms);
      const right = found.filter((slot) => nearest.includes(slot));
      note(recalls, way, right.length / nearest.length);
    }
  }
  for (const way of Object.keys(ways)) {
    const recall = recalls[way] ?? [];
    const mean = recall.reduce((sum, one) => sum + one, 0) / recall.length;
    console.log(
      `${name}, ${way}: recall ${mean.toFixed(3)}, ${median(times[way] ?? []).toFixed(1)} ms`,
    );
  }
}

/** The slots with the nearest vectors, best first. */
function ranked(question: Float32Array, slots: readonly number[]): readonly number[] {
  return slots
    .map((slot) => ({ slot, cosine: dot(question, vectors[slot] as Float32Array) }))
    .sort((one, other) => other.cosine - one.cosine)
    .slice(0, LIMIT)
    .map(({ slot }) => slot);
}

function byCodes(question: Float32Array, below: number): readonly number[] {
  const words = DIMENSIONS / 32;
  const code = codeOf(question);
  const counts = new Uint32Array(DIMENSIONS + 1);
  const distances = new Uint16Array(size).fill(DIMENSIONS + 1);
  for (let slot = 0; slot < size; slot += 1) {
    if ((parts[slot] as number) >= below) continue;
    let distance = 0;
    for (let at = 0; at < words; at += 1) {
      distance += bitCount((codes[slot * words + at] as number) ^ (code[at] as number));
    }
    distances[slot] = distance;
    (counts[distance] as number) += 1;
  }
  let most = 0;
  for (let sum = 0; most < DIMENSIONS; most += 1) {
    sum += counts[most] as number;
    if (sum >= candidates) break;
  }
  const near: number[] = [];
  for (let slot = 0; slot < size; slot += 1)
    if ((distances[slot] as number) <= most) near.push(slot);
  return near
    .sort((one, other) => (distances[one] as number) - (distances[other] as number))
    .slice(0, candidates);
}

async function byIndex(
  kind: "bit" | "halfvec",
  scan: string,
  question: Float32Array,
  below: number,
): Promise<readonly number[]> {
  const [order, value] =
    kind === "bit"
      ? [`code <~> $1::bit(${DIMENSIONS})`, bitsOf(question)]
      : [`half <=> $1::halfvec(${DIMENSIONS})`, JSON.stringify([...question])];
  const filter = below < 1000 ? `where part < ${below}` : "";
  const client = await pool.connect();
  try {
    await client.query(
      `begin; set local hnsw.ef_search = ${candidates}; set local hnsw.iterative_scan = ${scan};
       set local enable_seqscan = off; set local enable_sort = off`,
    );
    const { rows } = await client.query(
      `select slot from rkat_vectors.vector ${filter} order by ${order} limit ${candidates}`,
      [value],
    );
    await client.query("commit");
    return (rows as readonly { readonly slot: number }[]).map(({ slot }) => slot);
  } finally {
    client.release();
  }
}

function codeOf(vector: Float32Array): Uint32Array {
  const code = new Uint32Array(DIMENSIONS / 32);
  vector.forEach((number, at) => {
    if (number < 0) (code[at >> 5] as number) |= 1 << (at & 31);
  });
  return code;
}

function bitsOf(vector: Float32Array): string {
  return Array.from(vector, (number) => (number < 0 ? "1" : "0")).join("");
}

function bitCount(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < DIMENSIONS; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
