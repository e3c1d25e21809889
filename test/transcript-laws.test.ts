import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentText, indexableText } from "../src/core/message.ts";
import { messageSchema } from "../src/core/message-schema.ts";
import { origin } from "../src/core/operations/request-fields.ts";
import { recogniseFile } from "../src/import/find-transcripts.ts";
import { NO_PROMPT } from "../src/transcripts/agents/claude-stream-format.ts";
import { codexFormat } from "../src/transcripts/codex/codex-format.ts";
import { fileOfBytes } from "../src/transcripts/found-file.ts";
import { geminiFormat } from "../src/transcripts/gemini-format.ts";
import { IMPORT_FORMATS } from "../src/transcripts/import-formats.ts";
import type { ImportedMessage, ImportFormat } from "../src/transcripts/imported.ts";
import { firstObjects } from "../src/transcripts/read-objects.ts";
import { damagedBytes, damagedJson, fuzz } from "./support/fuzz.ts";
import { type ReadImport, readImport } from "./support/read-import.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "./support/transcript-samples.ts";
import { trials } from "./support/trials.ts";

const messagesIn = ({ sessions }: ReadImport) => sessions.flatMap(({ messages }) => messages);
const idsIn = (read: ReadImport) => messagesIn(read).map(({ sourceId }) => sourceId);

/** What a person typed. */
const typedIn = (messages: readonly ImportedMessage[]) =>
  messages.flatMap(({ message, origin: { author } }) =>
    message.role === "user" && author === "user" ? [contentText(message.content)] : [],
  );

for (const sample of TRANSCRIPT_SAMPLES) {
  const { format, path, values, typed, injected, unknown } = sample;
  const bytes = transcriptBytes(sample, values);
  const read = (some: Uint8Array) => readImport(format, fileOfBytes(path, some));

  describe(format.agent, () => {
    test("every line is read, and reading twice gives the same ids, each once", async () => {
      const [once, twice] = [await read(bytes), await read(bytes)];
      expect([once.skipped, once.unknown, once.unfinished]).toEqual([[], [], false]);
      expect(twice).toEqual(once);
      expect(new Set(idsIn(once)).size).toBe(idsIn(once).length);
      expect(idsIn(once).length).toBeGreaterThan(1);
    });

    test("a byte order mark and ends of lines of Windows change nothing", async () => {
      const text = bytes.toString("utf8").replaceAll("\n", "\r\n");
      const marked = fileOfBytes(path, Buffer.from(`\uFEFF${text}`));
      expect(await recogniseFile(marked, IMPORT_FORMATS)).toBe(
        await recogniseFile(fileOfBytes(path, bytes), IMPORT_FORMATS),
      );
      expect(idsIn(await readImport(format, marked))).toEqual(idsIn(await read(bytes)));
    });

    test("a copy under another name has the same ids", async () => {
      const copy = fileOfBytes(path.replace(/(\.\w+)$/, "-copy$1"), bytes);
      expect(copy.path).not.toBe(path);
      const copied = await readImport(format, copy);
      if (!sample.isNamedByFile) expect(idsIn(copied)).toEqual(idsIn(await read(bytes)));
    });

    test("what a person typed is told from what the program injected", async () => {
      const messages = messagesIn(await read(bytes));
      expect(typedIn(messages)).toEqual(typed);
      const inMemory = messages.filter(({ memory }) => memory !== false);
      const text = inMemory.map(({ message }) => indexableText(message)).join("\n");
      for (const prompt of typed) expect(text.split(prompt)).toHaveLength(2);
      if (injected !== undefined) expect(text).not.toContain(injected);
    });

    test("a record of a type that is not known is counted by its name, or told", async () => {
      const { unknown: counted, skipped } = await read(
        transcriptBytes(sample, [...values, unknown]),
      );
      const isTold = [...counted, ...skipped].some((name) => name.includes("never_seen"));
      // Most events of rkat are about other things than messages.
      expect(isTold).toBe(format.agent !== "rkat");
    });

    test("a file that grows keeps the ids that it had, and adds to them", async () => {
      if (sample.isList) return;
      const all = idsIn(await read(bytes));
      for (let count = 1; count < values.length; count += 1) {
        const some = await read(transcriptBytes(sample, values.slice(0, count)));
        if (format.agent !== "gemini")
          expect(idsIn(some)).toEqual(all.slice(0, idsIn(some).length));
      }
    });

    test("what is kept to go on reading says nothing of what was said", async () => {
      const grown = [...values, ...values];
      for (const { readOn } of [await read(bytes), await read(transcriptBytes(sample, grown))]) {
        const text = JSON.stringify(readOn ?? "");
        for (const prompt of typed) expect(text).not.toContain(JSON.stringify(prompt).slice(0, -1));
      }
    });

    test("a file that is cut gives its complete lines", async () => {
      const property = fc.asyncProperty(fc.nat(bytes.length), async (end) => {
        const cut = bytes.subarray(0, end);
        const found = await read(cut);
        if (sample.isList) {
          const all = idsIn(await read(bytes));
          expect(idsIn(found)).toEqual(all.slice(0, idsIn(found).length));
          // The program has written the file, so nothing more comes.
          expect(found.unfinished).toBe(false);
          return;
        }
        // A last line without its end is read if it is whole.
        const complete = await read(cut.subarray(0, cut.lastIndexOf(10) + 1));
        const ended = await read(Buffer.concat([cut, Buffer.from("\n")]));
        expect([complete.sessions, ended.sessions]).toContainEqual(found.sessions);
        // A stream that is cut before its prompt has none.
        expect(found.skipped.filter((reason) => !reason.includes(NO_PROMPT))).toEqual([]);
      });
      await fc.assert(property, { numRuns: trials(4, 30) });
    });

    test("a line that is lost takes no prompt of another line along", async () => {
      // Gemini CLI too takes all back where it does not find what is taken back.
      if (sample.isList || format === geminiFormat) return;
      for (const [lost, value] of values.entries()) {
        const left = values.filter((_, index) => index > 0 && index !== lost);
        const found = await read(transcriptBytes(sample, [...values.slice(0, 1), ...left]));
        const others = typed.filter((prompt) => !JSON.stringify(value).includes(prompt));
        expect(typedIn(messagesIn(found))).toEqual(expect.arrayContaining(others));
      }
    });

    const damaged = fc.oneof(
      damagedBytes([bytes]),
      damagedJson([values]).map((changed) =>
        transcriptBytes(sample, Array.isArray(changed) ? changed : [changed]),
      ),
    );
    fuzz(
      "damaged bytes never throw, and what is read is what a session takes",
      damaged,
      { short: 60, long: 20_000 },
      async (some) => {
        for (const { message, origin: said, sourceId } of messagesIn(await read(some))) {
          expect(sourceId).not.toBe("");
          expect(messageSchema.safeParse(message).error).toBeUndefined();
          expect(origin.safeParse(said).error).toBeUndefined();
        }
      },
    );
  });
}

/** Only the first line of these says which session it is. */
const HEADED: readonly ImportFormat[] = [codexFormat];

test("a file that does not say which session it is, is told, and an empty one is not", async () => {
  const samples = TRANSCRIPT_SAMPLES.filter(({ format }) => HEADED.includes(format));
  expect(samples).toHaveLength(HEADED.length);
  for (const { format, values } of samples) {
    const lines = values.slice(1).map((value) => `${JSON.stringify(value)}\n`);
    const headless = await readImport(format, fileOfBytes("a.jsonl", Buffer.from(lines.join(""))));
    expect([headless.sessions, headless.skipped]).toEqual([
      [],
      ["-: its records do not say which session it is"],
    ]);
    const empty = await readImport(format, fileOfBytes("a.jsonl", new Uint8Array()));
    expect([empty.sessions, empty.skipped]).toEqual([[], []]);
  }
});

test("each transcript is recognised by its own format only", () => {
  for (const sample of TRANSCRIPT_SAMPLES) {
    const head = transcriptBytes(sample, sample.values);
    const found = IMPORT_FORMATS.filter((format) =>
      format.recognises({ path: sample.path, head, ...firstObjects(head) }),
    );
    expect(found.map(({ agent }) => agent)).toEqual([sample.format.agent]);
  }
});
