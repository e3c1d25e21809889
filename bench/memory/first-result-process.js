import { sqliteStores } from "rkat/sqlite";

// Started by `startTimes`: opens a store in a fresh process, searches once, and ends. It is JavaScript,
// because Node takes 50 ms to load what strips types. Only with vectors it loads an embedder in TypeScript.
const [path = "", query = "", vectors = ""] = process.argv.slice(2);
const embedder =
  vectors === "vectors" && (await import("../clustered-embedder.ts")).clusteredEmbedder();
const { memory } = sqliteStores({ path, thread: "main", ...(embedder && { embedder }) });
const [hit] = await memory.search({ query, limit: 10 });
if (!hit) throw new Error(`Nothing was found for ${query}`);
await memory.close();
