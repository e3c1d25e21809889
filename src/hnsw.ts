/** The specification's memory store: nearest neighbours in an HNSW graph. Needs the package usearch. */
export { HnswMemoryStore, type HnswMemoryStoreOptions } from "./stores/hnsw/hnsw-memory-store.ts";
