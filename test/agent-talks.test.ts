import fc from "fast-check";
import { afterAll, describe, expect } from "vitest";
import { contentText, indexableText } from "../src/core/message.ts";
import { fileOfBytes } from "../src/transcripts/found-file.ts";
import type { ImportedMessage } from "../src/transcripts/imported.ts";
import { TALK_WRITERS, talkBytes, talkSteps } from "./support/agent-talks.ts";
import { damagedBytes, fuzz } from "./support/fuzz.ts";
import { piecesOf, type ReadImport, readGrowing, readImport } from "./support/read-import.ts";

const messagesIn = ({ sessions }: ReadImport) => sessions.flatMap(({ messages }) => messages);

/** What memory gets. */
const remembered = (messages: readonly ImportedMessage[]) =>
  messages.filter(({ memory }) => memory !== false);

const typedIn = (messages: readonly ImportedMessage[]) =>
  remembered(messages).flatMap(({ message, origin }) =>
    message.role === "user" && origin.author === "user" ? [contentText(message.content)] : [],
  );

const sorted = (texts: readonly string[]) => [...texts].sort();

for (const writer of TALK_WRITERS) {
  const { format, path } = writer;
  const read = (bytes: Uint8Array) => readImport(format, fileOfBytes(path, bytes));
  const bytesOf = (values: readonly object[]) => talkBytes(writer, values);
  const cuts = fc.array(fc.nat(), { maxLength: 8 });

  describe(format.agent, () => {
    fuzz(
      "what a person typed and did not take back is there once, and what was injected is not",
      talkSteps({ branches: true }),
      { short: 40, long: 20_000 },
      async (steps) => {
        const { values, typed, injected } = writer.write(steps);
        const found = await read(bytesOf(values));
        expect([found.skipped, found.unknown]).toEqual([[], []]);
        const messages = messagesIn(found);
        expect(typedIn(messages)).toEqual(typed);
        const texts = remembered(messages).map(({ message }) => indexableText(message));
        for (const text of injected) expect(texts.join("\n")).not.toContain(text);
        const ids = messages.map(({ sourceId }) => sourceId);
        expect(new Set(ids).size).toBe(ids.length);
        expect(await read(bytesOf(values))).toEqual(found);
      },
    );

    fuzz(
      "what another branch adds to an earlier reading is new, and nothing is there twice",
      fc.tuple(talkSteps({ branches: true }), fc.nat()),
      { short: 30, long: 20_000 },
      async ([steps, at]) => {
        const earlier = writer.write(steps.slice(0, 1 + (at % steps.length)));
        const later = writer.write(steps);
        const known = messagesIn(await read(bytesOf(earlier.values)));
        const ids = new Set(known.map(({ sourceId }) => sourceId));
        const added = messagesIn(await read(bytesOf(later.values))).filter(
          ({ sourceId }) => !ids.has(sourceId),
        );
        const said = typedIn([...known, ...added]);
        expect(new Set(said).size).toBe(said.length);
        expect(sorted(said)).toEqual(sorted([...new Set([...earlier.typed, ...later.typed])]));
      },
    );

    fuzz(
      "damaged bytes never throw",
      talkSteps({ branches: true }).chain((steps) =>
        damagedBytes([bytesOf(writer.write(steps).values)]),
      ),
      { short: 25, long: 20_000 },
      async (bytes) => void (await read(bytes)),
    );

    // An export is written as a whole.
    if (writer.isList) return;
    let endsRead = 0;
    afterAll(() => {
      // A message of Gemini may be written again at the end of its file.
      if (format.agent !== "gemini") expect(endsRead).toBeGreaterThan(0);
    });

    fuzz(
      "going on with a file that has grown adds what reading it whole adds",
      fc.tuple(talkSteps({ branches: true }), cuts),
      { short: 40, long: 20_000 },
      async ([steps, at]) => {
        const pieces = piecesOf(bytesOf(writer.write(steps).values), at);
        const { whole, goneOn } = await readGrowing(format, path, pieces);
        expect(goneOn).toEqual(whole);
      },
    );

    fuzz(
      "read in pieces, it is the same as at once",
      fc.tuple(talkSteps({ branches: false }), cuts),
      { short: 30, long: 20_000 },
      async ([steps, at]) => {
        const { values, typed, injected } = writer.write(steps);
        const bytes = bytesOf(values);
        const pieces = piecesOf(bytes, at);
        const { whole, goneOn, rests } = await readGrowing(format, path, pieces);
        endsRead += rests;
        expect(goneOn).toEqual(whole);
        const { whole: atOnce } = await readGrowing(format, path, [bytes]);
        const texts = (all: readonly ImportedMessage[]) =>
          sorted(remembered(all).map(({ message }) => indexableText(message)));
        expect(texts(goneOn)).toEqual(texts(atOnce));
        expect(sorted(typedIn(goneOn))).toEqual(sorted(typed));
        for (const text of injected) expect(texts(goneOn).join("\n")).not.toContain(text);
      },
    );

    fuzz(
      "a file that is cut is its complete lines",
      fc.tuple(talkSteps({ branches: true }), fc.nat()),
      { short: 25, long: 20_000 },
      async ([steps, at]) => {
        const bytes = bytesOf(writer.write(steps).values);
        const cut = bytes.subarray(0, at % (bytes.length + 1));
        const found = await read(cut);
        // A last line without its end is read if it is whole.
        const complete = await read(cut.subarray(0, cut.lastIndexOf(10) + 1));
        const ended = await read(Buffer.concat([cut, Buffer.from("\n")]));
        expect([complete.sessions, ended.sessions]).toContainEqual(found.sessions);
      },
    );
  });
}
