import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "./support/transcript-samples.ts";
import { zipOf } from "./support/zip-of.ts";

test("a folder with transcripts of every format is imported once, also packed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  const write = (path: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  };
  try {
    for (const sample of TRANSCRIPT_SAMPLES) {
      const bytes = transcriptBytes(sample, sample.values);
      const { agent } = sample.format;
      write(join(agent, sample.path), bytes);
      if (agent === "codex") write(join(agent, `${sample.path}.zst`), zstdCompressSync(bytes));
      if (agent === "chatgpt") write("export.zip", zipOf({ [sample.path]: bytes.toString() }));
    }
    const first = await importTranscripts({ stores, path: folder });
    const again = await importTranscripts({ stores, path: folder });
    expect([first.skipped, first.unknownTypes]).toEqual([[], {}]);
    expect([again.added, again.messages]).toEqual([0, first.messages]);

    const entries = await stores.memory.list({ limit: 1000 });
    const times = (text: string) => entries.filter(({ content }) => content === text).length;
    for (const prompt of new Set(TRANSCRIPT_SAMPLES.flatMap(({ typed }) => typed))) {
      const said = TRANSCRIPT_SAMPLES.filter(({ typed }) => typed.includes(prompt)).length;
      expect([prompt, times(prompt)]).toEqual([prompt, said]);
    }
    const all = entries.map(({ content }) => content).join("\n");
    for (const { injected } of TRANSCRIPT_SAMPLES)
      if (injected) expect(all).not.toContain(injected);
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
});
