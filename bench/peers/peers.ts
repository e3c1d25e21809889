import type { OpenAdapter } from "./peer.ts";

/** What is compared. */
export interface Peer {
  readonly name: string;
  /** What it is, and how it is asked. */
  readonly about: string;
  /** The largest store that it fills in a reasonable time. */
  readonly sizeMax: number;
  /** Whether what `add` stored is on disk when it resolves. */
  readonly durable: boolean;
  load(): Promise<OpenAdapter>;
}

/** In the order in which they are measured. */
export const PEERS: readonly Peer[] = [
  {
    name: "rkat",
    about: "the default store, words alone",
    sizeMax: 1_000_000,
    durable: true,
    load: async () => (await import("./adapters/rkat.ts")).rkat,
  },
  {
    name: "FTS5",
    about: "node:sqlite, Porter's stemmer, WAL, synchronous=FULL; asked without stop words",
    sizeMax: 1_000_000,
    durable: true,
    load: async () => (await import("./adapters/fts5.ts")).fts5,
  },
  {
    name: "minisearch",
    about: "in memory, JSON at the end, no stemmer; asked without stop words",
    sizeMax: 100_000,
    durable: false,
    load: async () => (await import("./adapters/minisearch.ts")).minisearch,
  },
  {
    name: "rkat with vectors",
    about: "the default store with an embedder",
    sizeMax: 1_000_000,
    durable: true,
    load: async () => (await import("./adapters/rkat.ts")).rkatVectors,
  },
  {
    name: "sqlite-vec with FTS5",
    about: "vec0 with f32, exact; 50 results of each half, reciprocal rank fusion",
    sizeMax: 1_000_000,
    durable: true,
    load: async () => (await import("./adapters/sqlite-vec.ts")).sqliteVec,
  },
  {
    name: "usearch with FTS5",
    about: "HNSW with f16, saved whole at the end; 50 results of each half, fused likewise",
    sizeMax: 100_000,
    durable: false,
    load: async () => (await import("./adapters/usearch.ts")).usearch,
  },
  {
    name: "LanceDB",
    about: "HNSW_SQ and its full text index, built once after all adds; its own fusion",
    sizeMax: 100_000,
    durable: true,
    load: async () => (await import("./adapters/lancedb.ts")).lancedb,
  },
  {
    name: "Mastra",
    about: "its memory with LibSQLStore and LibSQLVector, semantic recall over the resource",
    sizeMax: 3_000,
    durable: true,
    load: async () => (await import("./adapters/mastra.ts")).mastra,
  },
  {
    name: "mem0",
    about: "its local vector store and history, infer: false, telemetry off",
    sizeMax: 10_000,
    durable: true,
    load: async () => (await import("./adapters/mem0.ts")).mem0,
  },
];
