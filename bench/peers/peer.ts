import type { MemoryEntry } from "rkat";

/** Opens what keeps texts and finds them, on what it stored in a folder before. */
export type OpenAdapter = (folder: string) => Promise<OpenPeer>;

export interface OpenPeer {
  add(entries: readonly MemoryEntry[]): Promise<void>;
  /** What it does once after many adds, before it is asked. */
  build?(): Promise<void>;
  /** Ten results by words alone: their texts and whose they are; how many came. */
  words?(question: string): Promise<number>;
  /** Ten results by words and vectors, or by vectors where it knows no words. */
  hybrid?(question: string): Promise<number>;
  close(): Promise<void>;
}

export const LIMIT = 10;

/** A package of `bench/peers/package.json`, as the part of it that is used. */
export async function load<Slice>(specifier: string): Promise<Slice> {
  return (await import(specifier)) as Slice;
}
