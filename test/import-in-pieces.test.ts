import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import type { Message } from "../src/core/message.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "./support/transcript-samples.ts";
import { sampled } from "./support/trials.ts";

/** What is said in a message, one line for each block. How blocks are joined to messages depends on what was there before. */
function linesOf(message: Message): readonly string[] {
  switch (message.role) {
    case "block_assistant":
      return message.blocks.map((block) => JSON.stringify(block));
    case "tool_results":
      return message.results.map((result) => JSON.stringify(result));
    default:
      return [JSON.stringify(message)];
  }
}

/** The file is written and imported up to each of the ends, one after the other. */
async function importedUpTo(name: string, bytes: Uint8Array, ends: readonly number[]) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-pieces-"));
  const stores = sqliteStores({ path: ":memory:" });
  try {
    for (const end of ends) {
      writeFileSync(join(folder, name), bytes.subarray(0, end));
      await importTranscripts({ stores, path: join(folder, name) });
    }
    const said: string[] = [];
    for (const { id, settings } of await stores.sessions.list({ limit: 100 })) {
      said.push(`${id} ${settings.source?.title}`);
      for await (const { event } of stores.events.read(id, 0)) {
        if (event.type !== "message_added") continue;
        const about = `${event.origin?.author} ${event.origin?.time} ${event.memory}`;
        said.push(...linesOf(event.message).map((line) => `${about} ${line}`));
      }
    }
    return said;
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

for (const [number, sample] of TRANSCRIPT_SAMPLES.entries()) {
  const bytes = transcriptBytes(sample, sample.values);
  const name = basename(sample.path);
  const all = Array.from({ length: bytes.length }, (_, index) => index + 1);
  const ends = all.filter((end) => bytes[end - 1] === 10 || end === bytes.length);

  test(`${sample.format.agent} ${number}: taken in pieces, as it grows, a transcript is the same as at once`, async () => {
    // What Gemini's user takes back later was said when it was imported.
    const said = (lines: readonly string[]) =>
      lines.filter((line) => sample.format.agent !== "gemini" || !line.includes("taken back"));
    const atOnce = await importedUpTo(name, bytes, [bytes.length]);
    expect(atOnce.length).toBeGreaterThan(2);
    expect(said(await importedUpTo(name, bytes, ends))).toEqual(atOnce);
    const cuts = sampled(all, { of: bytes.length, at: (number * 97) % bytes.length });
    for (const cut of cuts) {
      const inPieces = await importedUpTo(name, bytes, [cut, bytes.length]);
      expect(said(inPieces), `cut at ${cut}`).toEqual(atOnce);
    }
    // The long form takes a few minutes for the largest.
  }, 300_000);
}
