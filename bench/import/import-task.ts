import { mkdirSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { importTranscripts, type MemoryEntry, type MemoryStore } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import type { SayProgress } from "../bench.ts";
import { transcriptLines } from "../data/transcript.ts";
import { timed, timedAtOnce } from "../measuring.ts";

export interface ImportInput {
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
  /** Where the store works. */
  readonly thread: "main" | "worker";
}

export interface ImportSpeed {
  readonly megabytes: number;
  /** Of the bytes, what people and models said. */
  readonly talk: number;
  readonly ms: number;
  /** Processor time of all threads. */
  readonly cpuMs: number;
  readonly againMs: number;
  /** Processor time that memory takes for a megabyte of talk: redaction, words, and their index. */
  readonly indexMs: number;
  /** Reading the files and parsing each line. */
  readonly parseMs: number;
  /** The most that the process had in memory, and what it had before. */
  readonly peakMb: number;
  readonly beforeMb: number;
}

/** Writes transcripts of Claude Code, imports them, and imports them again. */
export async function importTask(
  { folder, files, bytes, thread }: ImportInput,
  say: SayProgress,
): Promise<ImportSpeed> {
  await say(`writing ${files} transcripts`);
  const path = join(folder, "projects");
  mkdirSync(path);
  for (let number = 0; number < files; number += 1) writeTranscript(path, number, bytes);
  const beforeMb = process.resourceUsage().maxRSS / 1000;
  await say("importing");
  const stores = sqliteStores({ path: join(folder, "rkat.db"), thread });
  const cpuBefore = process.cpuUsage();
  const ms = await timed(() => importTranscripts({ stores, path }));
  const { user, system } = process.cpuUsage(cpuBefore);
  const peakMb = process.resourceUsage().maxRSS / 1000;
  const againMs = await timed(() => importTranscripts({ stores, path }));
  await say("indexing");
  const indexMs = await indexTalk(stores.memory, join(folder, "index.db"));
  await stores.close();
  await say("parsing");
  const read = { characters: 0, talk: 0 };
  const parseMs = timedAtOnce(() => parseAll(path, read));
  return {
    megabytes: read.characters / 1e6,
    talk: read.talk / read.characters,
    ms,
    cpuMs: (user + system) / 1000,
    againMs,
    indexMs,
    parseMs,
    peakMb,
    beforeMb,
  };
}

/** About as many entries as an import adds at once. */
const BATCH = 1200;

/** Adds what a memory has to an empty one, as an import does. Returns the processor time for a megabyte of it. */
async function indexTalk(from: MemoryStore, path: string): Promise<number> {
  const entries: MemoryEntry[] = [];
  for (;;) {
    const after = entries.at(-1)?.id;
    const page = await from.list({ limit: BATCH, ...(after === undefined ? {} : { after }) });
    if (page.length === 0) break;
    entries.push(...page);
  }
  const talk = entries.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  const stores = sqliteStores({ path });
  const before = process.cpuUsage();
  for (let at = 0; at < entries.length; at += BATCH) {
    // With the log of the same store, as an import: the log has what a power failure takes from memory.
    await stores.memory.add(entries.slice(at, at + BATCH), stores.events);
  }
  await stores.close();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (talk / 1e6);
}

function writeTranscript(folder: string, number: number, bytes: number): void {
  const file = openSync(join(folder, `session-${number}.jsonl`), "w");
  for (const line of transcriptLines(number, bytes)) writeSync(file, `${line}\n`);
}

function parseAll(folder: string, read: { characters: number; talk: number }): void {
  for (const name of readdirSync(folder)) {
    for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
      if (line === "") continue;
      read.characters += line.length + 1;
      read.talk += talkIn(JSON.parse(line));
    }
  }
}

function talkIn({ message }: { readonly message?: { readonly content?: unknown } }): number {
  const content = message?.content;
  if (typeof content === "string") return content.length;
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
}
