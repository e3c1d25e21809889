import { openMemory } from "./open-memory.ts";

// Started by `startTimes`: opens a store in a fresh process, searches once, and ends.
const [folder = "", query = "", vectors = ""] = process.argv.slice(2);
const memory = openMemory(folder, vectors === "vectors");
const [hit] = await memory.search({ query, limit: 10 });
if (!hit) throw new Error(`Nothing was found for ${query}`);
await memory.close();
