import { mkdirSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { importTranscripts } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import type { SayProgress } from "../bench.ts";
import { transcriptLines } from "../data/transcript.ts";
import { timed, timedAtOnce } from "../measuring.ts";

export interface ImportInput {
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
}

export interface ImportSpeed {
  readonly megabytes: number;
  /** Of the bytes, what people and models said. */
  readonly talk: number;
  readonly ms: number;
  /** Processor time of all threads. */
  readonly cpuMs: number;
  readonly againMs: number;
  /** Reading the files and parsing each line. */
  readonly parseMs: number;
  /** The most that the process had in memory, and what it had before. */
  readonly peakMb: number;
  readonly beforeMb: number;
}

/** Writes transcripts of Claude Code, imports them, and imports them again. */
export async function importTask(
  { folder, files, bytes }: ImportInput,
  say: SayProgress,
): Promise<ImportSpeed> {
  await say(`writing ${files} transcripts`);
  const path = join(folder, "projects");
  mkdirSync(path);
  for (let number = 0; number < files; number += 1) writeTranscript(path, number, bytes);
  const beforeMb = process.resourceUsage().maxRSS / 1000;
  await say("importing");
  const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "worker" });
  const cpuBefore = process.cpuUsage();
  const ms = await timed(() => importTranscripts({ stores, path }));
  const { user, system } = process.cpuUsage(cpuBefore);
  const peakMb = process.resourceUsage().maxRSS / 1000;
  const againMs = await timed(() => importTranscripts({ stores, path }));
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
    parseMs,
    peakMb,
    beforeMb,
  };
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
